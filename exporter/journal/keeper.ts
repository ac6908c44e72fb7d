import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Change } from "@tradewind/core/contract/change.ts";
import { describeError } from "@tradewind/core/errors.ts";
import type { Logger } from "@tradewind/core/log.ts";
import type { Clock } from "@tradewind/core/clock.ts";
import { RetentionTime } from "@tradewind/core/retention-time.ts";
import { Journal } from "./journal.ts";
import { JournalThread } from "./journal-thread.ts";

/** Counts what became of rows of the audit trail. */
export interface AuditCounter {
  audited(result: "written" | "lost", rows: number): void;
}

/** Events that can be asked for without reading the journal. */
const MOST_RECENT = 2_000;

/** Writes the journal where there is a directory for it, and goes on without it where the disk refuses: nobody is kept from being served. */
export class JournalKeeper {
  readonly #options: { readonly log: Logger; readonly counter: AuditCounter };
  readonly #time: RetentionTime;
  readonly #thread: JournalThread | undefined;
  readonly #changes: readonly Change[];
  #problem: string | undefined;
  #recent: AuditEvent[];

  constructor(
    directory: string | undefined,
    options: { readonly clock: Clock; readonly log: Logger; readonly counter: AuditCounter },
  ) {
    this.#options = options;
    this.#time = new RetentionTime(options.clock);
    this.#thread = directory === undefined ? undefined : new JournalThread(directory);
    const { changes, recent } = this.#read(directory);
    this.#changes = changes;
    this.#recent = recent;
  }

  /** Why rows are lost; undefined while they are not. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Changes as the process before wrote them last. */
  changes(): readonly Change[] {
    return this.#changes;
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
    await this.#thread?.stop();
  }

  #read(directory: string | undefined): { changes: Change[]; recent: AuditEvent[] } {
    if (directory === undefined) return { changes: [], recent: [] };
    try {
      using journal = new Journal(directory);
      return { changes: journal.changes(), recent: journal.newest(MOST_RECENT) };
    } catch (error) {
      this.#fail(describeError(error));
      return { changes: [], recent: [] };
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
