import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { StatementSync } from "node:sqlite";
import { AuditEvent, AuditRow } from "@tradewind/core/contract/audit.ts";
import { Change } from "@tradewind/core/contract/change.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import { DIRECTORY_MODE, FILE_MODE } from "@tradewind/core/process/state-file.ts";
import { chained, FIRST_HASH } from "./chain.ts";

const JOURNAL_FILE = "journal.sqlite";
const DAY_MS = 86_400_000;
/** How long rows are kept. */
const KEPT_DAYS = 90;
/** About 100 MB. */
const MOST_ROWS = 200_000;
/** How often old rows are looked for. */
const PRUNE_EVERY_MS = 3_600_000;
/** How long a write waits for others that hold the file. */
const LOCKED_MS = 10_000;
/** Longer than any change of a size stands open. */
const CHANGES_DAYS = 3;
/** As long as a calendar that was refused is not proposed again. */
const CALENDAR_DAYS = 31;

const TABLES = `
  CREATE TABLE IF NOT EXISTS audit (seq INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, row TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS changes (id TEXT PRIMARY KEY, at_ms INTEGER NOT NULL, change TEXT NOT NULL) STRICT;
  CREATE TRIGGER IF NOT EXISTS audit_is_append_only BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit trail is append-only'); END;
`;

/**
 * What was done and by whom, on disk. Each row names the one before it by its hash, so that a row that was changed, left out or put in
 * shows. All that is written together is there together, whenever the process ends.
 */
export class Journal implements Disposable {
  readonly #database: DatabaseSync;
  readonly #insert: StatementSync;
  #prunedMs = Number.NEGATIVE_INFINITY;
  /** From the newest row of the process before to the first write of this one: it may have passed, or the clock was set ahead. */
  #awayMs: number | undefined;

  /** @throws TradewindError `journal-unusable` */
  constructor(directory: string) {
    try {
      this.#database = new DatabaseSync(made(directory), { timeout: LOCKED_MS });
      this.#database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
      this.#database.exec(TABLES);
      this.#insert = this.#database.prepare("INSERT INTO audit (seq, at_ms, row, hash) VALUES (?, ?, ?, ?)");
    } catch (error) {
      throw unusable(directory, error);
    }
  }

  /** Changes as they were written last; one that cannot be read is left out. */
  changes(): Change[] {
    const rows = this.#database.prepare("SELECT change FROM changes ORDER BY at_ms").all();
    return rows.flatMap(({ change }) => Change.safeParse(JSON.parse(String(change))).data ?? []);
  }

  /** The newest events, oldest first; one that cannot be read is left out. */
  newest(most: number): AuditEvent[] {
    const rows = this.#database.prepare("SELECT row FROM audit ORDER BY seq DESC LIMIT ?").all(most);
    return rows.reverse().flatMap(({ row }) => AuditEvent.safeParse(JSON.parse(String(row))).data ?? []);
  }

