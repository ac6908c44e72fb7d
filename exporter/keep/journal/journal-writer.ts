import { chmodSync, closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { StatementSync } from "node:sqlite";
import type { AuditEvent } from "@tradewind/core/contract/audit.ts";
import type { Change } from "@tradewind/core/contract/change.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { DIRECTORY_MODE, FILE_MODE } from "@tradewind/core/process/state-file.ts";
import type { Head, JournalNote, KeptChange } from "./chain.ts";
import { chained, FIRST_HASH, sha256 } from "./hashes.ts";

export const JOURNAL_FILE = "journal.sqlite";
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

/** Of a file whose chain holds the hashes of changes, and says why rows are missing; 0 in files of earlier releases. */
const CHAIN_VERSION = 1;

/**
 * What was done and by whom, on disk. Each row names the one before it by its hash, so that a row that was changed, left out or put in
 * shows. All that is written together is there together, whenever the process ends.
 *
 * It needs none of the schemas that {@link Journal} reads by: the thread that writes would hold them a second time.
 */
export class JournalWriter implements Disposable {
  protected readonly database: DatabaseSync;
  readonly #insert: StatementSync;
  #prunedMs = Number.NEGATIVE_INFINITY;
  /** From the newest row of the process before to the first write of this one: it may have passed, or the clock was set ahead. */
  #awayMs: number | undefined;

  /** @throws TradewindError `journal-unusable` */
  constructor(directory: string) {
    try {
      this.database = new DatabaseSync(made(directory), { timeout: LOCKED_MS });
      this.database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
      this.database.exec(TABLES);
      this.#insert = this.database.prepare("INSERT INTO audit (seq, at_ms, row, hash) VALUES (?, ?, ?, ?)");
      this.#takeOver();
    } catch (error) {
      throw unusable(directory, error);
    }
  }

  /** The newest row; undefined before the first. */
  head(): Head | undefined {
    const { hash, seq } = this.#last();
    return seq === 0 ? undefined : { seq, hash };
  }

  /**
   * Adds events in their order, and puts changes in the place of those of the same id.
   * @param nowMs by which old rows are left out, but no sooner than the newest row says
   * @returns the newest row
   * @throws Error of SQLite, and nothing is written
   */
  append(events: readonly AuditEvent[], nowMs: number, changes: readonly Change[] = []): Head | undefined {
    if (events.length + changes.length === 0) return this.head();
    const isDue = Math.abs(nowMs - this.#prunedMs) >= PRUNE_EVERY_MS;
    this.#together(() => {
      const { atMs: newestMs = 0, seq } = this.#last();
      this.#awayMs ??= seq === 0 ? 0 : Math.max(0, nowMs - newestMs);
      const written = changes.map((change) => ({ change, text: JSON.stringify(change) }));
      this.#add(events.map((event) => withHash(event, written)));
      for (const { change, text } of written) {
        this.database
          .prepare("INSERT OR REPLACE INTO changes (id, at_ms, change) VALUES (?, ?, ?)")
          .run(change.id, Math.round(keptFromMs(change)), text);
      }
      if (isDue) this.#prune(Math.min(nowMs - this.#awayMs, newestMs));
    });
    if (isDue) this.#prunedMs = nowMs;
    return this.head();
  }

  /** All of it is written, or nothing. */
  #together(write: () => void): void {
    this.database.exec("BEGIN IMMEDIATE");
    try {
      write();
      this.database.exec("COMMIT");
    } catch (error) {
      // Where the disk is full SQLite has ended the transaction itself.
      if (this.database.isTransaction) this.database.exec("ROLLBACK");
      throw error;
    }
  }

  #add(rows: readonly (AuditEvent | JournalNote)[]): void {
    let { hash, seq } = this.#last();
    for (const each of rows) {
      const row = JSON.stringify(each);
      hash = chained(hash, row);
      seq += 1;
      this.#insert.run(seq, Math.round(each.atMs), row, hash);
    }
  }

  /** A file of an earlier release goes on: a row says which rows are missing already, and what the changes are. */
  #takeOver(): void {
    if (this.#version() >= CHAIN_VERSION) return;
    this.#together(() => {
      if (this.#version() >= CHAIN_VERSION) return;
      const kept = this.database.prepare("SELECT id, change FROM changes").all() as unknown as KeptChange[];
      const untilSeq = this.#firstSeq() - 1;
      if (untilSeq > 0 || kept.length > 0) {
        const { value = FIRST_HASH } = (this.database
          .prepare("SELECT value FROM meta WHERE name = 'before'")
          .get() ?? {}) as { value?: string };
        const changes = Object.fromEntries(kept.map(({ change, id }) => [id, sha256(change)]));
        const of = { kind: "journal", atMs: this.#last().atMs ?? 0, why: "upgrade" } as const;
        this.#add([{ ...of, untilSeq: Math.max(0, untilSeq), hash: value, changes }]);
      }
      this.database.exec(`PRAGMA user_version = ${CHAIN_VERSION}`);
    });
  }

  #version(): number {
    return Number(this.database.prepare("PRAGMA user_version").get()?.["user_version"]);
  }

  close(): void {
    this.database.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #last(): LastRow {
    const row = this.database
      .prepare("SELECT seq, at_ms AS atMs, hash FROM audit ORDER BY seq DESC LIMIT 1")
      .get();
    return (row as LastRow | undefined) ?? { seq: 0, hash: FIRST_HASH };
  }

  /** Of the rows that are kept; 0 where there is none. */
  #firstSeq(): number {
    return Number(this.database.prepare("SELECT min(seq) AS seq FROM audit").get()?.["seq"] ?? 0);
  }

  /** Leaves out old changes and the oldest rows; a row says up to which and why, and has the hash that the first one kept follows from. */
  #prune(nowMs: number): void {
    this.database.prepare("DELETE FROM changes WHERE at_ms < ?").run(nowMs - CHANGES_DAYS * DAY_MS);
    const young = this.database
      .prepare("SELECT seq FROM audit WHERE at_ms >= ? ORDER BY seq LIMIT 1")
      .get(nowMs - KEPT_DAYS * DAY_MS) as { seq: number } | undefined;
    const byAge = (young?.seq ?? 1) - 1;
    const untilSeq = Math.max(byAge, this.#last().seq - MOST_ROWS);
    if (untilSeq < Math.max(1, this.#firstSeq())) return;
    const { hash } = this.database
      .prepare("SELECT hash FROM audit WHERE seq = ?")
      .get(untilSeq) as unknown as Head;
    this.database.prepare("DELETE FROM audit WHERE seq <= ?").run(untilSeq);
    const why = untilSeq === byAge ? "age" : "count";
    this.#add([{ kind: "journal", atMs: nowMs, why, untilSeq, hash }]);
  }
}

/** The event of a change with the hash of the change that it is written with. */
function withHash(
  event: AuditEvent,
  written: readonly { readonly change: Change; readonly text: string }[],
): AuditEvent {
  if (event.kind !== "change" && event.kind !== "calendar") return event;
  const own = written.find(({ change: { id, state } }) => id === event.change && state === event.state);
  return own === undefined ? event : { ...event, changeHash: sha256(own.text) };
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

function made(directory: string): string {
  mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE });
  const path = join(directory, JOURNAL_FILE);
  closeSync(openSync(path, "a", FILE_MODE));
  chmodSync(path, FILE_MODE);
  return path;
}

export function unusable(directory: string, cause: unknown): TradewindError {
  const where = join(directory, JOURNAL_FILE);
  return new TradewindError(
    "journal-unusable",
    `the journal ${where} cannot be used; check owner and mode, or move it away`,
    { cause },
  );
}
