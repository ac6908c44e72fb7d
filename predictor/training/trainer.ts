import { Worker } from "node:worker_threads";
import { describeError } from "@tradewind/core/errors.ts";
import type { EngineChoice, StartedEngine } from "./engines.ts";
import type { Answer, FromWorker, SeededEndToEndJob, Task, ToWorker } from "./messages.ts";
import type { EndToEndOutcome } from "./train-end-to-end.ts";
import type { TrainingJob, TrainingOutcome } from "./train-service.ts";

interface Waiting {
  readonly kind: Task["kind"];
  readonly resolve: (answer: Answer) => void;
  readonly timer: NodeJS.Timeout;
}

const MIXED_UP = { kind: "failed", why: "the training thread answered something else" } as const;

export interface TrainerOptions {
  readonly timeoutMs: number;
  readonly engine?: EngineChoice;
  /** Hears which engine a thread trains with, each time one starts. */
  readonly onEngine?: (started: StartedEngine) => void;
}

/** The compiled tree holds .js files where the sources hold .ts files. */
const workerUrl = (): URL =>
  new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);

/**
 * Trains profiles and residuals in one worker thread, started with the first job. A worker that dies or does not answer in time is
 * replaced by the next job; the jobs it held come back as failed. Nothing here rejects.
 */
export class Trainer {
  readonly #options: TrainerOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #nextId = 1;

  constructor(options: TrainerOptions) {
    this.#options = options;
  }

  async train(job: TrainingJob): Promise<TrainingOutcome> {
    const answer = await this.#ask({ kind: "profile", job });
    return answer.kind === "profile" ? answer.outcome : MIXED_UP;
  }

  async trainEndToEnd(job: SeededEndToEndJob): Promise<EndToEndOutcome> {
    const answer = await this.#ask({ kind: "end-to-end", job });
    return answer.kind === "end-to-end" ? answer.outcome : MIXED_UP;
  }

  /** Ends the thread; jobs under way come back as failed. */
  async stop(): Promise<void> {
    await this.#drop("training was stopped", this.#worker);
  }

  #ask(task: Task): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const id = this.#nextId;
    this.#nextId += 1;
    const timer = setTimeout(
      () => void this.#drop(`no answer within ${this.#options.timeoutMs} ms`, this.#worker),
      this.#options.timeoutMs,
    );
    timer.unref();
    this.#waiting.set(id, { kind: task.kind, resolve, timer });
    const worker = (this.#worker ??= this.#start());
    worker.postMessage({ id, task } satisfies ToWorker, []);
    return promise;
  }

  #start(): Worker {
    // Flags of the parent, such as a memory limit, are not the worker's.
    const { engine = "auto", onEngine } = this.#options;
    const worker = new Worker(workerUrl(), {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 512 },
      workerData: engine,
    });
    worker.unref();
    worker.on("message", (message: FromWorker) => {
      if ("started" in message) onEngine?.(message.started);
      else this.#settle(message.id, message.answer);
    });
    worker.on("error", (error: unknown) => void this.#drop(describeError(error), worker));
    worker.on("exit", () => void this.#drop("the training thread ended", worker));
    return worker;
  }

  #settle(id: number, answer: Answer): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    waiting.resolve(answer);
  }

  async #drop(why: string, worker: Worker | undefined): Promise<void> {
    if (worker !== this.#worker || worker === undefined) return;
    this.#worker = undefined;
    for (const [id, { kind }] of this.#waiting) this.#settle(id, { kind, outcome: { kind: "failed", why } });
    await worker.terminate();
  }
}
