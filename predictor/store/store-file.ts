import type { Clock } from "@tradewind/core/process/clock.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { copyTo, fileIdentity, moveRows, openMemory, openStoreFile, setAside } from "./database.ts";
import { storeFailure } from "./failure.ts";
import type { Tables } from "./tables.ts";
import type { StoreHealth, StoreState } from "./window-store.ts";

export interface StoreFileSettings {
  /** The database file; undefined for a database in memory. */
  readonly path: string | undefined;
  readonly log: Logger;
  readonly clock: Clock;
  /** Bounds the file in pages of 4 KiB: stands in for a full disk in tests. */
  readonly maxPages: number | undefined;
}

/** What the file itself says of how the store is. */
type FileHealth = Pick<
  StoreHealth,
  | "state"
  | "path"
  | "problem"
  | "remedy"
  | "bytes"
  | "writeErrorsTotal"
  | "unreadableRowsTotal"
  | "damagedFilesTotal"
  | "fileLossesTotal"
>;

const RETRY_MS = 30_000;
/**
 * The database behind a store, whatever happens to its file: a damaged one is set aside and a new one begun; a deleted one is
 * written again, and while there can be none the database is in memory.
 */
export class StoreFile {
  private readonly settings: StoreFileSettings;
  private readonly path: string | undefined;
  private current: Tables;
  /** Of the file that is open; undefined without one. */
  private identity: string | undefined;
  private state: StoreState = "disk";
  private problem: { readonly text: string; readonly remedy: string } | undefined;
  /** What has been logged since the store last wrote as it should. */
  private readonly reported = new Set<string>();
  private retryAtMs = 0;
  private closed = false;
  private writeErrors = 0;
  private unreadable = 0;
  private damagedFiles = 0;
  private fileLosses = 0;

  constructor(settings: StoreFileSettings) {
    this.settings = settings;
    this.path = settings.path;
    this.current = this.open();
  }

  get tables(): Tables {
    return this.current;
  }

  /** Whether there is no file: all that is kept takes memory. */
  get isInMemory(): boolean {
    return this.state === "memory";
  }

  /** Whether rows wait because they could not be written. */
  get isHeldUp(): boolean {
    return this.state === "disk-full" || this.state === "failing";
  }

  /** Whether a write is worth a try: after a failure it is again after a while. */
  get isDue(): boolean {
    return this.state === "disk" || this.settings.clock.monotonicMs() >= this.retryAtMs;
  }

  health(): FileHealth {
    return {
      state: this.state,
      path: this.path,
      problem: this.problem?.text,
      remedy: this.problem?.remedy,
      bytes: this.read((tables) => tables.usedBytes(), 0),
      writeErrorsTotal: this.writeErrors,
      unreadableRowsTotal: this.unreadable + this.current.unreadable,
      damagedFilesTotal: this.damagedFiles,
      fileLossesTotal: this.fileLosses,
    };
  }

  /** Gets a file that is missing or lost back where that can be. @returns whether there is a database to write to */
  async ready(): Promise<boolean> {
    if (this.path === undefined) return true;
    if (this.state === "memory") this.reopen();
    return !this.isLost(this.path) || this.writeAgain(this.path);
  }

  /** Rows were written. */
  wrote(): void {
    if (this.state !== "memory") this.recovered();
  }

  /** A read that fails gives nothing, is counted, and starts the repair. */
  read<Value>(work: (tables: Tables) => Value, otherwise: Value): Value {
    const { tables } = this;
    try {
      return work(tables);
    } catch (error) {
      if (!this.closed && tables === this.tables) this.failed(error);
      return otherwise;
    }
  }

  /** As `read`, for what is read bit by bit; a repair meanwhile ends it. */
  *reading<Value>(open: (tables: Tables) => Iterable<Value>): Generator<Value> {
    const { tables } = this;
    try {
      yield* open(tables);
    } catch (error) {
      if (!this.closed && tables === this.tables) this.failed(error);
    }
  }

  /** Notes an error of the database, and repairs its file where that is the cure. */
  failed(error: unknown): void {
    const isCurable = this.path !== undefined && this.state !== "memory";
    if (storeFailure(error) !== "corrupt" || !isCurable) {
      this.note(error);
      return;
    }
    this.writeErrors += 1;
    this.repair(error);
  }

  private note(error: unknown): void {
    this.writeErrors += 1;
    this.retryAtMs = this.settings.clock.monotonicMs() + RETRY_MS;
    const failure = storeFailure(error);
    this.state = failure === "full" ? "disk-full" : this.state === "memory" ? "memory" : "failing";
    this.report(error, failure === "full" ? "the disk is full" : "the history cannot be written");
  }

