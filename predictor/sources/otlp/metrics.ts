import type { ConnectionCounts } from "@tradewind/core/net/connection-limits.ts";
import type { RefusalReason } from "./refusal.ts";

export type Transport = "http" | "grpc";

/** What a receiver reports of its work; the predictor's metrics take this role. */
export interface ReceiverMetrics {
  /** One request answered. `code` is the HTTP status, over gRPC the number of its status. */
  request(transport: Transport, code: string): void;
  /** One request answered with an error. */
  refused(transport: Transport, reason: RefusalReason): void;
  /** Spans of one request after they were offered to `onSpans`. */
  spans(accepted: number, rejected: number): void;
  /** Metrics of one request: points of histograms of durations that were offered to `onDurations`, and what was discarded. */
  durations(taken: {
    readonly accepted: number;
    readonly rejected: number;
    readonly discarded: number;
  }): void;
  /** One request with logs, which are discarded. */
  logs(bytes: number): void;
  /** Bytes of one accepted body after decompression. */
  bytes(transport: Transport, count: number): void;
  /** The receiver listens; the connections of its port can be asked for at any time. */
  connections(transport: Transport, counts: () => ConnectionCounts): void;
}
