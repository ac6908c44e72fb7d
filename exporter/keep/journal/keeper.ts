import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Change } from "@tradewind/core/contract/change.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { RetentionTime } from "@tradewind/core/process/retention-time.ts";
import type { Head } from "./chain.ts";
import { Journal } from "./journal.ts";
import type { Readable } from "./journal.ts";
import { JournalThread } from "./journal-thread.ts";

/** Counts what became of rows of the audit trail. */
export interface AuditCounter {
  /** `unreadable`: left where it is. */
  audited(result: "written" | "lost" | "unreadable", rows: number): void;
}

/** How often the newest row is said outside of the journal. */
export const PUBLISH_EVERY_MS = 3_600_000;
/** Events that can be asked for without reading the journal. */
const MOST_RECENT = 2_000;

/** Writes the journal where there is a directory for it, and goes on without it where the disk refuses: nobody is kept from being served. */
export class JournalKeeper {
  readonly #options: { readonly log: Logger; readonly counter: AuditCounter };
  readonly #time: RetentionTime;
  readonly #thread: JournalThread | undefined;
  readonly #changes: readonly Change[];
  #firstHead: Head | undefined;
  #problem: string | undefined;
  #recent: AuditEvent[];
  readonly #publishing: NodeJS.Timeout;
  #publishedSeq = 0;

  constructor(
    directory: string | undefined,
    options: {
      readonly clock: Clock;
      readonly log: Logger;
      readonly counter: AuditCounter;
      /** Default: {@link PUBLISH_EVERY_MS}. */
      readonly publishMs?: number;
    },
  ) {
    this.#options = options;
    this.#time = new RetentionTime(options.clock);
    this.#thread = directory === undefined ? undefined : new JournalThread(directory);
    const { changes, recent } = this.#read(directory);
    this.#changes = changes;
    this.#recent = recent;
    this.#publish();
    const { publishMs = PUBLISH_EVERY_MS } = options;
    this.#publishing = setInterval(() => this.#publish(), publishMs).unref();
  }

  /** Why rows are lost; undefined while they are not. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Changes as the process before wrote them last. */
  changes(): readonly Change[] {
    return this.#changes;
  }

  /** The newest row on disk. */
  head(): Head | undefined {
    return this.#thread?.head ?? this.#firstHead;
  }

  /** What happened lately, newest first, whether it is on disk or not; of changes only what is. */
  recent(): AuditEvent[] {
    return this.#recent.toReversed();
  }

  /** Writes after all that came before. @returns whether it is written, once that is known */
  async append(events: readonly AuditEvent[], changes: readonly Change[] = []): Promise<boolean> {
    if (changes.length === 0) this.#remember(events);
    const isWritten = events.length === 0 || (await this.#write(events, changes));
    if (changes.length > 0 && isWritten) this.#remember(events);
    return isWritten;
  }

  /** Resolves once all is on disk that can be. */
  async close(): Promise<void> {
    clearInterval(this.#publishing);
    await this.#thread?.stop();
    this.#publish();
  }

  /** Who writes into the journal cannot take back what the log has said: `tradewind audit verify --seq --head` holds it against the file. */
  #publish(): void {
    const head = this.head();
    if (head === undefined || head.seq === this.#publishedSeq) return;
    this.#publishedSeq = head.seq;
    this.#options.log.info({ seq: head.seq, head: head.hash }, "newest row of the audit trail");
  }

  #read(directory: string | undefined): { changes: Change[]; recent: AuditEvent[] } {
    if (directory === undefined) return { changes: [], recent: [] };
    try {
      using journal = new Journal(directory);
      this.#firstHead = journal.head();
      return {
        changes: this.#readable("changes", () => journal.changes()),
        recent: this.#readable("audit", () => journal.newest(MOST_RECENT)),
      };
    } catch (error) {
      this.#fail(describeError(error));
      return { changes: [], recent: [] };
    }
  }

  /** What cannot be read of one table takes nothing away from the other. */
  #readable<Thing>(table: string, read: () => Readable<Thing>): Thing[] {
    const { counter, log } = this.#options;
    try {
      const { things, unreadable } = read();
      if (unreadable > 0) {
        counter.audited("unreadable", unreadable);
        log.error({ table, unreadable }, "rows of the journal cannot be read; they stay where they are");
      }
      return [...things];
    } catch (error) {
      this.#fail(describeError(error));
      return [];
    }
  }

  #remember(events: readonly AuditEvent[]): void {
    this.#recent.push(...events);
    if (this.#recent.length > 2 * MOST_RECENT) this.#recent = this.#recent.slice(-MOST_RECENT);
  }

  async #write(events: readonly AuditEvent[], changes: readonly Change[]): Promise<boolean> {
    if (this.#thread === undefined) return true;
    const problem = await this.#thread.append({ events, changes, nowMs: this.#time.nowMs() });
    this.#options.counter.audited(problem === undefined ? "written" : "lost", events.length);
    if (problem === undefined) this.#problem = undefined;
    else this.#fail(problem);
    return problem === undefined;
  }

  #fail(problem: string): void {
    if (problem !== this.#problem) this.#options.log.error({ problem }, "rows of the audit trail are lost");
    this.#problem = problem;
  }
}
