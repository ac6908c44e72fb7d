import { z } from "zod";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import type { SpanResource } from "../../../window/span.ts";
import { PartCount } from "../part-count.ts";
import type { PartLimits } from "../part-count.ts";
import { MAX_VALUE_BYTES, ResourceReader } from "../resource-attributes.ts";
import { nestsDeeperThan } from "../json-depth.ts";
import type { MetricBatch } from "./batch.ts";
import { durationMetric, POINT_KEYS, PointAttributes } from "./durations.ts";
import { CUMULATIVE, DELTA, durationPoint, NOT_RECORDED } from "./point-builder.ts";
import type { WrittenMetric } from "./point-builder.ts";

/** A body is parsed in one go. A program sends some hundred points; who passes on those of many uses protobuf. */
const MAX_BYTES = 2 ** 20;
const MAX_POINTS = 2_500;
/** Attribute values are lists of lists at most. */
const MAX_DEPTH = 64;
const MAX_NUMBER_CHARS = 40;
const MS_PER_NS = 1e-6;

/** A number, or the text of one, as protobuf's JSON form has for 64 bits; absent: 0. */
const NumberLike = z
  .union([z.number(), z.string().max(MAX_NUMBER_CHARS)])
  .nullish()
  .transform((value) => Number(value ?? 0));
const list = z.array(z.unknown()).nullish();
const numbers = z.array(NumberLike).nullish();

const Request = z.object({ resourceMetrics: list });
const ResourceMetrics = z.object({
  resource: z.object({ attributes: list }).nullish(),
  scopeMetrics: list,
});
const ScopeMetrics = z.object({ metrics: list });
const Histogram = z.object({
  aggregationTemporality: z.union([z.string(), z.number()]).nullish(),
  dataPoints: list,
});
const Metric = z.object({
  name: z.string(),
  unit: z.string().nullish(),
  histogram: Histogram.nullish(),
  exponentialHistogram: Histogram.nullish(),
});
const Attribute = z.object({
  key: z.string(),
  value: z
    .object({ stringValue: z.string().nullish(), intValue: z.union([z.string(), z.number()]).nullish() })
    .nullish(),
});
const Point = z.object({
  attributes: list,
  startTimeUnixNano: NumberLike,
  timeUnixNano: NumberLike,
  count: NumberLike,
  sum: NumberLike,
  flags: NumberLike,
  bucketCounts: numbers,
  explicitBounds: numbers,
  scale: NumberLike,
  zeroCount: NumberLike,
  positive: z.object({ offset: NumberLike, bucketCounts: numbers }).nullish(),
});

const TEMPORALITIES = new Map<unknown, number>([
  ["AGGREGATION_TEMPORALITY_DELTA", DELTA],
  ["AGGREGATION_TEMPORALITY_CUMULATIVE", CUMULATIVE],
  [DELTA, DELTA],
  [CUMULATIVE, CUMULATIVE],
]);

/** Reads `ExportMetricsServiceRequest` in its JSON form: only histograms of durations, the others are counted. */
export class MetricJsonDecoder {
  private readonly count: PartCount;

  constructor(limits: PartLimits) {
    this.count = new PartCount({ ...limits, maxSpans: Math.min(limits.maxSpans, MAX_POINTS) });
  }

  /** @throws TradewindError `malformed-otlp` or `too-many-spans`; the batch then holds a part of the message */
  *steps(body: Uint8Array, batch: MetricBatch): Generator<void> {
    this.count.clear();
    const { resourceMetrics } = Request.parse(parsed(body));
    for (const part of resourceMetrics ?? []) {
      const { resource, scopeMetrics } = ResourceMetrics.parse(part);
      const from = resourceOf(resource?.attributes ?? []);
      for (const scope of scopeMetrics ?? []) {
        for (const metric of ScopeMetrics.parse(scope).metrics ?? []) {
          this.count.part();
          yield* this.readMetric(metric, from, batch);
        }
      }
    }
  }

  private *readMetric(value: unknown, resource: SpanResource, batch: MetricBatch): Generator<void> {
    const { exponentialHistogram, histogram, name, unit } = Metric.parse(value);
    const metric = durationMetric(name, unit ?? "");
    const kind = histogram ?? exponentialHistogram;
    if (metric === undefined || kind === null || kind === undefined) {
      batch.discarded += 1;
      return;
    }
    const temporality = TEMPORALITIES.get(kind.aggregationTemporality) ?? 0;
    for (const point of kind.dataPoints ?? []) {
      this.count.span();
      readPoint(point, { metric, name, resource, temporality }, histogram !== kind, batch);
      yield;
    }
  }
}

function parsed(body: Uint8Array): unknown {
  if (body.length > MAX_BYTES) {
    const advice = "send smaller batches, or protobuf";
    throw new TradewindError("too-many-spans", `metrics in JSON of more than ${MAX_BYTES} bytes: ${advice}`);
  }
  if (nestsDeeperThan(body, MAX_DEPTH))
    throw new TradewindError("malformed-otlp", `the body nests deeper than ${MAX_DEPTH}`);
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch (error) {
    const message = `not an ExportMetricsServiceRequest: ${describeError(error).slice(0, 200)}`;
    throw new TradewindError("malformed-otlp", message, { cause: error });
  }
}

function resourceOf(attributes: readonly unknown[]): SpanResource {
  const reader = new ResourceReader();
  for (const { key, text } of texts(attributes))
    if (reader.wants(key)) reader.take(key, text.slice(0, MAX_VALUE_BYTES));
  return reader.resource();
}

function* texts(attributes: readonly unknown[]): Generator<{ readonly key: string; readonly text: string }> {
  for (const each of attributes) {
    const { key, value } = Attribute.parse(each);
    yield { key, text: value?.stringValue ?? String(value?.intValue ?? "") };
  }
}

function readPoint(value: unknown, metric: WrittenMetric, isExponential: boolean, batch: MetricBatch): void {
  const point = Point.parse(value);
  if ((point.flags & NOT_RECORDED) !== 0) return;
  const { count, positive, scale, sum, zeroCount } = point;
  const attributes = new PointAttributes();
  for (const { key, text } of texts(point.attributes ?? []))
    if (POINT_KEYS.has(key)) attributes.take(key, text.slice(0, MAX_VALUE_BYTES));
  const written = {
    identity: JSON.stringify(point.attributes ?? []),
    startMs: point.startTimeUnixNano * MS_PER_NS,
    endMs: point.timeUnixNano * MS_PER_NS,
    count,
    sum,
    buckets: isExponential
      ? ({
          kind: "exponential",
          scale,
          zeroCount,
          offset: positive?.offset ?? 0,
          counts: positive?.bucketCounts ?? [],
        } as const)
      : ({ kind: "explicit", bounds: point.explicitBounds ?? [], counts: point.bucketCounts ?? [] } as const),
  };
  batch.take(durationPoint(metric, written, attributes));
}
