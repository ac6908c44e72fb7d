import { mean } from "@tradewind/core/values/statistics.ts";
import { estimate } from "@tradewind/core/values/estimate.ts";
import type { Estimate } from "@tradewind/core/values/estimate.ts";
import type { Actuators } from "../contenders/contender.ts";
import type { Obstacle } from "../contenders/run.ts";
import { playEpisode } from "./episode.ts";
import type { Act } from "./episode.ts";
import type { RewardTerms } from "./reward.ts";

export interface JudgingOptions {
  readonly seeds: readonly number[];
  readonly plantOf: (seed: number) => Obstacle;
  readonly actuators: Actuators;
  readonly terms: RewardTerms;
  readonly act: Act;
  readonly onProgress: (done: number) => void;
}

export interface Verdict {
  /** Mean reward of the teacher and of the planner on the same plants. */
  readonly reward: number;
  readonly plannerReward: number;
  readonly heldOut: {
    readonly plants: number;
    /** Teacher less planner, plant by plant. */
    readonly rewardDifference: Estimate;
    /** Planner less teacher, in shares of requests over the objective. */
    readonly overDifference: Estimate;
  };
  /** Neither reward nor requests within the objective are below the planner's, by the lower ends of both intervals. */
  readonly accepted: boolean;
}

/** Judges a teacher on plants that it never saw, pair by pair with the planner. */
export async function judgeTeacher(options: JudgingOptions): Promise<Verdict> {
  const { act, actuators, onProgress, plantOf, seeds, terms } = options;
  const pairs = [];
  for (const [index, seed] of seeds.entries()) {
    const episode = { obstacle: plantOf(seed), actuators, seed, terms };
    pairs.push({ teacher: await playEpisode({ ...episode, act }), planner: await playEpisode(episode) });
    onProgress(index + 1);
  }
  const rewardDifference = estimate(pairs.map(({ planner, teacher }) => teacher.reward - planner.reward));
  const overDifference = estimate(
    pairs.map(({ planner, teacher }) => planner.requestsOver - teacher.requestsOver),
  );
  return {
    reward: mean(
      pairs.map(({ teacher }) => teacher.reward),
      0,
    ),
    plannerReward: mean(
      pairs.map(({ planner }) => planner.reward),
      0,
    ),
    heldOut: { plants: pairs.length, rewardDifference, overDifference },
    accepted: rewardDifference.low >= 0 && overDifference.low >= 0,
  };
}
