import type { Clock } from "@tradewind/core/process/clock.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { atMost } from "./patience.ts";
import type { RejectedRecords, StateFile } from "./state-file.ts";

/** Counts what happened to the state file. */
export interface StateCounter {
  stateEvent(event: "saved" | "save-failed" | "read" | "record-rejected" | "corrupt" | "unreadable"): void;
}

/** Keeps decisions on disk without ever holding anything up for long: one write at a time, the newest state next. */
export class StateKeeper {
  readonly #file: StateFile | undefined;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #counter: StateCounter;
  #writing: Promise<void> | undefined;
  #next: readonly string[] | undefined;
  #lastProblem: string | undefined;

  /** Without a file everything stays in memory. */
  constructor(file: StateFile | undefined, options: { clock: Clock; log: Logger; counter: StateCounter }) {
    this.#file = file;
    this.#clock = options.clock;
    this.#log = options.log;
    this.#counter = options.counter;
  }

  /** Why the last read or write failed, for `/readyz`. */
  get problem(): string | undefined {
    return this.#lastProblem;
  }

  /** The decisions on disk, or none: a bad file is set aside and the exporter goes on without it. */
  async load(): Promise<readonly DecisionRecord[]> {
    if (this.#file === undefined) return [];
    try {
      const loaded = await this.#file.load(this.#clock.nowMs());
      if (loaded.kind === "absent") return [];
      if (loaded.kind === "corrupt") {
        const { error, setAsidePath } = loaded;
        this.#counter.stateEvent("corrupt");
        this.#log.error(
          { problem: describeError(error), setAsidePath },
          "state set aside, starting without it",
        );
        return [];
      }
      this.#counter.stateEvent("read");
      if (loaded.rejected !== undefined) this.#rejected(loaded.rejected);
      return loaded.decisions;
    } catch (error) {
      this.#fail("unreadable", error);
      return [];
    }
  }

  #rejected({ count, firstReason: problem, setAsidePath }: RejectedRecords): void {
    for (let index = 0; index < count; index += 1) this.#counter.stateEvent("record-rejected");
    this.#log.error({ count, problem, setAsidePath }, "decisions cannot be read, going on with the others");
  }

  /**
   * Writes these records. Resolves when they are safe on disk or could not be written, and in any case after
   * `patienceMs`; the write then goes on by itself.
   */
  async save(recordsJson: readonly string[], patienceMs: number): Promise<void> {
    if (this.#file === undefined) return;
    this.#next = recordsJson;
    this.#writing ??= this.#drain(this.#file).finally(() => {
      this.#writing = undefined;
    });
    await atMost(patienceMs, this.#writing);
  }

  /** Waits for the write under way. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async #drain(file: StateFile): Promise<void> {
    while (this.#next !== undefined) {
      const records = this.#next;
      this.#next = undefined;
      try {
        await file.save(records, this.#clock.nowMs());
        this.#counter.stateEvent("saved");
        if (this.#lastProblem !== undefined)
          this.#log.info({ path: file.path }, "state can be written again");
        this.#lastProblem = undefined;
      } catch (error) {
        this.#fail("save-failed", error);
      }
    }
  }

  #fail(event: "save-failed" | "unreadable", error: unknown): void {
    const problem = describeError(error);
    this.#counter.stateEvent(event);
    if (problem !== this.#lastProblem) this.#log.error({ problem }, "going on in memory");
    this.#lastProblem = problem;
  }
}
