import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import type { SpanResource } from "../../../window/span.ts";
import { ByteStrings } from "../byte-strings.ts";
import { BYTES, FIXED64, MessageReader, tag, VARINT } from "../message-reader.ts";
import { BYTES_PER_PAUSE, PartCount } from "../part-count.ts";
import type { PartLimits } from "../part-count.ts";
import { MAX_VALUE_BYTES, ResourceReader } from "../resource-attributes.ts";
import type { MetricBatch } from "./batch.ts";
import { durationMetric, MAX_BUCKETS, MAX_KEY_BYTES, POINT_KEYS, PointAttributes } from "./durations.ts";
import { durationPoint, NOT_RECORDED } from "./point-builder.ts";
import type { WrittenBuckets, WrittenMetric } from "./point-builder.ts";

/** Tags of metrics.proto, resource.proto and common.proto (opentelemetry-proto 1.x) that are read; others are skipped. */
const REQUEST_RESOURCE_METRICS = tag(1, BYTES);
const RESOURCE = tag(1, BYTES);
const SCOPE_METRICS = tag(2, BYTES);
const RESOURCE_ATTRIBUTES = tag(1, BYTES);
const SCOPE_METRICS_METRICS = tag(2, BYTES);
const METRIC_NAME = tag(1, BYTES);
const METRIC_UNIT = tag(3, BYTES);
const METRIC_HISTOGRAM = tag(9, BYTES);
const METRIC_EXPONENTIAL = tag(10, BYTES);
const DATA_POINTS = tag(1, BYTES);
const TEMPORALITY = tag(2, VARINT);
const START = tag(2, FIXED64);
const TIME = tag(3, FIXED64);
const COUNT = tag(4, FIXED64);
const SUM = tag(5, FIXED64);
const FLAGS = tag(10, VARINT);
const EXPLICIT = { attributes: tag(9, BYTES), counts: tag(6, BYTES), bounds: tag(7, BYTES) } as const;
const EXPONENTIAL = {
  attributes: tag(1, BYTES),
  scale: tag(6, VARINT),
  zeroCount: tag(7, FIXED64),
  positive: tag(8, BYTES),
} as const;
const OFFSET = tag(1, VARINT);
const BUCKET_COUNTS = tag(2, BYTES);
const KEY = tag(1, BYTES);
const VALUE = tag(2, BYTES);
const STRING_VALUE = tag(1, BYTES);
const INT_VALUE = tag(3, VARINT);

const WORD = 0x1_0000_0000;
const MS_PER_NS = 1e-6;
const NOTHING = new Uint8Array(0);
const MAX_NAME_BYTES = 64;
const MAX_UNIT_BYTES = 16;
/** Of the attributes of a point: longer ones are told apart by so much. */
const MAX_IDENTITY_BYTES = 4_096;

const emptyPoint = () => ({
  identity: "",
  startMs: 0,
  endMs: 0,
  count: 0,
  sum: 0,
  flags: 0,
  scale: 0,
  zeroCount: 0,
  offset: 0,
  bounds: [] as number[],
  counts: [] as number[],
});

/** Where a field of a message stands: read once all of the message is known. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/** Reads `ExportMetricsServiceRequest` from the wire: only histograms of durations, the others are counted. */
export class MetricProtobufDecoder {
  private readonly texts = new ByteStrings();
  private readonly resource = new ResourceReader();
  private readonly attributes = new PointAttributes();
  private readonly count: PartCount;
  private reader: MessageReader;
  private pauseAt = 0;

  constructor(limits: PartLimits) {
    this.count = new PartCount(limits);
    this.reader = new MessageReader(NOTHING, this.count);
  }

  /** @throws TradewindError `malformed-otlp` or `too-many-spans`; the batch then holds a part of the message */
  *steps(bytes: Uint8Array, batch: MetricBatch): Generator<void> {
    this.reader = new MessageReader(bytes, this.count);
    this.count.clear();
    this.pauseAt = BYTES_PER_PAUSE;
    try {
      for (const field of this.fields()) {
        if (field === REQUEST_RESOURCE_METRICS) yield* this.within(this.readResourceMetrics(batch));
        else this.reader.skipField(field);
      }
    } catch (error) {
      if (error instanceof TradewindError) throw error;
      throw new TradewindError(
        "malformed-otlp",
        `not an ExportMetricsServiceRequest: byte ${this.reader.pos} of ${bytes.length}: ${describeError(error)}`,
        { cause: error },
      );
    } finally {
      this.reader = new MessageReader(NOTHING, this.count);
    }
  }

