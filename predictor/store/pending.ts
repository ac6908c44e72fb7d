import type { ProposedChange } from "@tradewind/core/contract/proposed-change.ts";
import type { FlowWindow, Window } from "@tradewind/core/contract/window.ts";
import { resolutionSeconds } from "./tables.ts";
import type { Tables } from "./tables.ts";
import type { DoneChunk, StoredModel, WindowOrigin } from "./window-store.ts";

/** A row on its way to the disk. */
export type PendingRow =
  | { readonly kind: "window"; readonly window: Window; readonly origin: WindowOrigin }
  | { readonly kind: "flow"; readonly flow: FlowWindow; readonly startMs: number; readonly endMs: number }
  | { readonly kind: "decision"; readonly record: ProposedChange }
  | { readonly kind: "model"; readonly model: StoredModel }
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
    case "model":
      tables.putModel(row.model);
      break;
    case "done":
      tables.putDoneChunk(row.job, row.chunk);
      break;
  }
}

/** Rows that wait, in order of arrival, at most so many windows: beyond it the oldest are given up. */
export class PendingRows {
  rows: PendingRow[] = [];
  /** Windows given up. */
  lost = 0;
  private readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  push(row: PendingRow): void {
    this.rows.push(row);
    // A whole stretch goes at once, so that giving up costs no more per row than keeping.
    if (this.rows.length > this.max * 1.1) {
      const gone = this.rows.splice(0, this.rows.length - this.max);
      this.lost += gone.filter(({ kind }) => kind === "window").length;
    }
  }

  /** Forgets the first `count` rows: they are on disk. */
  shift(count: number): void {
    this.rows.splice(0, count);
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
