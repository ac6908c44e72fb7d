import { setImmediate as nextTurn } from "node:timers/promises";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { systemClock } from "@tradewind/core/clock.ts";
import type { Clock } from "@tradewind/core/clock.ts";
import { describeError, TradewindError } from "@tradewind/core/errors.ts";
import type { Logger } from "@tradewind/core/log.ts";
import { copyTo, fileIdentity, openMemory, openStoreFile, setAside } from "./database.ts";
import { storeFailure } from "./failure.ts";
import { mergeByStart, withoutOverlap } from "./merge-order.ts";
import { StoreOptions } from "./options.ts";
import { PendingRows, putRow } from "./pending.ts";
import type { PendingRow } from "./pending.ts";
import { maintainOnce } from "./retention.ts";
import { salvage, salvageFile } from "./salvage.ts";
import type { Tables } from "./tables.ts";
import type {
  DoneChunk,
  ModelError,
  StoredFlow,
  StoredModel,
  StoreHealth,
  StoreState,
  WindowOrigin,
  WindowQuery,
  WindowStore,
} from "./window-store.ts";

export interface SqliteStoreSettings {
  /** The database file; undefined for a store in memory. */
  readonly path: string | undefined;
  readonly options?: StoreOptions;
  readonly log: Logger;
  readonly clock?: Clock;
  /** Bounds the file in pages of 4 KiB: stands in for a full disk in tests. */
  readonly maxPages?: number;
}

/** Rows per transaction while others wait for the event loop. */
const SLICE_ROWS = 100;
/** Housekeeping per call, ms. */
const MAINTENANCE_MS = 1_000;
const RETRY_MS = 30_000;

/**
 * The memory of the predictor in one SQLite file. What cannot be written waits in memory and is tried again; a damaged
 * file is set aside and what is readable of it is taken over; without any file the store works in memory.
 */
export class SqliteStore implements WindowStore {
  private readonly path: string | undefined;
  private readonly options: StoreOptions;
  private readonly log: Logger;
  private readonly clock: Clock;
  private readonly maxPages: number | undefined;
  private readonly pending: PendingRows;
  private readonly timer: NodeJS.Timeout;
  private tables: Tables;
  /** Of the file that is open; undefined without one. */
  private identity: string | undefined;
  private state: StoreState = "disk";
  private problem: { readonly what: string; readonly remedy: string } | undefined;
  private retryAtMs = 0;
  private flushing: Promise<void> | undefined;
  private closed = false;
  private written = 0;
  private writeErrors = 0;
  private unreadable = 0;
  private salvages = 0;
  private salvagedRows = 0;
  private fileLosses = 0;

  constructor(settings: SqliteStoreSettings) {
    this.path = settings.path;
    this.options = settings.options ?? StoreOptions.parse({});
    this.log = settings.log;
    this.clock = settings.clock ?? systemClock;
    this.maxPages = settings.maxPages;
    this.pending = new PendingRows(this.options.maxPendingWindows);
    this.tables = this.open();
    this.timer = setInterval(() => void this.flushWhenDue(), this.options.flushSeconds * 1_000);
    this.timer.unref();
  }

  append(set: WindowSet, origin: WindowOrigin = "live"): void {
    for (const window of set.windows) this.push({ kind: "window", window, origin });
    for (const flow of set.flows) this.push({ kind: "flow", flow, startMs: set.startMs, endMs: set.endMs });
  }

  appendDecision(record: DecisionRecord): void {
    this.push({ kind: "decision", record });
  }

  saveModel(model: StoredModel): void {
    this.push({ kind: "model", model });
  }

  appendModelErrors(errors: readonly ModelError[]): void {
    for (const error of errors) this.push({ kind: "error", error });
  }

  markDone(job: string, chunk: DoneChunk): void {
    this.push({ kind: "done", job, chunk });
  }

  *windows(query: WindowQuery): Generator<Window> {
    const accepts = (window: Window): boolean =>
      window.startMs >= query.fromMs &&
      window.startMs < query.toMs &&
      (query.service === undefined || window.service === query.service) &&
      (query.namespace === undefined || window.namespace === query.namespace);
    const known = [...this.read(() => this.tables.resolutions("windows"), []), ...this.pending.resolutions()];
    const resolutions = [...new Set(known)]
      .filter((each) => query.resolutionSeconds === undefined || each === query.resolutionSeconds)
      .sort((a, b) => a - b);
    const streams = resolutions.flatMap((resolution) => [
      this.pending.windows(accepts, resolution),
      this.reading(() => this.tables.windows(resolution, query)),
    ]);
    yield* withoutOverlap(mergeByStart(streams));
  }

