import type { Clock } from "@tradewind/core/clock.ts";
import { TradewindError, describeError } from "@tradewind/core/errors.ts";
import { SpanBatch } from "../../window/span.ts";
import { JsonDecoder } from "./decode-json.ts";
import { ProtobufDecoder } from "./decode-protobuf.ts";
import { malformed } from "./refusal.ts";
import { PROTOBUF } from "./responses.ts";
import type { OtlpEncoding } from "./responses.ts";

/** What the consumer made of a batch; an `AddResult` of the window builder is one. */
export interface SpansTaken {
  readonly accepted: number;
  readonly rejected: number;
  readonly reasons: Readonly<Partial<Record<string, number>>>;
}

/** Called with every decoded batch, synchronously; the batch is reused after the call. */
export type OnSpans = (batch: SpanBatch) => SpansTaken;

/** Decodes one body after another into the same batch and hands it on. */
export class SpanIntake {
  private readonly batch = new SpanBatch();
  private readonly protobuf = new ProtobufDecoder();
  private readonly json = new JsonDecoder();
  private readonly clock: Clock;
  private readonly onSpans: OnSpans;

  constructor(clock: Clock, onSpans: OnSpans) {
    this.clock = clock;
    this.onSpans = onSpans;
  }

  /** All spans of the body, or none. @throws Refusal 400 when the body is not an ExportTraceServiceRequest */
  take(body: Uint8Array, encoding: OtlpEncoding): SpansTaken {
    this.batch.clear(this.clock.nowMs());
    try {
      (encoding === PROTOBUF ? this.protobuf : this.json).decode(body, this.batch);
    } catch (error) {
      throw malformed(error instanceof TradewindError ? error.message : describeError(error), error);
    }
    return this.onSpans(this.batch);
  }
}
