import { Worker } from "node:worker_threads";
import { describeError } from "@tradewind/core/values/errors.ts";
import { siblingModule } from "@tradewind/core/process/sibling-module.ts";
import type { Head } from "./chain.ts";
import type { JournalBatch, FromJournal, ToJournal } from "./messages.ts";

/** It has nothing that needs more: rows come, are written and are gone. */
const YOUNG_MEGABYTES = 2;
/** About 10 MB, while the disk does not answer. */
const MOST_WAITING_ROWS = 10_000;

interface WaitingRows {
  readonly rows: number;
  readonly resolve: (problem: string | undefined) => void;
}

interface RunningThread {
  readonly worker: Worker;
  readonly ended: Promise<void>;
}

/** Writes a journal in a thread of its own, so that a disk that stalls holds up nobody but those who wait for it. */
export class JournalThread {
  readonly #directory: string;
  readonly #waiting = new Map<number, WaitingRows>();
  #nextId = 1;
  #waitingRows = 0;
  #running: RunningThread | undefined;
  #head: Head | undefined;
  #isStopped = false;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** The newest row that this thread wrote. */
  get head(): Head | undefined {
    return this.#head;
  }

  /** Writes after all that came before. @returns what kept it from being written; undefined once it is on disk */
  async append(appended: JournalBatch): Promise<string | undefined> {
    const rows = appended.events.length;
    if (this.#isStopped) return "the journal is closed";
    if (this.#waitingRows + rows > MOST_WAITING_ROWS) return "the disk does not answer";
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const id = this.#nextId;
    this.#nextId += 1;
    this.#waiting.set(id, { rows, resolve });
    this.#waitingRows += rows;
    this.#running ??= this.#start();
    this.#running.worker.postMessage({ ...appended, id } satisfies ToJournal, []);
    return promise;
  }

  /** Resolves once all is on disk that can be. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#running?.worker.postMessage("end" satisfies ToJournal, []);
    await this.#running?.ended;
  }

  #start(): RunningThread {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    // Flags of the parent, such as a memory limit, are not the worker's.
    const worker = new Worker(siblingModule(import.meta.url, "./journal-worker.ts"), {
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MEGABYTES },
      workerData: this.#directory,
    });
    let why = "the thread that writes the journal has ended";
    worker.on("message", ({ head, id, problem }: FromJournal) => {
      this.#head = head ?? this.#head;
      this.#settle(id, problem);
    });
    worker.on("error", (error: unknown) => {
      why = describeError(error);
    });
    worker.on("exit", () => {
      this.#running = undefined;
      for (const id of this.#waiting.keys()) this.#settle(id, why);
      resolve();
    });
    return { worker, ended };
  }

  #settle(id: number, problem: string | undefined): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    this.#waitingRows -= waiting.rows;
    waiting.resolve(problem);
  }
}
