import type { ResidualJob, ResidualOutcome } from "../models/residual/train-residual.ts";
import type { SeededEndToEndJob } from "../training/messages.ts";
import type { EndToEndOutcome } from "../training/train-end-to-end.ts";

/** Trains models somewhere else than on this thread. */
export interface ModelTrainer {
  trainResidual(job: ResidualJob): Promise<ResidualOutcome>;
  trainEndToEnd(job: SeededEndToEndJob): Promise<EndToEndOutcome>;
  stop(): Promise<void>;
}

/** A model that is due. */
export interface DueTraining {
  readonly lastTriedMs: number | undefined;
  /** Trains it and takes what is better into use. Never rejects. */
  readonly run: () => Promise<void>;
}
