import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Change } from "@tradewind/core/contract/change.ts";
import { describeError } from "@tradewind/core/errors.ts";
import type { Logger } from "@tradewind/core/log.ts";
import type { Clock } from "@tradewind/core/clock.ts";
import { Journal } from "./journal.ts";

/** Counts what became of rows of the audit trail. */
export interface AuditCounter {
  audited(result: "written" | "lost", rows: number): void;
}

/** Events that can be asked for without reading the journal. */
const MOST_RECENT = 2_000;

/** Writes the journal where there is a directory for it, and goes on without it where the disk refuses: nobody is kept from being served. */
export class JournalKeeper {
  readonly #options: { readonly clock: Clock; readonly log: Logger; readonly counter: AuditCounter };
  readonly #directory: string | undefined;
  #journal: Journal | undefined;
  #problem: string | undefined;
  #recent: AuditEvent[] = [];

  constructor(
    directory: string | undefined,
    options: { readonly clock: Clock; readonly log: Logger; readonly counter: AuditCounter },
  ) {
    this.#directory = directory;
    this.#options = options;
    this.#open();
    try {
      this.#recent = this.#journal?.newest(MOST_RECENT) ?? [];
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Why rows are lost; undefined while they are not. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Changes as they were written last. */
  changes(): Change[] {
    try {
      return this.#journal?.changes() ?? [];
    } catch (error) {
      this.#fail(error);
      return [];
    }
  }

  /** What happened lately, newest first, whether it is on disk or not. */
  recent(): AuditEvent[] {
    return this.#recent.toReversed();
  }

  /** @returns whether it is written */
  append(events: readonly AuditEvent[], changes: readonly Change[] = []): boolean {
    this.#recent.push(...events);
    if (this.#recent.length > 2 * MOST_RECENT) this.#recent = this.#recent.slice(-MOST_RECENT);
    if (events.length === 0 || this.#directory === undefined) return true;
    const { clock, counter } = this.#options;
    this.#open();
    try {
      if (this.#journal === undefined) counter.audited("lost", events.length);
      else {
        this.#journal.append(events, clock.nowMs(), changes);
        counter.audited("written", events.length);
        this.#problem = undefined;
        return true;
      }
    } catch (error) {
      counter.audited("lost", events.length);
      this.#fail(error);
    }
    return false;
  }

  close(): void {
    this.#journal?.close();
    this.#journal = undefined;
  }

  #open(): void {
    if (this.#journal !== undefined || this.#directory === undefined) return;
    try {
      this.#journal = new Journal(this.#directory);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    const problem = describeError(error);
    if (problem !== this.#problem) this.#options.log.error({ problem }, "rows of the audit trail are lost");
    this.#problem = problem;
  }
}
