import { Student } from "@tradewind/core/students/student.ts";
import { UNTUNED } from "../contenders/contender.ts";
import type { Contender, Actuators } from "../contenders/contender.ts";
import { startOurs } from "../contenders/ours/ours.ts";
import type { Lesson, SilenceKind } from "../contenders/ours/silence-at-work.ts";
import { run } from "../contenders/run.ts";
import type { Obstacle } from "../contenders/run.ts";
import { within } from "../control/control-path.ts";
import type { World } from "../world.ts";
import { rewardMeter } from "./reward.ts";
import { taughtActions } from "@tradewind/core/students/taught.ts";
import type { Pair } from "@tradewind/core/students/train-student.ts";

/** Stands for the model that is being made: a name as decisions must have one. */
const IN_TRAINING = "0000000000000000";

/** What a planner would have done at one moment, from what a student could see. */
export const pairOf = ({ before, inputs, planned, wished }: Lesson): Pair => ({
  inputs,
  actions: taughtActions({
    before: before.final,
    planned,
    wished: wished.allocation,
    bounds: wished.bounds,
  }),
});

/** Tradewind with its predictor down in the plant's silences, and what the scaler then does. */
export const silentContender = (silence: SilenceKind): Contender => ({
  name: `silence-${silence.drive}`,
  about: "Tradewind, policy auto, whose predictor is down for a while.",
  ...UNTUNED,
  start: (setting) => startOurs(setting, { choice: "auto", silence }),
});

/** A pair, and whose it is. */
export interface ServicePair extends Pair {
  readonly service: string;
}

export interface Gathering {
  readonly actuators: Actuators;
  /** Of the student that decides in the silences; absent: the planner itself does. */
  readonly parameters: Float64Array | undefined;
  readonly seed: number;
  /** Hears the reward of every window of the silences, see {@link rewardMeter}. */
  readonly onReward?: (reward: number) => void;
}

/** Runs a plant and notes at every moment of its silences what the planner would do. */
export async function gatherPairs(
  obstacle: Obstacle,
  { actuators, onReward, parameters, seed }: Gathering,
): Promise<ServicePair[]> {
  const pairs: ServicePair[] = [];
  const lessons = (lesson: Lesson): void => {
    pairs.push({ service: lesson.service, ...pairOf(lesson) });
  };
  const silence: SilenceKind =
    parameters === undefined
      ? { drive: "planner", lessons }
      : { drive: "students", student: { student: new Student(parameters), modelHash: IN_TRAINING }, lessons };
  const meter = rewardMeter(obstacle);
  const { plant, processDown = [] } = obstacle;
  const onWindow = (world: World): void => {
    const measured = meter(world);
    if (measured !== undefined && within(processDown, plant.startMs, world.nowMs))
      onReward?.(measured.reward);
  };
  await run({ obstacle, contender: silentContender(silence), actuators, seed, onWindow });
  return pairs;
}
