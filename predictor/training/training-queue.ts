import type { ModelTrainer } from "../learning/model-trainer.ts";
import type { EngineChoice, StartedEngine } from "./engines.ts";
import { Trainer } from "./trainer.ts";

/** A training that takes longer is given up: the largest one takes seconds. */
const TRAINING_TIMEOUT_MS = 300_000;

const STOPPED = { kind: "failed", why: "training was stopped" } as const;

/** One training thread for several applications: one training at a time, in the order in which they were asked for. */
export class TrainingQueue {
  readonly #trainer: Trainer;
  #last: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(engine: EngineChoice, onEngine: (started: StartedEngine) => void) {
    this.#trainer = new Trainer({ timeoutMs: TRAINING_TIMEOUT_MS, engine, onEngine });
  }

  /** What one application trains with. When that stops, the others go on. */
  forOne(): ModelTrainer {
    const trainer = this.#trainer;
    return {
      trainResidual: async (job) => this.#run(async () => trainer.trainResidual(job)),
      trainEndToEnd: async (job) => this.#run(async () => trainer.trainEndToEnd(job)),
      stop: async () => Promise.resolve(),
    };
  }

  /** Trainings under way, and those that wait, come back as failed. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#trainer.stop();
  }

  async #run<Outcome>(train: () => Promise<Outcome>): Promise<Outcome | typeof STOPPED> {
    const turn = this.#last.then(async () => (this.#stopped ? STOPPED : train()));
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}
