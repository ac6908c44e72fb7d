import { baseOffOf, demandsOf, PARAMETER_COUNT, parametersNow, secondsOf } from "./own-time.ts";
import type { Demands, Program, TimePlace } from "./own-time.ts";
import { PROGRAMS } from "./profile-state.ts";
import type { ProfileState } from "./profile-state.ts";
import type { Statistic } from "./queue-curve.ts";
import { HORIZON_SECONDS, seenShare, STATISTICS } from "./tracked-profile.ts";

const at: TimePlace = { cpuCores: 0, loadPerContainer: 0, windowSeconds: 0 };

/** Self-time tails of one profile at many sizes and loads, the same as those of `predictOwnTime`: a search needs no more of most. */
export class ProfileTails {
  readonly #statistic: Statistic;
  /** Under each kind of program. */
  readonly demands: readonly Demands[];
  readonly #baseOffs: readonly number[];
  readonly #seen: readonly number[];

  constructor(state: ProfileState, percentile: keyof typeof STATISTICS) {
    this.#statistic = STATISTICS[percentile];
    this.demands = PROGRAMS.map((_, i) =>
      demandsOf(parametersNow(state, i, new Float64Array(PARAMETER_COUNT))),
    );
    this.#baseOffs = this.demands.map((demands) => baseOffOf(demands, this.#statistic));
    this.#seen = state.weights.map(seenShare);
  }

  /** Seconds. */
  at({ cpuCores, loadPerContainer }: Pick<TimePlace, "cpuCores" | "loadPerContainer">): number {
    at.cpuCores = cpuCores;
    at.loadPerContainer = loadPerContainer;
    at.windowSeconds = HORIZON_SECONDS;
    let root = 0;
    for (let i = 0; i < PROGRAMS.length; i += 1) {
      const seen = this.#seen[i] as number;
      // A program that is ruled out takes no part.
      if (seen === 0) continue;
      const demands = this.demands[i] as Demands;
      const baseOff = this.#baseOffs[i] as number;
      const seconds = secondsOf(demands, baseOff, PROGRAMS[i] as Program, at, this.#statistic);
      root += seen * Math.sqrt(seconds);
    }
    return root * root;
  }
}
