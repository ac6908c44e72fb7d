import { Turns } from "@tradewind/core/process/turns.ts";
import type { ResidualOutcome } from "../models/residual/train-residual.ts";
import type { ModelTrainer } from "./model-trainer.ts";
import { TrainingThread } from "./training-thread.ts";

/** A training that takes longer is given up: the largest one takes a second. */
const TRAINING_TIMEOUT_MS = 300_000;

const STOPPED = { kind: "failed", why: "training was stopped" } as const;

/** One training thread for several applications: one training at a time, in the order in which they were asked for. */
export class TrainingQueue {
  readonly #trainer = new TrainingThread({ timeoutMs: TRAINING_TIMEOUT_MS });
  readonly #turns = new Turns();
  #stopped = false;

  /** What one application trains with. When that stops, the others go on. */
  forOne(): ModelTrainer {
    return {
      trainResidual: async (job) => this.#inTurn(async () => this.#trainer.trainResidual(job)),
      stop: async () => Promise.resolve(),
    };
  }

  async #inTurn(train: () => Promise<ResidualOutcome>): Promise<ResidualOutcome> {
    return this.#turns.take(async () => (this.#stopped ? STOPPED : train()));
  }

  /** Trainings under way, and those that wait, come back as failed. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#trainer.stop();
  }
}
