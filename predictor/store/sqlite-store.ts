import { setImmediate as nextTurn } from "node:timers/promises";
import type { ProposedChange } from "@tradewind/core/contract/proposed-change.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { systemClock } from "@tradewind/core/process/clock.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { mergeByStart, withoutOverlap } from "./merge-order.ts";
import { StoreOptions } from "./options.ts";
import { PendingRows, putRow } from "./pending.ts";
import type { PendingBounds, PendingRow } from "./pending.ts";
import { maintainOnce } from "./retention.ts";
import { StoreFile } from "./store-file.ts";
import type {
  DecisionQuery,
  DoneChunk,
  StoredFlow,
  StoreHealth,
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
  /** How many stores have `maxBytes` and `maxPendingWindows` between them, this one included; absent: it has them alone. */
  readonly sharers?: (() => number) | undefined;
  /** Bounds the file in pages of 4 KiB: stands in for a full disk in tests. */
  readonly maxPages?: number;
}

/** Rows per transaction while others wait for the event loop. */
const SLICE_ROWS = 100;
/** A history that is not in a file may take no more memory, whatever a file may take of the disk. */
const MEMORY_BYTES = 64 * 1_048_576;
/** Rows of all stores that cannot be written take no more memory. Chosen: a sixteenth of the chart's limit for the predictor. */
const PENDING_BYTES = 64 * 1_048_576;
/** Housekeeping per call, ms. */
const MAINTENANCE_MS = 1_000;

/**
 * The memory of the predictor in one SQLite file. What cannot be written waits in memory and is tried again; what happens to
 * the file itself is up to {@link StoreFile}.
 */
export class SqliteStore implements WindowStore {
  private readonly options: StoreOptions;
  private readonly clock: Clock;
  private readonly sharers: () => number;
  private readonly file: StoreFile;
  private readonly pending: PendingRows;
  private readonly timer: NodeJS.Timeout;
  private flushing: Promise<void> | undefined;
  private closed = false;
  private written = 0;

  constructor({ path, log, maxPages, ...settings }: SqliteStoreSettings) {
    this.options = settings.options ?? StoreOptions.parse({});
    this.clock = settings.clock ?? systemClock;
    this.sharers = settings.sharers ?? (() => 1);
    this.pending = new PendingRows(() => this.pendingBounds());
    this.file = new StoreFile({ path, log, clock: this.clock, maxPages });
    this.timer = setInterval(() => void this.flushWhenDue(), this.options.flushSeconds * 1_000);
    this.timer.unref();
  }

  append(set: WindowSet, origin: WindowOrigin = "live"): void {
    for (const window of set.windows) this.push({ kind: "window", window, origin });
    for (const flow of set.flows) this.push({ kind: "flow", flow, startMs: set.startMs, endMs: set.endMs });
  }

  appendDecision(record: ProposedChange): void {
    this.push({ kind: "decision", record });
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
    const known = [
      ...this.file.read((tables) => tables.resolutions("windows"), []),
      ...this.pending.resolutions(),
    ];
    const resolutions = [...new Set(known)]
      .filter((each) => query.resolutionSeconds === undefined || each === query.resolutionSeconds)
      .sort((a, b) => a - b);
    const streams = resolutions.flatMap((resolution) => [
      this.pending.windows(accepts, resolution),
      this.file.reading((tables) => tables.windows(resolution, query)),
    ]);
    yield* withoutOverlap(mergeByStart(streams));
  }

  *flows({ fromMs, toMs }: Pick<WindowQuery, "fromMs" | "toMs">): Generator<StoredFlow> {
    const flows: StoredFlow[] = [];
    for (const resolution of this.file.read((tables) => tables.resolutions("flows"), [])) {
      for (const flow of this.file.reading((tables) => tables.flows(resolution, fromMs, toMs)))
        flows.push(flow);
    }
    for (const row of this.pending.rows) {
      if (row.kind !== "flow" || row.startMs < fromMs || row.startMs >= toMs) continue;
      flows.push({ ...row.flow, startMs: row.startMs, endMs: row.endMs });
    }
    yield* flows.sort((a, b) => a.startMs - b.startMs);
  }

