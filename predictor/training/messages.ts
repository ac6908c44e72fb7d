import type { ResidualJob, ResidualOutcome } from "../models/residual/train-residual.ts";
import type { StartedEngine } from "./engines.ts";
import type { EndToEndJob, EndToEndOutcome } from "./train-end-to-end.ts";
import type { TrainingJob, TrainingOutcome } from "./train-service.ts";

/** A training of a flow's residual; plain data that crosses to the worker thread. */
export interface SeededEndToEndJob extends EndToEndJob {
  readonly seed: number;
}

/** What the worker can be asked for. */
export type Task =
  | { readonly kind: "profile"; readonly job: TrainingJob }
  | { readonly kind: "residual"; readonly job: ResidualJob }
  | { readonly kind: "end-to-end"; readonly job: SeededEndToEndJob };

/** What comes of a task, by the same kind. */
export type Answer =
  | { readonly kind: "profile"; readonly outcome: TrainingOutcome }
  | { readonly kind: "residual"; readonly outcome: ResidualOutcome }
  | { readonly kind: "end-to-end"; readonly outcome: EndToEndOutcome };

export interface ToWorker {
  readonly id: number;
  readonly task: Task;
}

/** First the engine, then an answer to each task. */
export type FromWorker =
  { readonly started: StartedEngine } | { readonly id: number; readonly answer: Answer };
