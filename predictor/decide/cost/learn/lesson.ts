import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { CostSettings } from "../../facts/cost-settings.ts";
import type { Observation } from "../../facts/observation.ts";
import type { Verdict } from "../../facts/verdict.ts";
import type { Calls } from "./state.ts";

/** One window, as much of it as the models learn from. */
export interface Lesson {
  readonly windowSet: WindowSet;
  readonly observations: readonly Observation[];
  readonly verdict: Verdict;
  /** Requests that arrived at the application, by when they began where that was counted. */
  readonly arrivalsPerSecond: number;
  /** Calls of each service for a request of the application. */
  readonly calls?: ReadonlyMap<string, Calls>;
  readonly percentile: number;
  /** A part of the traffic was not seen: then only the sizes are taken up. */
  readonly isComplete: boolean;
  readonly settings: CostSettings;
}
