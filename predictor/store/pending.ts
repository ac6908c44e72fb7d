import type { ProposedChange } from "@tradewind/core/contract/proposed-change.ts";
import type { FlowWindow, Window } from "@tradewind/core/contract/window.ts";
import { resolutionSeconds } from "./tables.ts";
import type { Tables } from "./tables.ts";
import type { DoneChunk, WindowOrigin } from "./window-store.ts";

/** A row on its way to the disk. */
export type PendingRow =
  | { readonly kind: "window"; readonly window: Window; readonly origin: WindowOrigin }
  | { readonly kind: "flow"; readonly flow: FlowWindow; readonly startMs: number; readonly endMs: number }
  | { readonly kind: "decision"; readonly record: ProposedChange }
  | { readonly kind: "done"; readonly job: string; readonly chunk: DoneChunk };

export function putRow(tables: Tables, row: PendingRow): void {
  switch (row.kind) {
    case "window":
      tables.putWindow(row.window, row.origin);
      break;
    case "flow":
      tables.putFlow(row.flow, row.startMs, row.endMs);
      break;
    case "decision":
      tables.putDecision(row.record);
      break;
    case "done":
      tables.putDoneChunk(row.job, row.chunk);
      break;
  }
}

/** What may wait. */
export interface PendingBounds {
  readonly rows: number;
  /** Of memory, as {@link PendingRows.bytes}. */
  readonly bytes: number;
}

/** Bytes of memory that a row takes, about: a window of ten containers is 6.4 kB long as JSON, and takes 5 kB. */
function bytesOf(row: PendingRow): number {
  switch (row.kind) {
    case "window":
      return 600 + 600 * row.window.containers.length + 150 * row.window.callees.length;
    case "flow": {
      const { calls = [], services, stages = [] } = row.flow;
      return 500 + 50 * services.length + 150 * calls.length + 300 * stages.length;
    }
    case "decision":
      return 4_000;
    case "done":
    default:
      return 300;
  }
}

/** Rows that wait, in order of arrival, within bounds: beyond them the oldest are given up. */
export class PendingRows {
  rows: PendingRow[] = [];
  /** Bytes of memory that the rows take, about. */
  bytes = 0;
  /** Windows given up. */
  lost = 0;
  private readonly bounds: () => PendingBounds;

  constructor(bounds: () => PendingBounds) {
    this.bounds = bounds;
  }

  push(row: PendingRow): void {
    this.rows.push(row);
    this.bytes += bytesOf(row);
    const most = this.bounds();
    if (this.rows.length <= most.rows && this.bytes <= most.bytes) return;
    // A tenth goes at once, so that giving up costs no more per row than keeping.
    let { bytes } = this;
    let count = 0;
    for (const each of this.rows) {
      if (this.rows.length - count <= most.rows * 0.9 && bytes <= most.bytes * 0.9) break;
      bytes -= bytesOf(each);
      count += 1;
    }
    this.lost += this.shift(count).filter(({ kind }) => kind === "window").length;
  }

  /** Forgets the first `count` rows, which it returns: they are on disk, or given up. */
  shift(count: number): PendingRow[] {
    const gone = this.rows.splice(0, count);
    for (const row of gone) this.bytes -= bytesOf(row);
    return gone;
  }

  windowCount(): number {
    return this.rows.reduce((count, { kind }) => count + (kind === "window" ? 1 : 0), 0);
  }

  /** Waiting windows of one length, by rising start. */
  windows(accepts: (window: Window) => boolean, resolution: number): Window[] {
    return this.rows
      .flatMap((row) => (row.kind === "window" && accepts(row.window) ? [row.window] : []))
      .filter((window) => resolutionSeconds(window) === resolution)
      .sort((a, b) => a.startMs - b.startMs);
  }

  resolutions(): number[] {
    return this.rows.flatMap((row) => (row.kind === "window" ? [resolutionSeconds(row.window)] : []));
  }
}
