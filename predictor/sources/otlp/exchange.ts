import { JSON_TYPE, PROTOBUF } from "./responses.ts";

/** What predictors call the metrics that they forward to each other, by the encoding in which a client sent them. */
export const METRICS_FORWARDED = {
  [PROTOBUF]: `${PROTOBUF}; signal=metrics`,
  [JSON_TYPE]: `${JSON_TYPE}; signal=metrics`,
} as const;

/** What came of a client, after decompression: the body of an ExportTraceServiceRequest, or of an ExportMetricsServiceRequest. */
export interface ReceivedBatch {
  readonly body: Uint8Array;
  readonly contentType: string;
}

/** What a receiver of clients' spans needs of the exchange among predictors. */
export interface BatchExchange {
  /** Takes a client's batch, once its spans were counted, for the other predictors; never waits. */
  forward(batch: ReceivedBatch): void;
}
