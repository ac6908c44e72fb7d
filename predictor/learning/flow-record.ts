import type { EndToEndRow } from "../training/end-to-end-rows.ts";

/** Rows kept of a flow: three hours of windows of 15 s. */
export const ROWS_PER_FLOW = 720;

/** Services kept of a flow: training costs their square, 40 s of a core for as many as this and three minutes for 100. */
export const SERVICES_PER_FLOW = 50;

/** Share of the rows that must know a service's own tail for it to be trained on. */
const KNOWN_SHARE = 0.1;

/** Own tails of one service, by row. */
interface Column {
  /** Seconds; NaN where it was not measured. */
  readonly tails: Float32Array;
  known: number;
  /** End of the last window in which it took part in the flow. */
  memberMs: number;
}

/** A row, and the services whose own tails it tells, in their order. */
export interface ServicesRow {
  readonly row: EndToEndRow;
  readonly services: readonly string[];
  /** Those that took part in the flow in this window. */
  readonly members: readonly string[];
}

/**
 * The last windows of one flow as rows to learn an end-to-end residual from, whatever services came and went meanwhile: the
 * own tail of a service that was not there is unknown. Bounded in rows and services; no clock, no I/O.
 */
export class FlowRecord {
  /** Rows ever taken in, those that have made room included. */
  rowsSeen = 0;
  private readonly atMs = new Float64Array(ROWS_PER_FLOW);
  private readonly priorSeconds = new Float64Array(ROWS_PER_FLOW);
  private readonly tailSeconds = new Float64Array(ROWS_PER_FLOW);
  private readonly columns = new Map<string, Column>();
  private count = 0;

  /** Rows kept. */
  get rows(): number {
    return this.count;
  }

  /** Services that some row knows of. */
  get services(): readonly string[] {
    return [...this.columns.keys()];
  }

  /** Takes in a row later than all others; when there is no room the oldest makes it. */
  observe(added: ServicesRow): void {
    this.rowsSeen += 1;
    this.put(this.count < ROWS_PER_FLOW ? this.count : this.oldest(), added);
  }

  /** Takes in a row older than all others as long as there is room. */
  recall(added: ServicesRow): void {
    if (this.count >= ROWS_PER_FLOW) return;
    this.rowsSeen += 1;
    this.put(this.count, added);
  }

  /** Rows of windows that ended after this. */
  rowsAfter(ms: number): number {
    let rows = 0;
    for (let row = 0; row < this.count; row += 1) if ((this.atMs[row] ?? 0) > ms) rows += 1;
    return rows;
  }

  /**
   * Services to train on, by name: those known in a tenth of the rows, and those of the model in use as long as they are
   * known at all, so that a rare one does not make every model another one.
   */
  servicesToTrainOn(inUse: readonly string[] = []): string[] {
    const kept = new Set(inUse);
    return [...this.columns]
      .filter(([name, { known }]) => known >= KNOWN_SHARE * this.count || (kept.has(name) && known > 0))
      .map(([name]) => name)
      .sort();
  }

  /** All rows, oldest first. */
  rowsToTrainOn(services: readonly string[]): EndToEndRow[] {
    const columns = services.map((name) => this.columns.get(name)?.tails);
    return this.byTime().map((row) => ({
      atMs: this.atMs[row] ?? 0,
      ownTails: Float64Array.from(columns, (tails) => tails?.[row] ?? Number.NaN),
      priorSeconds: this.priorSeconds[row] ?? 0,
      tailSeconds: this.tailSeconds[row] ?? 0,
    }));
  }

  private put(slot: number, { row, services, members }: ServicesRow): void {
    for (const column of this.columns.values()) forgetAt(column, slot);
    this.count = Math.max(this.count, slot + 1);
    this.atMs[slot] = row.atMs;
    this.priorSeconds[slot] = row.priorSeconds;
    this.tailSeconds[slot] = row.tailSeconds;
    for (const member of members) {
      const column = this.columns.get(member) ?? newColumn();
      column.memberMs = Math.max(column.memberMs, row.atMs);
      this.columns.set(member, column);
    }
    for (const [at, name] of services.entries()) {
      const column = this.columns.get(name);
      const seconds = row.ownTails[at] ?? Number.NaN;
      if (column === undefined || Number.isNaN(seconds)) continue;
      column.tails[slot] = seconds;
      column.known += 1;
    }
    this.forgetServices();
  }

  /** A service goes with the last row of a window in which it took part, and the longest gone one where there are too many. */
  private forgetServices(): void {
    const oldestMs = this.atMs[this.oldest()] ?? 0;
    const longestGone = [...this.columns].sort(([, a], [, b]) => a.memberMs - b.memberMs);
    for (const [name, { memberMs }] of longestGone) {
      if (memberMs >= oldestMs && this.columns.size <= SERVICES_PER_FLOW) break;
      this.columns.delete(name);
    }
  }

  private oldest(): number {
    let oldest = 0;
    for (let row = 1; row < this.count; row += 1) {
      if ((this.atMs[row] ?? 0) < (this.atMs[oldest] ?? 0)) oldest = row;
    }
    return oldest;
  }

  private byTime(): number[] {
    const rows = Array.from({ length: this.count }, (_, row) => row);
    return rows.sort((a, b) => (this.atMs[a] ?? 0) - (this.atMs[b] ?? 0));
  }
}

function newColumn(): Column {
  return { tails: new Float32Array(ROWS_PER_FLOW).fill(Number.NaN), known: 0, memberMs: 0 };
}

function forgetAt(column: Column, slot: number): void {
  if (!Number.isNaN(column.tails[slot] ?? Number.NaN)) column.known -= 1;
  column.tails[slot] = Number.NaN;
}