  *flows({ fromMs, toMs }: Pick<WindowQuery, "fromMs" | "toMs">): Generator<StoredFlow> {
    const flows: StoredFlow[] = [];
    for (const resolution of this.read(() => this.tables.resolutions("flows"), [])) {
      for (const flow of this.reading(() => this.tables.flows(resolution, fromMs, toMs))) flows.push(flow);
    }
    for (const row of this.pending.rows) {
      if (row.kind !== "flow" || row.startMs < fromMs || row.startMs >= toMs) continue;
      flows.push({ ...row.flow, startMs: row.startMs, endMs: row.endMs });
    }
    yield* flows.sort((a, b) => a.startMs - b.startMs);
  }

  *decisions(query: {
    fromMs: number;
    toMs: number;
    service?: string | undefined;
  }): Generator<DecisionRecord> {
    const { fromMs, toMs, service } = query;
    yield* this.reading(() => this.tables.decisions(fromMs, toMs, service));
    for (const row of this.pending.rows) {
      if (row.kind !== "decision" || row.record.decidedAtMs < fromMs || row.record.decidedAtMs >= toMs)
        continue;
      if (service === undefined || row.record.service === service) yield row.record;
    }
  }

  model(name: string): StoredModel | undefined {
    const waiting = this.pending.rows.findLast((row) => row.kind === "model" && row.model.name === name);
    if (waiting?.kind === "model") return waiting.model;
    return this.read(() => this.tables.model(name), undefined);
  }

  modelByHash(hash: string): StoredModel | undefined {
    const waiting = this.pending.rows.findLast((row) => row.kind === "model" && row.model.hash === hash);
    if (waiting?.kind === "model") return waiting.model;
    return this.read(() => this.tables.modelByHash(hash), undefined);
  }

  modelErrors(name: string, fromMs: number): ModelError[] {
    const waiting = this.pending.rows.flatMap((row) =>
      row.kind === "error" && row.error.name === name && row.error.atMs >= fromMs ? [row.error] : [],
    );
    return [...this.read(() => this.tables.modelErrors(name, fromMs), []), ...waiting];
  }

  doneChunks(job: string): DoneChunk[] {
    const waiting = this.pending.rows.flatMap((row) =>
      row.kind === "done" && row.job === job ? [row.chunk] : [],
    );
    return [...this.read(() => this.tables.doneChunks(job), []), ...waiting];
  }

  liveStretches(fromMs: number, toMs: number, stepMs: number): DoneChunk[] {
    const steps = this.read(() => this.tables.liveSteps(fromMs, toMs, stepMs), []);
    return steps.map((step) => ({ startMs: step * stepMs, endMs: (step + 1) * stepMs }));
  }

  async maintain(nowMs: number): Promise<void> {
    const until = this.clock.monotonicMs() + MAINTENANCE_MS;
    try {
      while (
        !this.closed &&
        this.clock.monotonicMs() < until &&
        maintainOnce(this.tables, this.options, nowMs)
      ) {
        await nextTurn();
      }
      this.tables.database.exec("PRAGMA incremental_vacuum(200)");
    } catch (error) {
      this.failed(error);
    }
  }

  async flush(): Promise<void> {
    this.flushing ??= this.writePending().finally(() => {
      this.flushing = undefined;
    });
    await this.flushing;
  }

  health(): StoreHealth {
    return {
      state: this.state,
      path: this.path,
      problem: this.problem?.what,
      remedy: this.problem?.remedy,
      bytes: this.read(() => this.tables.usedBytes(), 0),
      pendingWindows: this.pending.windowCount(),
      writtenWindowsTotal: this.written,
      lostWindowsTotal: this.pending.lost,
      writeErrorsTotal: this.writeErrors,
      unreadableRowsTotal: this.unreadable + this.tables.unreadable,
      salvagesTotal: this.salvages,
      salvagedRowsTotal: this.salvagedRows,
      fileLossesTotal: this.fileLosses,
    };
  }

  async close(): Promise<void> {
    if (this.closed) return;
    clearInterval(this.timer);
    await this.flush();
    this.closed = true;
    try {
      this.tables.setMeta("open", "0");
    } catch (error) {
      this.log.warn({ error: describeError(error) }, "the store could not be closed cleanly");
    }
    this.tables.database.close();
  }

  private push(row: PendingRow): void {
    if (!this.closed) this.pending.push(row);
  }

  private async flushWhenDue(): Promise<void> {
    if (this.state === "disk" || this.clock.monotonicMs() >= this.retryAtMs) await this.flush();
  }

