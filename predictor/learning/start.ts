import type { Application } from "@tradewind/core/contract/application.ts";
import type { Clock } from "@tradewind/core/clock.ts";
import type { Logger } from "@tradewind/core/log.ts";
import type { PolicyChoice } from "@tradewind/core/contract/policy-choice.ts";
import type { WindowStore } from "../store/window-store.ts";
import type { StartedEngine } from "../training/engines.ts";
import { Learning } from "./learning.ts";
import type { LearningMetrics } from "./metrics.ts";
import type { ModelTrainer } from "./model-trainer.ts";

export interface LearningParts {
  readonly choice: PolicyChoice;
  readonly trainer: ModelTrainer;
  readonly namespace: string;
  readonly application: () => Application | undefined;
  readonly windowSeconds: number;
  readonly youngSeconds: number;
  readonly store: WindowStore;
  readonly metrics: LearningMetrics;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Begins to learn latency profiles and flows where a policy asks for them. */
export function startLearning({ choice, ...parts }: LearningParts): Learning | undefined {
  if (choice !== "auto") return undefined;
  const learning = new Learning(parts);
  learning.recall();
  return learning;
}

/** Says once which engine is used; threads that start later, after one was given up, mostly use the same. */
export function announceEngine({
  log,
  metrics,
}: {
  readonly log: Logger;
  readonly metrics: Pick<LearningMetrics, "engine">;
}): (started: StartedEngine) => void {
  let said = "";
  return (started) => {
    metrics.engine(started.engine);
    const text = JSON.stringify(started);
    if (text === said) return;
    said = text;
    if (started.problem === undefined) log.info({ engine: started.engine }, "trains with this engine");
    else log.warn(started, "the engine for training could not be started; trains with another");
  };
}
