import type { SpanBatch } from "../../window/span.ts";
import type { ReceiverLimits } from "./limits.ts";
import type { ReceiverMetrics } from "./metrics.ts";

/** What the consumer made of a batch; an `AddResult` of the window builder is one. */
export interface SpansTaken {
  readonly accepted: number;
  readonly rejected: number;
  readonly reasons: Readonly<Partial<Record<string, number>>>;
}

export interface OtlpReceiverOptions {
  /** `host:port`; port 0 takes a free one. */
  readonly listen: string;
  readonly limits?: Partial<ReceiverLimits> | undefined;
  /** Called with every decoded batch, synchronously; the batch is the receiver's and is reused after the call. */
  readonly onSpans: (batch: SpanBatch) => SpansTaken;
  readonly metrics?: ReceiverMetrics | undefined;
}

export interface OtlpReceiver {
  /** `http://host:port` for HTTP, `host:port` for gRPC. */
  readonly address: string;
  stop(): Promise<void>;
}

/** Starts OTLP/HTTP: `POST /v1/traces`. @throws TradewindError `listen` when the address cannot be had */
export async function startOtlpReceiver(_options: OtlpReceiverOptions): Promise<OtlpReceiver> {
  throw new Error("startOtlpReceiver is not there yet");
}
