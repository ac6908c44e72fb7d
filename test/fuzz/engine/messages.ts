import type { SliceResult } from "./run.ts";

/** What a worker is to do next: cases `from` on of one target, for this long or this many. */
export interface Order {
  readonly target: string;
  readonly from: number;
  readonly count: number;
  readonly ms: number;
}

export interface WorkerOptions {
  readonly seed: number;
  /** One 64-bit float: the case that runs now, for the one who watches for stalls. */
  readonly current: SharedArrayBuffer;
}

/** What came of an order; `failed` when the target could not even be opened. */
export type Report =
  | ({ readonly target: string; readonly seconds: number } & SliceResult)
  | { readonly target: string; readonly failed: string };
