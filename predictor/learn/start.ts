import type { Application } from "@tradewind/core/contract/application.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { PolicyChoice } from "@tradewind/core/contract/policy-choice.ts";
import type { WindowStore } from "../store/window-store.ts";
import { Learning } from "./learning.ts";
import type { LearningOptions } from "./learning.ts";
import type { LearningMetrics } from "./metrics.ts";

export interface LearningParts {
  readonly choice: PolicyChoice;
  readonly trainer: LearningOptions["trainer"];
  readonly namespace: string;
  readonly application: () => Application | undefined;
  readonly windowSeconds: number;
  readonly youngSeconds: number;
  readonly store: WindowStore;
  readonly metrics: LearningMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Learns residuals of the self times where a policy asks for them. */
export function startLearning({ choice, ...parts }: LearningParts): Learning | undefined {
  if (choice !== "auto") return undefined;
  return new Learning(parts);
}