  decisions(query: DecisionQuery): ProposedChange[] {
    const { fromMs = Number.NEGATIVE_INFINITY, most, service, toMs = Number.POSITIVE_INFINITY } = query;
    const isAsked = ({ decidedAtMs, service: of }: ProposedChange): boolean =>
      (service === undefined || of === service) && decidedAtMs >= fromMs && decidedAtMs < toMs;
    const waiting = this.pending.rows.flatMap((row) =>
      row.kind === "decision" && isAsked(row.record) ? [row.record] : [],
    );
    const written = this.file.reading((tables) => tables.decisions(query));
    return [...waiting.toReversed(), ...written].sort((a, b) => b.decidedAtMs - a.decidedAtMs).slice(0, most);
  }

  doneChunks(job: string): DoneChunk[] {
    const waiting = this.pending.rows.flatMap((row) =>
      row.kind === "done" && row.job === job ? [row.chunk] : [],
    );
    return [...this.file.read((tables) => tables.doneChunks(job), []), ...waiting];
  }

  liveStretches(fromMs: number, toMs: number, stepMs: number): DoneChunk[] {
    const steps = this.file.read((tables) => tables.liveSteps(fromMs, toMs, stepMs), []);
    return steps.map((step) => ({ startMs: step * stepMs, endMs: (step + 1) * stepMs }));
  }

  async maintain(nowMs: number): Promise<void> {
    const until = this.clock.monotonicMs() + MAINTENANCE_MS;
    try {
      while (
        !this.closed &&
        this.clock.monotonicMs() < until &&
        maintainOnce(this.file.tables, this.bounds(), nowMs)
      ) {
        await nextTurn();
      }
      this.file.tables.database.exec("PRAGMA incremental_vacuum(200)");
    } catch (error) {
      this.file.failed(error);
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
      ...this.file.health(),
      maxBytes: this.bounds().maxBytes,
      pendingWindows: this.pending.windowCount(),
      writtenWindowsTotal: this.written,
      lostWindowsTotal: this.pending.lost,
    };
  }

  async close(): Promise<void> {
    if (this.closed) return;
    clearInterval(this.timer);
    await this.flush();
    this.closed = true;
    this.file.close();
  }

  private bounds(): StoreOptions {
    const { file, options, sharers } = this;
    const most = file.isInMemory ? Math.min(options.maxBytes, MEMORY_BYTES) : options.maxBytes;
    return { ...options, maxBytes: Math.floor(most / sharers()) };
  }

  /** Rows that wait for the next flush alone are bounded by number, and those of one application are no other's business. */
  private pendingBounds(): PendingBounds {
    const { maxPendingWindows: rows } = this.options;
    if (!this.file.isHeldUp) return { rows, bytes: Infinity };
    const sharers = this.sharers();
    return { rows: rows / sharers, bytes: PENDING_BYTES / sharers };
  }

  private push(row: PendingRow): void {
    if (!this.closed) this.pending.push(row);
  }

  private async flushWhenDue(): Promise<void> {
    if (this.file.isDue) await this.flush();
  }

  private async writePending(): Promise<void> {
    if (!(await this.file.ready())) return;
    while (this.pending.rows.length > 0 && !this.closed) {
      const slice = this.pending.rows.slice(0, SLICE_ROWS);
      try {
        const { tables } = this.file;
        tables.transaction(() => {
          for (const row of slice) putRow(tables, row);
        });
      } catch (error) {
        this.file.failed(error);
        return;
      }
      this.pending.shift(slice.length);
      this.written += slice.filter(({ kind }) => kind === "window").length;
      this.file.wrote();
      await nextTurn();
    }
  }
}
