import type { Series } from "./signals.ts";

/** A service that may be the cause. */
export interface Candidate {
  readonly name: string;
  readonly series: readonly Series[];
  /** Seen by its callers only: it sends no telemetry of its own. */
  readonly isOutside?: boolean;
  /**
   * Seconds that the slowest route's tail grows by for each second of the service's own (gradient of the plan model). Where
   * it is absent the requests it serves for each request of the application take its place.
   */
  readonly influence?: number;
}

/** Calls of one service to another. */
export interface Call {
  readonly caller: string;
  readonly callee: string;
  /** Mean calls for each request of the caller. Absent: not known, and counted as one. */
  readonly perRequest?: number;
  /** Network time of these calls, signal `transitTime`. */
  readonly transit?: Series;
}

/** What there is to find a cause in: one application since its objective is missed. */
export interface Incident {
  /** Service that users call. */
  readonly entry: string;
  readonly candidates: readonly Candidate[];
  readonly calls: readonly Call[];
  /** Fewest past windows a baseline is made of. */
  readonly leastPast: number;
  /** The objective is missed: then there is something to explain whatever the past was like. */
  readonly isMissed?: boolean;
  /** What of it is missed; absent: judged by what the entry shows. */
  readonly harm?: "time" | "failures";
}