  private async writePending(): Promise<void> {
    if (this.state === "memory" && this.path !== undefined) this.reopen();
    if (this.path !== undefined && this.isLost(this.path) && !(await this.writeAgain(this.path))) return;
    while (this.pending.rows.length > 0 && !this.closed) {
      const slice = this.pending.rows.slice(0, SLICE_ROWS);
      try {
        this.tables.transaction(() => {
          for (const row of slice) putRow(this.tables, row);
        });
      } catch (error) {
        this.failed(error);
        return;
      }
      this.pending.shift(slice.length);
      this.written += slice.filter(({ kind }) => kind === "window").length;
      if (this.state !== "memory") this.recovered();
      await nextTurn();
    }
  }

  /** A read that fails gives nothing, is counted, and starts the repair. */
  private read<Value>(work: () => Value, otherwise: Value): Value {
    const { tables } = this;
    try {
      return work();
    } catch (error) {
      if (!this.closed && tables === this.tables) this.failed(error);
      return otherwise;
    }
  }

  /** As `read`, for what is read bit by bit; a repair meanwhile ends it. */
  private *reading<Value>(open: () => Iterable<Value>): Generator<Value> {
    const { tables } = this;
    try {
      yield* open();
    } catch (error) {
      if (!this.closed && tables === this.tables) this.failed(error);
    }
  }

  private recovered(): void {
    if (this.state === "disk") return;
    this.log.info({ path: this.path }, "the store writes to disk again");
    this.state = "disk";
    this.problem = undefined;
  }

  private failed(error: unknown): void {
    this.writeErrors += 1;
    this.retryAtMs = this.clock.monotonicMs() + RETRY_MS;
    const failure = storeFailure(error);
    if (failure === "corrupt" && this.path !== undefined && this.state !== "memory") {
      this.repair(error);
      return;
    }
    this.state = failure === "full" ? "disk-full" : this.state === "memory" ? "memory" : "failing";
    this.report(error, failure === "full" ? "the disk is full" : "the history cannot be written");
  }

  private report(error: unknown, what: string): void {
    const remedy =
      this.state === "disk-full"
        ? "free space, or lower store.maxBytes; new windows wait in memory until then"
        : "check that the state directory exists and can be written; new windows wait in memory until then";
    const first = this.problem?.what !== what;
    this.problem = { what: `${what}: ${describeError(error)}`, remedy };
    if (first) this.log.error({ path: this.path, error: describeError(error), remedy }, what);
  }

  /** Opens the file; sets a damaged one aside; falls back to memory when there can be no file. */
  private open(): Tables {
    if (this.path === undefined) {
      this.state = "memory";
      return openMemory();
    }
    try {
      const tables = openStoreFile(this.path, { maxPages: this.maxPages });
      tables.setMeta("open", "1");
      this.identity = fileIdentity(this.path);
      this.state = "disk";
      return tables;
    } catch (error) {
      if (isDamage(error)) return this.openSalvaged(this.path, error);
      return this.withoutFile(error);
    }
  }

  private withoutFile(error: unknown): Tables {
    this.state = "memory";
    this.identity = undefined;
    this.retryAtMs = this.clock.monotonicMs() + RETRY_MS;
    this.report(error, "the history is kept in memory only, because its file cannot be opened");
    return openMemory();
  }

  private openSalvaged(path: string, error: unknown): Tables {
    try {
      const aside = setAside(path, this.clock.nowMs());
      const tables = openStoreFile(path, { maxPages: this.maxPages });
      const { rows, damaged } = salvageFile(aside, tables);
      tables.setMeta("open", "1");
      this.identity = fileIdentity(path);
      this.salvages += 1;
      this.salvagedRows += rows;
      this.state = "disk";
      this.log.error(
        { aside, rows, damaged, error: describeError(error) },
        "the history file was damaged: it was set aside and what was readable taken over",
      );
      return tables;
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
    this.tables = this.openSalvaged(this.path, error);
  }

  /** From memory back to the file, with everything gathered meanwhile. */
  private reopen(): void {
    if (this.path === undefined || this.clock.monotonicMs() < this.retryAtMs) return;
    const inMemory = this.tables;
    const tables = this.open();
    if (this.inMemory()) {
      tables.database.close();
      return;
    }
    try {
      salvage(inMemory.database, tables);
      inMemory.database.close();
      this.tables = tables;
      this.problem = undefined;
      this.log.info({ path: this.path }, "the store writes to disk again");
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
      this.tables = openStoreFile(path, { maxPages: this.maxPages });
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

  private inMemory(): boolean {
    return this.state === "memory";
  }
}

function isDamage(error: unknown): boolean {
  if (error instanceof TradewindError)
    return error.code === "corrupt-store" || error.code === "foreign-store";
  return storeFailure(error) === "corrupt";
}