  private report(error: unknown, what: string): void {
    const remedy =
      this.state === "disk-full"
        ? "free space, or lower store.maxBytes; new windows wait in memory until then"
        : "check that the state directory exists and can be written; new windows wait in memory until then";
    this.problem = { text: `${what}: ${describeError(error)}`, remedy };
    if (this.reported.has(what)) return;
    this.reported.add(what);
    this.settings.log.error({ path: this.path, error: describeError(error), remedy }, what);
  }

  /** @throws what SQLite throws */
  close(): void {
    this.closed = true;
    try {
      this.current.setMeta("open", "0");
    } catch (error) {
      this.settings.log.warn({ error: describeError(error) }, "the store could not be closed cleanly");
    }
    this.current.database.close();
  }

  private recovered(): void {
    if (this.state === "disk") return;
    this.settings.log.info({ path: this.path }, "the store writes to disk again");
    this.state = "disk";
    this.solved();
  }

  private solved(): void {
    this.problem = undefined;
    this.reported.clear();
  }

  /** Opens the file; sets a damaged one aside; falls back to memory when there can be no file. */
  private open(): Tables {
    if (this.path === undefined) {
      this.state = "memory";
      return openMemory();
    }
    try {
      return this.openFile(this.path);
    } catch (error) {
      if (isDamage(error)) return this.openAnother(this.path, error);
      return this.withoutFile(error);
    }
  }

  private openFile(path: string): Tables {
    const tables = openStoreFile(path, { maxPages: this.settings.maxPages });
    tables.setMeta("open", "1");
    this.identity = fileIdentity(path);
    this.state = "disk";
    return tables;
  }

  private withoutFile(error: unknown): Tables {
    this.state = "memory";
    this.identity = undefined;
    this.retryAtMs = this.settings.clock.monotonicMs() + RETRY_MS;
    this.report(error, "the history is kept in memory only, because its file cannot be opened");
    return openMemory();
  }

  /** Sets a damaged file aside and opens a new one in its place. */
  private openAnother(path: string, error: unknown): Tables {
    const { clock, log } = this.settings;
    try {
      const aside = setAside(path, clock.nowMs());
      this.damagedFiles += 1;
      log.error(
        {
          aside,
          error: describeError(error),
          remedy: "check the disk; backfill reads the past again from a metrics server",
        },
        "the history file is damaged: it is set aside and a new history begins",
      );
      return this.openFile(path);
    } catch (again) {
      return this.withoutFile(again);
    }
  }

  private repair(error: unknown): void {
    if (this.path === undefined) return;
    this.unreadable += this.tables.unreadable;
    try {
      this.tables.database.close();
    } catch {
      // A database that cannot even be closed is left to the end of the process.
    }
    this.current = this.openAnother(this.path, error);
    if (!this.isInMemory) this.solved();
  }

  /** From memory back to the file, with everything gathered meanwhile. */
  private reopen(): void {
    if (this.path === undefined || this.settings.clock.monotonicMs() < this.retryAtMs) return;
    const inMemory = this.current;
    const tables = this.open();
    if (this.isInMemory) {
      tables.database.close();
      return;
    }
    try {
      moveRows(inMemory.database, this.path);
      inMemory.database.close();
      this.current = tables;
      this.solved();
      this.settings.log.info({ path: this.path }, "the store writes to disk again");
    } catch (error) {
      tables.database.close();
      this.state = "memory";
      this.report(error, "the history gathered in memory could not be moved to its file");
    }
  }

  /** The file was deleted while it was open, or another was put in its place. */
  private isLost(path: string): boolean {
    return this.identity !== undefined && fileIdentity(path) !== this.identity;
  }

  /** What a deleted file held can still be read here, so it is written again; a file in its place is taken as it is. */
  private async writeAgain(path: string): Promise<boolean> {
    const { tables } = this;
    const isGone = fileIdentity(path) === undefined;
    if (this.state === "disk") this.fileLosses += 1;
    this.state = "failing";
    this.report(path, isGone ? "the history's file was deleted" : "the history's file was replaced");
    try {
      if (isGone) await copyTo(tables.database, path);
      this.current = openStoreFile(path, { maxPages: this.settings.maxPages });
      this.tables.setMeta("open", "1");
      this.identity = fileIdentity(path);
      tables.database.close();
      this.recovered();
      return true;
    } catch (error) {
      this.failed(error);
      return false;
    }
  }
}

function isDamage(error: unknown): boolean {
  if (error instanceof TradewindError)
    return error.code === "corrupt-store" || error.code === "foreign-store";
  return storeFailure(error) === "corrupt";
}
