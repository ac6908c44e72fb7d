import type { Application } from "@tradewind/core/contract/application.ts";
import type { Clock } from "@tradewind/core/clock.ts";
import type { Logger } from "@tradewind/core/log.ts";
import type { PolicyChoice } from "../policy/inputs.ts";
import type { WindowStore } from "../store/window-store.ts";
import { Trainer } from "../training/trainer.ts";
import { Learning } from "./learning.ts";
import type { LearningMetrics } from "./metrics.ts";

/** A training that takes longer is given up: the largest one takes seconds. */
const TRAINING_TIMEOUT_MS = 300_000;

export interface LearningParts {
  readonly choice: PolicyChoice;
  readonly namespace: string;
  readonly application: () => Application | undefined;
  readonly windowSeconds: number;
  readonly store: WindowStore;
  readonly metrics: LearningMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Begins to learn latency profiles and flows where a policy asks for them. */
export function startLearning({ choice, ...parts }: LearningParts): Learning | undefined {
  if (choice !== "auto" && choice !== "plan") return undefined;
  const learning = new Learning({ ...parts, trainer: new Trainer({ timeoutMs: TRAINING_TIMEOUT_MS }) });
  learning.recall();
  return learning;
}