  /** The fields of the message that the reader is in. */
  private *fields(): Generator<number> {
    const { reader } = this;
    while (reader.pos < reader.len) yield reader.uint32();
  }

  private *within(work: Generator<void>): Generator<void> {
    this.count.part();
    const outer = this.reader.enter();
    yield* work;
    this.reader.leave(outer);
    if (this.reader.pos < this.pauseAt) return;
    this.pauseAt = this.reader.pos + BYTES_PER_PAUSE;
    yield;
  }

  private *readResourceMetrics(batch: MetricBatch): Generator<void> {
    const resource: SpanResource = { service: "" };
    this.resource.clear();
    for (const field of this.fields()) {
      if (field === RESOURCE) {
        const outer = this.reader.enter();
        this.readResource();
        this.reader.leave(outer);
      } else if (field === SCOPE_METRICS) yield* this.within(this.readScopeMetrics(batch, resource));
      else this.reader.skipField(field);
    }
    Object.assign(resource, this.resource.resource());
  }

  private readResource(): void {
    for (const field of this.fields()) {
      if (field !== RESOURCE_ATTRIBUTES) {
        this.reader.skipField(field);
        continue;
      }
      this.count.part();
      const outer = this.reader.enter();
      this.readAttribute((key, value) => {
        if (this.resource.wants(key)) this.resource.take(key, value);
      });
      this.reader.leave(outer);
    }
  }

  private *readScopeMetrics(batch: MetricBatch, resource: SpanResource): Generator<void> {
    for (const field of this.fields()) {
      if (field === SCOPE_METRICS_METRICS) yield* this.within(this.readMetric(batch, resource));
      else this.reader.skipField(field);
    }
  }

  private *readMetric(batch: MetricBatch, resource: SpanResource): Generator<void> {
    const { reader } = this;
    let name = "";
    let unit = "";
    let histogram: (Range & { readonly isExponential: boolean }) | undefined;
    for (const field of this.fields()) {
      if (field === METRIC_NAME) name = this.readText(MAX_NAME_BYTES);
      else if (field === METRIC_UNIT) unit = this.readText(MAX_UNIT_BYTES);
      else if (field === METRIC_HISTOGRAM || field === METRIC_EXPONENTIAL) {
        const to = reader.endOfBytes();
        histogram = { from: reader.pos, to, isExponential: field === METRIC_EXPONENTIAL };
        reader.pos = to;
      } else reader.skipField(field);
    }
    const metric = durationMetric(name, unit);
    if (metric === undefined || histogram === undefined) {
      batch.discarded += 1;
      return;
    }
    const [pos, len] = [reader.pos, reader.len];
    Object.assign(reader, { pos: histogram.from, len: histogram.to });
    yield* this.readHistogram({ metric, name, resource }, histogram.isExponential, batch);
    Object.assign(reader, { pos, len });
  }

  private *readHistogram(
    metric: Omit<WrittenMetric, "temporality">,
    isExponential: boolean,
    batch: MetricBatch,
  ): Generator<void> {
    const { reader } = this;
    const points: Range[] = [];
    let temporality = 0;
    for (const field of this.fields()) {
      if (field === DATA_POINTS) {
        this.count.span();
        const to = reader.endOfBytes();
        points.push({ from: reader.pos, to });
        reader.pos = to;
      } else if (field === TEMPORALITY) temporality = reader.uint32();
      else reader.skipField(field);
    }
    for (const { from, to } of points) {
      Object.assign(reader, { pos: from, len: to });
      this.readPoint({ ...metric, temporality }, isExponential, batch);
      yield;
    }
  }

  private readPoint(metric: WrittenMetric, isExponential: boolean, batch: MetricBatch): void {
    this.attributes.clear();
    const { reader } = this;
    const point = emptyPoint();
    while (reader.pos < reader.len) {
      const field = reader.uint32();
      const isRead =
        this.readCommonField(field, point) ||
        (isExponential ? this.readExponentialField(field, point) : this.readExplicitField(field, point));
      if (!isRead) reader.skipField(field);
    }
    if ((point.flags & NOT_RECORDED) !== 0) return;
    const { bounds, counts, offset, scale, zeroCount, ...written } = point;
    const buckets: WrittenBuckets = isExponential
      ? { kind: "exponential", scale, zeroCount, offset, counts }
      : { kind: "explicit", bounds, counts };
    batch.take(durationPoint(metric, { ...written, buckets }, this.attributes));
  }

