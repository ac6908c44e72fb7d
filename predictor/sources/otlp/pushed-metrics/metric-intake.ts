import type { Call } from "../admission.ts";
import { decoding } from "../body-work.ts";
import type { BodyWork, SentBody } from "../body-work.ts";
import type { PartLimits } from "../part-count.ts";
import { keepToNamespaces } from "../token-namespaces.ts";
import { JSON_TYPE, PROTOBUF } from "../responses.ts";
import type { OtlpEncoding } from "../responses.ts";
import { MetricBatch } from "./batch.ts";
import { MetricJsonDecoder } from "./decode-json.ts";
import { MetricProtobufDecoder } from "./decode-protobuf.ts";
import type { DurationPoint } from "./durations.ts";
import type { PointsTaken } from "./pushed-metrics.ts";

/** Called with the histograms of durations of one body, and the address they came from. */
export type OnDurations = (
  points: readonly DurationPoint[],
  sender: string,
) => {
  readonly accepted: number;
  readonly rejected: number;
  readonly reasons: Readonly<Partial<Record<string, number>>>;
};

export interface OfferedMetrics extends SentBody {
  readonly form: OtlpEncoding;
  /** Takes a body of which something was accepted, for other predictors. */
  readonly forward?: ((body: Uint8Array) => void) | undefined;
}

export interface MetricsTaken extends Omit<PointsTaken, "reasons"> {
  readonly reasons: Readonly<Partial<Record<string, number>>>;
  /** After decompression. */
  readonly bytes: number;
  /** Metrics that are no histograms of durations. */
  readonly discarded: number;
}

/** A Collector sends 8,192 points at once by default. */
const MAX_POINTS = 10_000;

/** Decodes bodies of metrics, one after another, and hands on what is of use. All of a body is taken, or nothing. */
export class MetricIntake {
  private readonly batch = new MetricBatch();
  private readonly work: BodyWork;
  private readonly onDurations: OnDurations;
  private readonly decoders: Readonly<Record<OtlpEncoding, MetricJsonDecoder | MetricProtobufDecoder>>;

  constructor(work: BodyWork, onDurations: OnDurations, limits: PartLimits) {
    this.work = work;
    this.onDurations = onDurations;
    const own = { ...limits, maxSpans: Math.min(limits.maxSpans, MAX_POINTS) };
    this.decoders = { [PROTOBUF]: new MetricProtobufDecoder(own), [JSON_TYPE]: new MetricJsonDecoder(own) };
  }

  /** @throws Refusal 400, 413, 429 or 503; then nothing of the body was taken */
  async take(body: OfferedMetrics, call: Call): Promise<MetricsTaken> {
    let count = 0;
    return this.work.read(body, call, (bytes) => ({
      steps: this.steps(bytes, body, call, (points) => (count = points)),
      count: () => count,
    }));
  }

  private *steps(
    bytes: Uint8Array,
    { form, forward, namespaces }: OfferedMetrics,
    call: Call,
    onCount: (points: number) => void,
  ): Generator<void, MetricsTaken> {
    const { batch } = this;
    batch.clear();
    try {
      yield* decoding(this.decoders[form].steps(bytes, batch));
      call.signal.throwIfAborted();
      const { discarded, invalid, points } = batch;
      keepToNamespaces(
        points.map(({ resource }) => resource),
        namespaces,
        "measurements",
      );
      const taken = this.onDurations(points, call.sender);
      if (taken.accepted > 0) forward?.(bytes);
      return {
        accepted: taken.accepted,
        rejected: taken.rejected + invalid,
        reasons: { ...taken.reasons, ...(invalid > 0 && { "invalid-histogram": invalid }) },
        bytes: bytes.length,
        discarded,
      };
    } finally {
      onCount(batch.points.length + batch.invalid);
      batch.clear();
    }
  }
}
