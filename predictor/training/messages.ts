import type { Backend } from "./backend.ts";
import type { TrainingJob, TrainingOutcome } from "./train-service.ts";

export interface ToWorker {
  readonly id: number;
  readonly job: TrainingJob;
}

export interface FromWorker {
  readonly id: number;
  readonly outcome: TrainingOutcome;
  readonly backend: Backend;
}
