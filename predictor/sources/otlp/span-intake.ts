import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { threadCpuMs } from "@tradewind/core/net/cost-meter.ts";
import { TradewindError, describeError } from "@tradewind/core/values/errors.ts";
import { SpanBatch, isZero } from "../../window/span.ts";
import type { Admission, Call } from "./admission.ts";
import { inflated } from "./body.ts";
import { JsonDecoder } from "./decode-json.ts";
import { ProtobufDecoder } from "./decode-protobuf.ts";
import { encodeSpans } from "./encode-protobuf.ts";
import type { ReceiverLimits } from "./limits.ts";
import { forbidden, invalid, malformed, overloaded, tooLarge } from "./refusal.ts";
import { PROTOBUF } from "./responses.ts";
import type { OtlpEncoding } from "./responses.ts";
import { Turns } from "./turns.ts";

/** What the consumer made of a batch; an `AddResult` of the window builder is one. */
export interface SpansTaken {
  readonly accepted: number;
  readonly rejected: number;
  readonly reasons: Readonly<Partial<Record<string, number>>>;
}

/** Called with decoded spans, synchronously, several times for a large request; the batch is reused after the call. */
export type OnSpans = (batch: SpanBatch) => SpansTaken;

/** A body as it was sent. */
export interface OfferedBody {
  readonly bytes: Uint8Array;
  readonly isCompressed: boolean;
  /** Once decompressed. */
  readonly maxBytes: number;
  readonly encoding: OtlpEncoding;
  /** The only namespaces that its sender may send spans of; absent: all. */
  readonly namespaces?: readonly string[] | undefined;
  /** Takes what was accepted, encoded again, for other predictors. */
  readonly forward?: ((spans: Uint8Array) => void) | undefined;
}

export interface BodyTaken extends SpansTaken {
  /** After decompression. */
  readonly bytes: number;
}

/** Others get their turn on the event loop after so long. */
const SLICE_MS = 8;
/** Spans handed to the consumer in one go: about a millisecond of work. */
const CHUNK_SPANS = 1_024;

export interface SpanIntakeOptions {
  readonly clock: Clock;
  readonly onSpans: OnSpans;
  readonly limits: ReceiverLimits;
  readonly admission: Admission;
}

/**
 * Decodes one body after another, in slices between which the process does its other work, and hands the spans on. All spans
 * of a body are taken, or none.
 */
export class SpanIntake {
  private readonly batch = new SpanBatch();
  private readonly chunk = new SpanBatch();
  private readonly turns = new Turns();
  private readonly protobuf: ProtobufDecoder;
  private readonly json: JsonDecoder;
  private readonly options: SpanIntakeOptions;
  private sliceEndMs = 0;
  private sliceCpuMs = 0;
  /** CPU time spent on the body in hand. */
  private workMs = 0;

  constructor(options: SpanIntakeOptions) {
    this.options = options;
    this.protobuf = new ProtobufDecoder(options.limits);
    this.json = new JsonDecoder(options.limits);
  }

  /** @throws Refusal 400, 403, 413, 429 or 503; then nothing of the body was taken */
  async take(body: OfferedBody, call: Call): Promise<BodyTaken> {
    const { clock, limits } = this.options;
    call.signal.throwIfAborted();
    const giveUpMs = clock.monotonicMs() + limits.requestTimeoutMs;
    return this.turns.run(call.sender, async () => {
      call.signal.throwIfAborted();
      if (clock.monotonicMs() > giveUpMs) {
        throw overloaded("calls", "others were served for too long", limits.retryAfterSeconds);
      }
      this.options.admission.refuseTooFast(call.sender);
      return this.takeNow(body, call);
    });
  }

  private async takeNow(
    { encoding, forward, namespaces, ...body }: OfferedBody,
    call: Call,
  ): Promise<BodyTaken> {
    const { admission, clock } = this.options;
    const bytes = body.isCompressed ? await inflated(body.bytes, body.maxBytes) : body.bytes;
    this.workMs = 0;
    this.beginSlice();
    try {
      await this.decode(bytes, encoding);
      this.refuseMostlyInvalid();
      this.keepTo(namespaces);
      call.signal.throwIfAborted();
      return { ...(await this.handOn(forward)), bytes: bytes.length };
    } finally {
      const spans = this.batch.length + this.batch.invalidIds;
      this.endSlice();
      const cost = { bytes: bytes.length, spans, workSeconds: this.workMs / 1e3 };
      admission.rates.charge(call.sender, cost, clock.monotonicMs());
      for (const batch of [this.batch, this.chunk]) batch.clear(0);
    }
  }

  private async decode(bytes: Uint8Array, encoding: OtlpEncoding): Promise<void> {
    this.batch.clear(this.options.clock.nowMs());
    const decoder = encoding === PROTOBUF ? this.protobuf : this.json;
    const steps = decoder.steps(bytes, this.batch);
    try {
      while (steps.next().done !== true) await this.pauseWhenDue();
    } catch (error) {
      const message = error instanceof TradewindError ? error.message : describeError(error);
      const isTooLarge = error instanceof TradewindError && error.code === "too-many-spans";
      throw isTooLarge ? tooLarge(message) : malformed(message, error);
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

  /** Spans that state no namespace are of the only one that their sender has. @throws Refusal 403 */
  private keepTo(namespaces: readonly string[] | undefined): void {
    if (namespaces === undefined) return;
    const [only, ...others] = namespaces;
    for (const resource of this.batch.resources) {
      resource.namespace ??= others.length === 0 ? only : undefined;
      if (resource.namespace !== undefined && namespaces.includes(resource.namespace)) continue;
      const stated =
        resource.namespace === undefined ? "no namespace" : `namespace '${resource.namespace.slice(0, 63)}'`;
      throw forbidden(
        `spans of ${stated} do not come with this token, which is for ${namespaces.slice(0, 8).join(", ")}; nothing was taken`,
      );
    }
  }

  private async handOn(forward: OfferedBody["forward"]): Promise<SpansTaken> {
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
      const taken = this.options.onSpans(spans);
      accepted += taken.accepted;
      rejected += taken.rejected;
      for (const [reason, count] of Object.entries(taken.reasons)) {
        reasons[reason] = (reasons[reason] ?? 0) + (count ?? 0);
      }
      if (forward !== undefined && taken.accepted > 0) encoded.push(encodeSpans(spans));
      await this.pauseWhenDue();
    }
    if (encoded.length > 0) forward?.(Buffer.concat(encoded));
    return { accepted, rejected, reasons };
  }

  private async pauseWhenDue(): Promise<void> {
    const { clock } = this.options;
    if (clock.monotonicMs() < this.sliceEndMs) return;
    this.endSlice();
    await nextTurn();
    this.beginSlice();
  }

  private beginSlice(): void {
    this.sliceEndMs = this.options.clock.monotonicMs() + SLICE_MS;
    this.sliceCpuMs = threadCpuMs();
  }

  private endSlice(): void {
    this.workMs += threadCpuMs() - this.sliceCpuMs;
  }
}
