import { Worker } from "node:worker_threads";
import type { WorkerOptions } from "node:worker_threads";
import { describeError } from "@tradewind/core/errors.ts";
import type { ResidualJob, ResidualOutcome } from "../models/residual/train-residual.ts";
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
 * Flags of the parent, such as a memory limit, are not the thread's. A training keeps 15 MB and throws the rest away at once: with
 * V8's own choice the young generation alone grows to 128 MB (measured: resident 180 instead of 345 MB at 3,000 rows, as fast).
 */
const WORKER_OPTIONS: WorkerOptions = {
  execArgv: [],
  resourceLimits: { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 24 },
};

/**
 * Trains profiles and residuals in one worker thread, which ends when no job is left: its memory goes back to the system, and
 * nothing that the engine keeps outlives it. The next job starts another one (0.4 s of CPU). A thread that dies or does not answer in
 * time is replaced likewise; the jobs it held come back as failed. Nothing here rejects.
 */
export class Trainer {
  readonly #options: TrainerOptions;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  #nextId = 1;

  constructor(options: TrainerOptions) {
    this.#options = options;
  }

  async train(job: TrainingJob): Promise<TrainingOutcome> {
    const answer = await this.#ask({ kind: "profile", job });
    return answer.kind === "profile" ? answer.outcome : MIXED_UP;
  }

  async trainResidual(job: ResidualJob): Promise<ResidualOutcome> {
    const answer = await this.#ask({ kind: "residual", job });
    return answer.kind === "residual" ? answer.outcome : MIXED_UP;
  }

  async trainEndToEnd(job: SeededEndToEndJob): Promise<EndToEndOutcome> {
    const answer = await this.#ask({ kind: "end-to-end", job });
    return answer.kind === "end-to-end" ? answer.outcome : MIXED_UP;
  }

  /** Ends the thread; jobs under way come back as failed. */
  async stop(): Promise<void> {
    this.#drop("training was stopped", this.#worker);
    await this.#ended;
  }

  #ask(task: Task): Promise<Answer> {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    const id = this.#nextId;
    this.#nextId += 1;
    const timer = setTimeout(
      () => this.#drop(`no answer within ${this.#options.timeoutMs} ms`, this.#worker),
      this.#options.timeoutMs,
    );
    timer.unref();
    this.#waiting.set(id, { kind: task.kind, resolve, timer });
    const worker = (this.#worker ??= this.#start());
    worker.postMessage({ id, task } satisfies ToWorker, []);
    return promise;
  }

  #start(): Worker {
    const { engine = "auto", onEngine } = this.#options;
    const worker = new Worker(workerUrl(), { ...WORKER_OPTIONS, workerData: engine });
    worker.unref();
    worker.on("message", (message: FromWorker) => {
      if ("started" in message) {
        onEngine?.(message.started);
        return;
      }
      this.#settle(message.id, message.answer);
      if (this.#waiting.size === 0) this.#drop("no job is left", worker);
    });
    worker.on("error", (error: unknown) => this.#drop(describeError(error), worker));
    worker.on("exit", () => this.#drop("the training thread ended", worker));
    return worker;
  }

  #settle(id: number, answer: Answer): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    waiting.resolve(answer);
  }

  #drop(why: string, worker: Worker | undefined): void {
    if (worker !== this.#worker || worker === undefined) return;
    this.#worker = undefined;
    for (const [id, { kind }] of this.#waiting) this.#settle(id, { kind, outcome: { kind: "failed", why } });
    this.#ended = worker.terminate();
  }
}
