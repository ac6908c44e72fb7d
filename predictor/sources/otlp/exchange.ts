/** A batch of spans as it came: the body of an ExportTraceServiceRequest, after decompression. */
export interface ReceivedBatch {
  readonly body: Uint8Array;
  readonly contentType: string;
}

/** What a receiver of clients' spans needs of the exchange among predictors. */
export interface BatchExchange {
  /** Takes a client's batch, once its spans were counted, for the other predictors; never waits. */
  forward(batch: ReceivedBatch): void;
}
