import type { Rng } from "@tradewind/core/values/rng.ts";
import { ACTIONS, GLOBALS, LOCALS } from "@tradewind/simulator/teacher/teacher-state.ts";
import type { TeacherState } from "@tradewind/simulator/teacher/teacher-state.ts";
import type { Transition } from "@tradewind/simulator/teacher/td3/replay.ts";

const drawn = (length: number, rng: Rng, from = 0): Float32Array =>
  Float32Array.from({ length }, () => from + (1 - from) * rng());

export const stateOf = (services: number, rng: Rng): TeacherState => ({
  services: Array.from({ length: services }, (_, i) => `s${i}`),
  locals: drawn(services * LOCALS, rng),
  globals: drawn(GLOBALS, rng),
});

/** An episode of one step, worth what `worth` says of its actions. */
export function transitionOf(
  services: number,
  rng: Rng,
  worth: (actions: Float32Array) => number = () => 0,
): Transition {
  const actions = drawn(services * ACTIONS, rng, -1);
  const [state, next] = [stateOf(services, rng), stateOf(services, rng)];
  return { state, actions, reward: worth(actions), next, isEnd: true };
}
