import { Worker } from "node:worker_threads";
import { describeError } from "@tradewind/core/errors.ts";
import type { Backend } from "./backend.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import type { TrainingJob, TrainingOutcome } from "./train-service.ts";

interface Waiting {
  readonly resolve: (outcome: TrainingOutcome) => void;
  readonly timer: NodeJS.Timeout;
}

/** The compiled tree holds .js files where the sources hold .ts files. */
const workerUrl = (): URL =>
  new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);

/**
 * Trains profiles in one worker thread, started with the first job. A worker that dies or does not answer in time is
 * replaced by the next job; the jobs it held come back as failed. Nothing here rejects.
 */
export class Trainer {
  readonly #timeoutMs: number;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #nextId = 1;
  #backend: Backend | undefined;

  constructor(options: { readonly timeoutMs: number }) {
    this.#timeoutMs = options.timeoutMs;
  }

  /** Engine in use; undefined until the first answer. */
  get backend(): Backend | undefined {
    return this.#backend;
  }

  train(job: TrainingJob): Promise<TrainingOutcome> {
    const { promise, resolve } = Promise.withResolvers<TrainingOutcome>();
    const id = this.#nextId;
    this.#nextId += 1;
    const timer = setTimeout(
      () => void this.#drop(`no answer within ${this.#timeoutMs} ms`, this.#worker),
      this.#timeoutMs,
    );
    timer.unref();
    this.#waiting.set(id, { resolve, timer });
    const worker = (this.#worker ??= this.#start());
    worker.postMessage({ id, job } satisfies ToWorker, []);
    return promise;
  }

  /** Ends the thread; jobs under way come back as failed. */
  async stop(): Promise<void> {
    await this.#drop("training was stopped", this.#worker);
  }

  #start(): Worker {
    // Flags of the parent, such as a memory limit, are not the worker's.
    const worker = new Worker(workerUrl(), { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 512 } });
    worker.unref();
    worker.on("message", ({ id, outcome, backend }: FromWorker) => {
      this.#backend = backend;
      this.#settle(id, outcome);
    });
    worker.on("error", (error: unknown) => void this.#drop(describeError(error), worker));
    worker.on("exit", () => void this.#drop("the training thread ended", worker));
    return worker;
  }

  #settle(id: number, outcome: TrainingOutcome): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    waiting.resolve(outcome);
  }

  async #drop(why: string, worker: Worker | undefined): Promise<void> {
    if (worker !== this.#worker || worker === undefined) return;
    this.#worker = undefined;
    for (const id of this.#waiting.keys()) this.#settle(id, { kind: "failed", why });
    await worker.terminate();
  }
}
