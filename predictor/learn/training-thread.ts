import { Worker } from "node:worker_threads";
import type { WorkerOptions } from "node:worker_threads";
import { describeError } from "@tradewind/core/values/errors.ts";
import { siblingModule } from "@tradewind/core/process/sibling-module.ts";
import type { ResidualJob, ResidualOutcome } from "../models/residual/train-residual.ts";

/** A job and its answer, by a number of their own. */
export interface ToWorker {
  readonly id: number;
  readonly job: ResidualJob;
}

export interface FromWorker {
  readonly id: number;
  readonly outcome: ResidualOutcome;
}

interface Waiting {
  readonly resolve: (outcome: ResidualOutcome) => void;
  readonly timer: NodeJS.Timeout;
}

export interface TrainerOptions {
  readonly timeoutMs: number;
}

/**
 * Flags of the parent, such as a memory limit, are not the thread's. A training throws most of what it allocates away at once: with
 * V8's own choice the young generation alone grows to 128 MB.
 */
const WORKER_OPTIONS: WorkerOptions = {
  execArgv: [],
  resourceLimits: { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 24 },
};

/**
 * Trains residuals in one worker thread, which ends when no job is left: its memory goes back to the system. The next job starts
 * another one. A thread that dies or does not answer in time is replaced likewise; the jobs it held come back as failed.
 * Nothing here rejects.
 */
export class TrainingThread {
  readonly #options: TrainerOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #nextId = 1;

  constructor(options: TrainerOptions) {
    this.#options = options;
  }

  async trainResidual(job: ResidualJob): Promise<ResidualOutcome> {
    const { promise, resolve } = Promise.withResolvers<ResidualOutcome>();
    const id = this.#nextId;
    this.#nextId += 1;
    const timer = setTimeout(
      () => this.#drop(`no answer within ${this.#options.timeoutMs} ms`, this.#worker),
      this.#options.timeoutMs,
    );
    timer.unref();
    this.#waiting.set(id, { resolve, timer });
    const worker = (this.#worker ??= this.#start());
    worker.postMessage({ id, job } satisfies ToWorker, []);
    return promise;
  }

  /** Ends the thread; jobs under way come back as failed. */
  async stop(): Promise<void> {
    this.#drop("training was stopped", this.#worker);
    await this.#ended;
  }

  #start(): Worker {
    const worker = new Worker(siblingModule(import.meta.url, "./training-worker.ts"), WORKER_OPTIONS);
    worker.unref();
    worker.on("message", ({ id, outcome }: FromWorker) => {
      this.#settle(id, outcome);
      if (this.#waiting.size === 0) this.#drop("no job is left", worker);
    });
    worker.on("error", (error: unknown) => this.#drop(describeError(error), worker));
    worker.on("exit", () => this.#drop("the training thread ended", worker));
    return worker;
  }

  #settle(id: number, outcome: ResidualOutcome): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    waiting.resolve(outcome);
  }

  #drop(why: string, worker: Worker | undefined): void {
    if (worker !== this.#worker || worker === undefined) return;
    this.#worker = undefined;
    for (const id of this.#waiting.keys()) this.#settle(id, { kind: "failed", why });
    this.#ended = worker.terminate();
  }
}
