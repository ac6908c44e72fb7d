import type { ResidualJob, ResidualOutcome } from "../models/residual/train-residual.ts";

/** Trains residuals, somewhere else than on this thread where that matters. */
export interface ModelTrainer {
  trainResidual(job: ResidualJob): Promise<ResidualOutcome>;
  stop(): Promise<void>;
}
