import { hash } from "node:crypto";
import type { SpanResource } from "../../../window/span.ts";
import type { Distribution } from "./distribution.ts";
import { MAX_BUCKETS } from "./durations.ts";
import type { DurationPoint, PointAttributes, durationMetric } from "./durations.ts";

/** A point of a histogram as it is written, in the unit of its metric. */
export interface WrittenPoint {
  /** Its attributes as they stand in the message: equal for points of one series. */
  readonly identity: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly count: number;
  readonly sum: number;
  readonly buckets: WrittenBuckets;
}

export type WrittenBuckets =
  | { readonly kind: "explicit"; readonly bounds: readonly number[]; readonly counts: readonly number[] }
  | {
      readonly kind: "exponential";
      readonly scale: number;
      readonly zeroCount: number;
      readonly offset: number;
      readonly counts: readonly number[];
    };

/** `AggregationTemporality` of metrics.proto. */
export const DELTA = 1;
export const CUMULATIVE = 2;
/** `NO_RECORDED_VALUE` of DataPointFlags. */
export const NOT_RECORDED = 1;

export interface WrittenMetric {
  readonly name: string;
  readonly metric: NonNullable<ReturnType<typeof durationMetric>>;
  readonly temporality: number;
  readonly resource: SpanResource;
}

/** Longer ones are kept as a hash. */
const MAX_PLAIN_IDENTITY = 64;
const MOST_SCALE = 20;
const LEAST_SCALE = -10;

/** What a written point says; undefined where it is no histogram that can be. */
export function durationPoint(
  { metric, name, resource, temporality }: WrittenMetric,
  written: WrittenPoint,
  attributes: PointAttributes,
): DurationPoint | undefined {
  const { count, endMs, identity, startMs, sum } = written;
  const isKnown = temporality === DELTA || temporality === CUMULATIVE;
  const buckets = inSeconds(written.buckets, metric.unitSeconds);
  if (!isKnown || buckets === undefined || !(count >= 0) || !(sum >= 0) || !(endMs > 0)) return undefined;
  if (!Number.isFinite(count * sum)) return undefined;
  const series = `${name}\n${identity}`;
  return {
    resource,
    role: metric.role,
    series: identity.length > MAX_PLAIN_IDENTITY ? hash("sha1", series, "base64") : series,
    isDelta: temporality === DELTA,
    startMs,
    endMs,
    failed: attributes.failed,
    route: metric.role === "served" ? attributes.route : undefined,
    peer: metric.role === "called" ? attributes.peer : undefined,
    measured: { count, sum: sum * metric.unitSeconds, buckets },
  };
}

function inSeconds(buckets: WrittenBuckets, unitSeconds: number): Distribution["buckets"] | undefined {
  const { counts } = buckets;
  if (counts.length > MAX_BUCKETS || counts.some((count) => !(count >= 0))) return undefined;
  if (buckets.kind === "exponential") {
    const { offset, scale, zeroCount } = buckets;
    const isPossible = Number.isInteger(scale) && scale >= LEAST_SCALE && scale <= MOST_SCALE;
    return isPossible && Number.isInteger(offset) && zeroCount >= 0 ? { ...buckets, unitSeconds } : undefined;
  }
  const bounds = buckets.bounds.map((bound) => bound * unitSeconds);
  const isRising = bounds.every((bound, index) => bound > (bounds[index - 1] ?? -Infinity));
  const hasAll = counts.length === bounds.length + 1 || (counts.length === 0 && bounds.length === 0);
  return isRising && hasAll && bounds.every(Number.isFinite)
    ? { kind: "explicit", bounds, counts }
    : undefined;
}
