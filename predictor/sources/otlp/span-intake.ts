import type { Clock } from "@tradewind/core/process/clock.ts";
import { SpanBatch, isZero } from "../../window/span.ts";
import type { Call } from "./admission.ts";
import { decoding } from "./body-work.ts";
import type { BodyWork, SentBody } from "./body-work.ts";
import { JsonDecoder } from "./decode-json.ts";
import { ProtobufDecoder } from "./decode-protobuf.ts";
import { encodeSpans } from "./encode-protobuf.ts";
import type { ReceiverLimits } from "./limits.ts";
import { invalid } from "./refusal.ts";
import { keepToNamespaces } from "./token-namespaces.ts";
import { JSON_TYPE, PROTOBUF, ZIPKIN_JSON, ZIPKIN_PROTOBUF } from "./responses.ts";
import type { OtlpEncoding } from "./responses.ts";
import type { SpanDecoder } from "./span-decoder.ts";
import { ZipkinJsonDecoder, ZipkinProtobufDecoder } from "./decode-zipkin.ts";

/** What the consumer made of a batch; an `AddResult` of the window builder is one. */
export interface SpansTaken {
  readonly accepted: number;
  readonly rejected: number;
  readonly reasons: Readonly<Partial<Record<string, number>>>;
}

/**
 * Called with decoded spans, synchronously, several times for a large request; the batch is reused after the call.
 * @param sender the address they came from
 */
export type OnSpans = (batch: SpanBatch, sender: string) => SpansTaken;

/** The forms in which spans come. */
export type SpanForm = OtlpEncoding | typeof ZIPKIN_JSON | typeof ZIPKIN_PROTOBUF;

export interface OfferedBody extends SentBody {
  readonly form: SpanForm;
  /** Takes what was accepted, encoded again, for other predictors. */
  readonly forward?: ((spans: Uint8Array) => void) | undefined;
}

export interface BodyTaken extends SpansTaken {
  /** After decompression. */
  readonly bytes: number;
  readonly notUnderstood: readonly string[];
}

/** Spans handed to the consumer in one go: about a millisecond of work. */
const CHUNK_SPANS = 1_024;

export interface SpanIntakeOptions {
  readonly clock: Clock;
  readonly onSpans: OnSpans;
  readonly limits: ReceiverLimits;
  readonly work: BodyWork;
}

/** Decodes bodies and hands their spans on. All spans of a body are taken, or none. */
export class SpanIntake {
  private readonly batch = new SpanBatch();
  private readonly chunk = new SpanBatch();
  private readonly decoders: Readonly<Record<SpanForm, SpanDecoder>>;
  private readonly options: SpanIntakeOptions;
  /** Of the body read last. */
  private spans = 0;

  constructor(options: SpanIntakeOptions) {
    const { limits } = options;
    this.options = options;
    this.decoders = {
      [PROTOBUF]: new ProtobufDecoder(limits),
      [JSON_TYPE]: new JsonDecoder(limits),
      [ZIPKIN_PROTOBUF]: new ZipkinProtobufDecoder(limits),
      [ZIPKIN_JSON]: new ZipkinJsonDecoder(limits),
    };
  }

  /** @throws Refusal 400, 403, 413, 429 or 503; then nothing of the body was taken */
  async take(body: OfferedBody, call: Call): Promise<BodyTaken> {
    return this.options.work.read(body, call, (bytes) => ({
      steps: this.steps(bytes, body, call),
      count: () => this.spans,
    }));
  }

  private *steps(
    bytes: Uint8Array,
    { form, forward, namespaces }: OfferedBody,
    call: Call,
  ): Generator<void, BodyTaken> {
    const { batch, chunk } = this;
    const decoder = this.decoders[form];
    batch.clear(this.options.clock.nowMs());
    try {
      yield* decoding(decoder.steps(bytes, batch));
      this.refuseMostlyInvalid();
      keepToNamespaces(batch.resources, namespaces, "spans");
      call.signal.throwIfAborted();
      const notUnderstood = [...(decoder.notUnderstood ?? [])];
      return { ...(yield* this.handOn(forward, call.sender)), bytes: bytes.length, notUnderstood };
    } finally {
      this.spans = batch.length + batch.invalidIds;
      for (const each of [batch, chunk]) each.clear(0);
    }
  }

  /** @throws Refusal 400 */
  private refuseMostlyInvalid(): void {
    const { invalidIds, length, spanId, traceId } = this.batch;
    let wrong = invalidIds;
    for (let index = 0; index < length; index += 1) {
      if (isZero(traceId, 4 * index, 4) || isZero(spanId, 2 * index, 2)) wrong += 1;
    }
    const total = length + invalidIds;
    if (2 * wrong <= total) return;
    throw invalid(
      `${wrong} of ${total} spans have a trace id or span id of zero or of the wrong length; nothing was taken`,
    );
  }

  private *handOn(forward: OfferedBody["forward"], sender: string): Generator<void, SpansTaken> {
    const { batch, chunk } = this;
    const reasons: Partial<Record<string, number>> = {};
    const encoded: Uint8Array[] = [];
    let accepted = 0;
    let rejected = 0;
    for (let from = 0; from === 0 || from < batch.length; from += CHUNK_SPANS) {
      const isWhole = batch.length <= CHUNK_SPANS;
      if (!isWhole) chunk.takeRange(batch, from, Math.min(batch.length, from + CHUNK_SPANS));
      if (from === 0) chunk.invalidIds = batch.invalidIds;
      const spans = isWhole ? batch : chunk;
      const taken = this.options.onSpans(spans, sender);
      accepted += taken.accepted;
      rejected += taken.rejected;
      for (const [reason, count] of Object.entries(taken.reasons)) {
        reasons[reason] = (reasons[reason] ?? 0) + (count ?? 0);
      }
      if (forward !== undefined && taken.accepted > 0) encoded.push(encodeSpans(spans));
      yield;
    }
    if (encoded.length > 0) forward?.(Buffer.concat(encoded));
    return { accepted, rejected, reasons };
  }
}
