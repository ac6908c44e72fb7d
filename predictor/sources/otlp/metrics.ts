/** What a receiver tells of its work; the predictor's metrics take this role. */
export interface ReceiverMetrics {
  /** One request answered. `code` is the HTTP status, over gRPC the number of its status. */
  request(transport: "http" | "grpc", code: string): void;
  /** Spans of one request after they were offered to `onSpans`. */
  spans(accepted: number, rejected: number): void;
  /** Bytes of one accepted body after decompression. */
  bytes(transport: "http" | "grpc", count: number): void;
}