  /**
   * Adds events in their order, and puts changes in the place of those of the same id.
   * @param nowMs by which old rows are left out, but no sooner than the newest row says
   * @throws Error of SQLite, and nothing is written
   */
  append(events: readonly AuditEvent[], nowMs: number, changes: readonly Change[] = []): void {
    if (events.length + changes.length === 0) return;
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const { atMs: newestMs = 0, ...last } = this.#last();
      let { hash, seq } = last;
      this.#awayMs ??= seq === 0 ? 0 : Math.max(0, nowMs - newestMs);
      for (const event of events) {
        const row = JSON.stringify(event);
        hash = chained(hash, row);
        seq += 1;
        this.#insert.run(seq, Math.round(event.atMs), row, hash);
      }
      for (const change of changes) {
        this.#database
          .prepare("INSERT OR REPLACE INTO changes (id, at_ms, change) VALUES (?, ?, ?)")
          .run(change.id, Math.round(keptFromMs(change)), JSON.stringify(change));
      }
      const isDue = Math.abs(nowMs - this.#prunedMs) >= PRUNE_EVERY_MS;
      if (isDue) this.#prune(Math.min(nowMs - this.#awayMs, newestMs));
      this.#database.exec("COMMIT");
      if (isDue) this.#prunedMs = nowMs;
    } catch (error) {
      // Where the disk is full SQLite has ended the transaction itself.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  close(): void {
    this.#database.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #last(): LastRow {
    const row = this.#database
      .prepare("SELECT seq, at_ms AS atMs, hash FROM audit ORDER BY seq DESC LIMIT 1")
      .get();
    return (row as LastRow | undefined) ?? { seq: 0, hash: this.#before() };
  }

  #before(): string {
    return beforeFirst(this.#database) ?? FIRST_HASH;
  }

  /** Leaves out old changes and the oldest rows, and keeps the hash of the last of these: the chain begins there. */
  #prune(nowMs: number): void {
    this.#database.prepare("DELETE FROM changes WHERE at_ms < ?").run(nowMs - CHANGES_DAYS * DAY_MS);
    const first = this.#database
      .prepare("SELECT seq FROM audit WHERE at_ms >= ? ORDER BY seq LIMIT 1")
      .get(nowMs - KEPT_DAYS * DAY_MS) as { seq: number } | undefined;
    const lastSeq = Math.max((first?.seq ?? 1) - 1, this.#last().seq - MOST_ROWS);
    this.#database
      .prepare("INSERT OR REPLACE INTO meta SELECT 'before', hash FROM audit WHERE seq = ?")
      .run(lastSeq);
    this.#database.prepare("DELETE FROM audit WHERE seq <= ?").run(lastSeq);
  }
}

interface LastRow {
  readonly seq: number;
  /** Absent before the first. */
  readonly atMs?: number;
  readonly hash: string;
}

/** From when on a change is {@link CHANGES_DAYS} old. A calendar is in force for as long as it is approved. */
function keptFromMs({ kind, proposedAtMs, state }: Change): number {
  if (kind === "size") return proposedAtMs;
  return state === "approved"
    ? Number.MAX_SAFE_INTEGER
    : proposedAtMs + (CALENDAR_DAYS - CHANGES_DAYS) * DAY_MS;
}

/** The audit trail of an exporter that may be running. */
export interface AuditTrail extends Disposable {
  /** The hash before the first row that is kept. */
  readonly before: string;
  rows(): Iterable<AuditRow>;
}

/** @throws TradewindError `no-journal` where there is none, `journal-unusable` */
export function openTrail(directory: string): AuditTrail {
  const path = join(directory, JOURNAL_FILE);
  if (!existsSync(path)) {
    throw new TradewindError("no-journal", `there is no ${path}; give --state the scaler's state directory`);
  }
  try {
    const database = new DatabaseSync(path, { readOnly: true, timeout: 2_000 });
    return {
      before: beforeFirst(database) ?? FIRST_HASH,
      rows: function* () {
        const all = database.prepare("SELECT seq, row, hash FROM audit ORDER BY seq").iterate();
        for (const each of all) yield AuditRow.parse({ ...each });
      },
      [Symbol.dispose]: () => database.close(),
    };
  } catch (error) {
    throw unusable(directory, error);
  }
}

function beforeFirst(database: DatabaseSync): string | undefined {
  const row = database.prepare("SELECT value FROM meta WHERE name = 'before'").get();
  return (row as { value: string } | undefined)?.value;
}

function made(directory: string): string {
  mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE });
  const path = join(directory, JOURNAL_FILE);
  closeSync(openSync(path, "a", FILE_MODE));
  chmodSync(path, FILE_MODE);
  return path;
}

function unusable(directory: string, cause: unknown): TradewindError {
  const where = join(directory, JOURNAL_FILE);
  return new TradewindError(
    "journal-unusable",
    `the journal ${where} cannot be used; check owner and mode, or move it away`,
    { cause },
  );
}
