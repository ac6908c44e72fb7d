import { z } from "zod";
import { readJsonWith } from "@tradewind/core/values/config.ts";
import { ACTIONS, GLOBALS, LOCALS } from "../teacher-state.ts";
import type { TeacherState } from "../teacher-state.ts";
import { actorNetwork, criticNetwork } from "./networks.ts";
import type { Shape } from "./networks.ts";
import type { Transition } from "./replay.ts";
import type { Learner, Td3State } from "./td3.ts";

const Layers = z.array(z.number().int().min(1).max(4_096)).min(1).max(8);

/** First line of a teacher's file; the numbers that it counts follow in base64, as 32-bit floats, little-endian. */
const Header = z.strictObject({
  schema: z.literal("tradewind.dev/teacher/v1"),
  shape: z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("shared"), layers: Layers }),
    z.strictObject({ kind: z.literal("flat"), layers: Layers, services: z.number().int().min(1).max(1_000) }),
  ]),
  /** Two trainings with the same settings are one training. */
  settings: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  updates: z.number().int().nonnegative(),
  steps: z.array(z.number().int().nonnegative()).length(3),
  /** Mean reward of every episode, those of the planner first. */
  rewards: z.array(z.number()),
  numbers: z.number().int().nonnegative(),
});

export type Settings = z.infer<typeof Header>["settings"];

export interface Checkpoint {
  readonly shape: Shape;
  readonly settings: Settings;
  readonly td3: Td3State;
  readonly rewards: readonly number[];
  readonly transitions: readonly Transition[];
}

const arraysOf = ({ adam, target, values }: Learner): Float32Array[] => [
  values,
  target,
  adam.first,
  adam.second,
];

/** A teacher's file. */
export function checkpointText(checkpoint: Checkpoint): string {
  const { rewards, settings, shape, td3, transitions } = checkpoint;
  const learners = [td3.actor, ...td3.critics];
  const arrays = [...learners.flatMap((each) => arraysOf(each)), ...transitions.map((each) => rowOf(each))];
  const numbers = arrays.reduce((sum, each) => sum + each.length, 0);
  const header: z.infer<typeof Header> = {
    schema: "tradewind.dev/teacher/v1",
    shape:
      shape.kind === "flat"
        ? { ...shape, layers: [...shape.layers] }
        : { kind: "shared", layers: [...shape.layers] },
    settings,
    updates: td3.updates,
    steps: learners.map(({ adam }) => adam.steps),
    rewards: [...rewards],
    numbers,
  };
  const bytes = arrays.map((each) => Buffer.from(each.buffer, each.byteOffset, each.byteLength));
  return `${JSON.stringify(header)}\n${Buffer.concat(bytes).toString("base64")}\n`;
}

/** @throws Error, which names the path, when it is not a whole teacher */
export function checkpointOf(text: string, path: string): Checkpoint {
  const end = Math.max(0, text.indexOf("\n"));
  const { numbers, rewards, settings, shape, steps, updates } = readJsonWith(
    Header,
    text.slice(0, end),
    path,
  );
  const body = Buffer.from(text.slice(end + 1), "base64");
  if (body.length !== 4 * numbers) throw new Error(`${path} is not whole: train the teacher again`);
  const all = new Float32Array(numbers);
  Buffer.from(all.buffer).set(body);
  let at = 0;
  const take = (count: number): Float32Array => {
    if (at + count > all.length) throw new Error(`${path} is not whole: train the teacher again`);
    at += count;
    return all.slice(at - count, at);
  };
  const learnerOf = (size: number, adamSteps: number): Learner => {
    const [values, target] = [take(size), take(size)];
    return { values, target, adam: { first: take(size), second: take(size), steps: adamSteps } };
  };
  const [actor, critic] = [actorNetwork(shape).size, criticNetwork(shape).size];
  const td3: Td3State = {
    actor: learnerOf(actor, steps[0] ?? 0),
    critics: [learnerOf(critic, steps[1] ?? 0), learnerOf(critic, steps[2] ?? 0)],
    updates,
  };
  const transitions: Transition[] = [];
  while (at < all.length) transitions.push(transitionOf(take));
  return { shape, settings, td3, rewards, transitions };
}

function rowOf({ actions, isEnd, next, planner, reward, state }: Transition): Float32Array {
  const counts = [state.services.length, reward, Number(isEnd), Number(planner !== undefined)];
  return Float32Array.from([
    ...counts,
    ...state.locals,
    ...state.globals,
    ...actions,
    ...next.locals,
    ...next.globals,
    ...(planner ?? []),
  ]);
}

function transitionOf(take: (count: number) => Float32Array): Transition {
  const [count = 0, reward = 0, isEnd = 0, hasPlanner = 0] = take(4);
  // Only how many there are matters to a training.
  const services = Array.from({ length: count }, (_, i) => String(i));
  const state = (): TeacherState => ({ services, locals: take(count * LOCALS), globals: take(GLOBALS) });
  const before = state();
  const actions = take(count * ACTIONS);
  const next = state();
  const rest = hasPlanner === 1 ? { planner: take(count * ACTIONS) } : {};
  return { state: before, actions, reward, next, isEnd: isEnd === 1, ...rest };
}
