import { basename } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import {
  completeSetAside,
  copyTo,
  fileIdentity,
  filesToSalvage,
  keepAside,
  openMemory,
  openStoreFile,
  setAside,
} from "./database.ts";
import { storeFailure } from "./failure.ts";
import { salvage, salvageFile, untilDone } from "./salvage.ts";
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
  | "salvagesTotal"
  | "salvagedRowsTotal"
  | "fileLossesTotal"
>;

const RETRY_MS = 30_000;
/** A damaged file is taken over for at most this long before anything else has its turn, ms: some 5,000 rows. */
const SALVAGE_AT_ONCE_MS = 5_000;
/** Between two pages of the rest of it, ms: a page takes about as long, so half of the time is for others. */
const SALVAGE_PAUSE_MS = 200;
/** A file that was being taken over when the process died, so many times in a row, is left alone: it may be the cause. */
const MOST_SALVAGE_TRIES = 5;
/** Begins the key of `meta` that counts the tries for a file. */
const TRIES = "salvage-tries ";

/**
 * The database behind a store, whatever happens to its file: a damaged one is set aside and what is readable of it is taken
 * over, also by the next process where this one is killed; a deleted one is written again, and while there can be none the
 * database is in memory.
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
  /** The database into which a damaged file is being taken over. */
  private salvagingInto: Tables | undefined;
  private retryAtMs = 0;
  private closed = false;
  private writeErrors = 0;
  private unreadable = 0;
  private salvages = 0;
  private salvagedRows = 0;
  private fileLosses = 0;

  constructor(settings: StoreFileSettings) {
    this.settings = settings;
    this.path = settings.path;
    this.current = this.open();
    this.takeOver();
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

  /** Whether rows of a damaged file are still to come, and come: what is there has gaps. */
  get isTakingOver(): boolean {
    return this.salvagingInto === this.current && !this.isHeldUp;
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
      salvagesTotal: this.salvages,
      salvagedRowsTotal: this.salvagedRows,
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
      // A process that ends in order was not killed by what it took over.
      this.current.run("DELETE FROM meta WHERE key LIKE ?", `${TRIES}%`);
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
      completeSetAside(this.path);
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

  /** Sets a damaged file aside and opens a new one in its place; {@link takeOver} is still to be called. */
  private openAnother(path: string, error: unknown): Tables {
    const { clock, log } = this.settings;
    try {
      const aside = setAside(path, clock.nowMs());
      log.error(
        { aside, error: describeError(error) },
        "the history file is damaged: it is set aside, and what is readable of it is taken over",
      );
      return this.openFile(path);
    } catch (again) {
      return this.withoutFile(again);
    }
  }

  /**
   * Takes over what is readable of files that were set aside, by this process or by one that was killed meanwhile: a small
   * history at once, the rest of a large one in turns of the event loop.
   */
  private takeOver(): void {
    if (this.path === undefined || this.isInMemory) return;
    const into = this.current;
    const { clock } = this.settings;
    const steps = this.takingOver(this.path, into);
    const untilMs = clock.monotonicMs() + SALVAGE_AT_ONCE_MS;
    this.salvagingInto = into;
    do {
      const said = this.step(steps);
      if (said === "done") return;
      if (said === "failed") break;
    } while (clock.monotonicMs() < untilMs);
    void this.takeOverRest(steps, into);
  }

  private async takeOverRest(steps: Generator<unknown, void, void>, into: Tables): Promise<void> {
    for (let said: "done" | "failed" | "more" = this.isHeldUp ? "failed" : "more"; said !== "done";) {
      await delay(said === "failed" ? RETRY_MS : SALVAGE_PAUSE_MS, undefined, { ref: false });
      if (this.closed || this.current !== into) {
        steps.return();
        return;
      }
      const before = said;
      said = this.step(steps);
      if (before === "failed" && said !== "failed") this.wrote();
    }
  }

  private step(steps: Generator<unknown, void, void>): "done" | "failed" | "more" {
    try {
      const { done, value } = steps.next();
      if (value !== undefined) {
        this.note(value);
        return "failed";
      }
      if (done !== true) return "more";
    } catch (error) {
      this.note(error);
    }
    this.salvagingInto = undefined;
    return "done";
  }

  /** Steps as those of a salvage. */
  private *takingOver(path: string, into: Tables): Generator<unknown, void, void> {
    const { log } = this.settings;
    for (const file of filesToSalvage(path)) {
      const key = `${TRIES}${basename(file)}`;
      const tries = Number(into.meta(key) ?? 0) + 1;
      if (tries > MOST_SALVAGE_TRIES) {
        log.error(
          { file, tries: MOST_SALVAGE_TRIES },
          "a damaged history is left alone: each try ended the process",
        );
      } else {
        yield* untilDone(() => into.setMeta(key, String(tries)));
        this.salvages += 1;
        const found = yield* salvageFile(file, into);
        this.salvagedRows += found.rows;
        log.warn({ file, ...found }, "what was readable of a damaged history has been taken over");
      }
      yield* untilDone(() => {
        into.run("DELETE FROM meta WHERE key = ?", key);
        keepAside(file);
      });
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
    this.takeOver();
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
      for (const refusal of salvage(inMemory.database, tables))
        if (refusal !== undefined) throw refusal as Error;
      inMemory.database.close();
      this.current = tables;
      this.solved();
      this.settings.log.info({ path: this.path }, "the store writes to disk again");
      this.takeOver();
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
      this.takeOver();
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
