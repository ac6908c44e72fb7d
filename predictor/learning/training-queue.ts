import type { ModelTrainer } from "./model-trainer.ts";
import { ResidualTrainer } from "./residual-trainer.ts";

/** A training that takes longer is given up: the largest one takes a second. */
const TRAINING_TIMEOUT_MS = 300_000;

const STOPPED = { kind: "failed", why: "training was stopped" } as const;

/** One training thread for several applications: one training at a time, in the order in which they were asked for. */
export class TrainingQueue {
  readonly #trainer = new ResidualTrainer({ timeoutMs: TRAINING_TIMEOUT_MS });
  #last: Promise<unknown> = Promise.resolve();
  #stopped = false;

  /** What one application trains with. When that stops, the others go on. */
  forOne(): ModelTrainer {
    return {
      trainResidual: async (job) => {
        const turn = this.#last.then(async () =>
          this.#stopped ? STOPPED : this.#trainer.trainResidual(job),
        );
        this.#last = turn.catch(() => undefined);
        return turn;
      },
      stop: async () => Promise.resolve(),
    };
  }

  /** Trainings under way, and those that wait, come back as failed. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#trainer.stop();
  }
}