  /** @returns whether it is one of the fields that both kinds of histograms have, by the same numbers */
  private readCommonField(field: number, point: ReturnType<typeof emptyPoint>): boolean {
    if (field === START) point.startMs = this.readFixed64() * MS_PER_NS;
    else if (field === TIME) point.endMs = this.readFixed64() * MS_PER_NS;
    else if (field === COUNT) point.count = this.readFixed64();
    else if (field === SUM) point.sum = this.reader.double();
    else if (field === FLAGS) point.flags = this.reader.uint32();
    else return false;
    return true;
  }

  private readExplicitField(field: number, point: ReturnType<typeof emptyPoint>): boolean {
    if (field === EXPLICIT.attributes) point.identity += this.readPointAttribute();
    else if (field === EXPLICIT.counts) point.counts = this.readPacked(() => this.readFixed64());
    else if (field === EXPLICIT.bounds) point.bounds = this.readPacked(() => this.reader.double());
    else return false;
    return true;
  }

  private readExponentialField(field: number, point: ReturnType<typeof emptyPoint>): boolean {
    const { reader } = this;
    if (field === EXPONENTIAL.attributes) point.identity += this.readPointAttribute();
    else if (field === EXPONENTIAL.scale) point.scale = reader.sint32();
    else if (field === EXPONENTIAL.zeroCount) point.zeroCount = this.readFixed64();
    else if (field === EXPONENTIAL.positive) {
      const outer = reader.enter();
      Object.assign(point, this.readBuckets());
      reader.leave(outer);
    } else return false;
    return true;
  }

  /** @returns its bytes, by which series are told apart */
  private readPointAttribute(): string {
    const { reader } = this;
    const outer = reader.enter();
    const to = Math.min(reader.len, reader.pos + MAX_IDENTITY_BYTES);
    const identity = Buffer.from(reader.buf.subarray(reader.pos, to)).toString("latin1");
    this.readAttribute((key, value) => {
      if (POINT_KEYS.has(key)) this.attributes.take(key, value);
    });
    reader.leave(outer);
    return identity;
  }

  private readBuckets(): { readonly offset: number; readonly counts: number[] } {
    const { reader } = this;
    let offset = 0;
    let counts: number[] = [];
    for (const field of this.fields()) {
      if (field === OFFSET) offset = reader.sint32();
      else if (field === BUCKET_COUNTS) counts = this.readPacked(() => this.readVarint());
      else reader.skipField(field);
    }
    return { offset, counts };
  }

  /** Numbers one after another; where there are too many, one more than there may be. */
  private readPacked(readOne: () => number): number[] {
    const { reader } = this;
    const outer = reader.enter();
    const values: number[] = [];
    while (reader.pos < reader.len && values.length <= MAX_BUCKETS) values.push(readOne());
    if (values.length > MAX_BUCKETS) reader.pos = reader.len;
    reader.leave(outer);
    return values;
  }

  /** As far as numbers are exact: without an object for each. */
  private readVarint(): number {
    const { reader } = this;
    let value = 0;
    for (let scale = 1; reader.pos < reader.len; scale *= 128) {
      const byte = reader.buf[reader.pos] ?? 0;
      reader.pos += 1;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw new RangeError("a number that does not end");
  }

  private readFixed64(): number {
    const { reader } = this;
    const low = reader.fixed32();
    return reader.fixed32() * WORD + low;
  }

  private readText(maxBytes: number): string {
    const { reader } = this;
    const end = reader.endOfBytes();
    const text = this.texts.text(reader.buf, reader.pos, Math.min(end, reader.pos + maxBytes));
    reader.pos = end;
    return text;
  }

  /** A `KeyValue` whose value is text or a whole number; any other value is empty. */
  private readAttribute(take: (key: string, value: string) => void): void {
    const { reader } = this;
    let key = "";
    let value = "";
    while (reader.pos < reader.len) {
      const field = reader.uint32();
      if (field === KEY) {
        key = this.readText(MAX_KEY_BYTES);
      } else if (field === VALUE) {
        const outer = reader.enter();
        while (reader.pos < reader.len) {
          const kind = reader.uint32();
          if (kind === STRING_VALUE) value = this.readText(MAX_VALUE_BYTES);
          else if (kind === INT_VALUE) value = String(Number(reader.int64()));
          else reader.skipField(kind);
        }
        reader.leave(outer);
      } else reader.skipField(field);
    }
    take(key, value);
  }
}
