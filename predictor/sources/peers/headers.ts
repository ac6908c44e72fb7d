/** Who forwards a batch: only present on batches that came from another predictor, which are not forwarded again. */
export const PEER_HEADER = "tradewind-peer";
/** Number of the batch among all that the peer meant for us; of the last one when the body is empty. */
export const SEQUENCE_HEADER = "tradewind-peer-sequence";
/** In the answer: which predictor took the batch. */
export const INSTANCE_HEADER = "tradewind-instance";

/** A batch of spans as it came: the body of an ExportTraceServiceRequest, after decompression. */
export interface ReceivedBatch {
  readonly body: Uint8Array;
  readonly contentType: string;
}

/** The mark of a forwarded batch; undefined when a client sent it itself. */
export interface Forwarded {
  readonly instance: string;
  readonly sequence: number;
}

/** What a receiver needs of the exchange among predictors. */
export interface BatchExchange {
  /** Names this predictor in answers to its peers. */
  readonly instance: string;
  /** @returns whether the spans are to be counted: not those that a peer had sent before */
  received(batch: ReceivedBatch, mark: Forwarded | undefined): boolean;
  /** Takes a client's batch for the peers; never waits. */
  forward(batch: ReceivedBatch): void;
}

/** Reads the mark from the headers; one that is not understood counts as none. */
export function forwardedMark(headers: Readonly<Record<string, unknown>>): Forwarded | undefined {
  const instance = headers[PEER_HEADER];
  const sequence = Number(headers[SEQUENCE_HEADER]);
  if (typeof instance !== "string" || !/^[0-9a-z-]{1,64}$/.test(instance)) return undefined;
  return Number.isSafeInteger(sequence) && sequence >= 0 ? { instance, sequence } : undefined;
}
