import protobuf from "protobufjs/minimal.js";
import { jsonAttributes, nanosOf, tag, writeAttributes } from "../messages.ts";

/** One point of a histogram for the wire; times in ms since the epoch. */
export interface WirePoint {
  readonly startMs: number;
  readonly endMs: number;
  readonly count: number;
  readonly sum: number;
  readonly attributes?: Readonly<Record<string, number | string>>;
  readonly explicit?: { readonly bounds: readonly number[]; readonly counts: readonly number[] };
  readonly exponential?: {
    readonly scale: number;
    readonly zeroCount: number;
    readonly offset: number;
    readonly counts: readonly number[];
  };
}

export interface WireMetric {
  readonly name: string;
  readonly unit?: string;
  readonly temporality: "cumulative" | "delta";
  readonly points: readonly WirePoint[];
}

type Resource = Readonly<Record<string, string>>;

const TEMPORALITY = { delta: 1, cumulative: 2 } as const;

/** `ExportMetricsServiceRequest` on the wire, with a gauge beside the histograms. */
export function metricsProtobuf(metrics: readonly WireMetric[], resource: Resource): Uint8Array {
  const writer = protobuf.Writer.create();
  writer.uint32(tag(1, 2)).fork().uint32(tag(1, 2)).fork();
  writeAttributes(writer, 1, resource);
  writer.ldelim().uint32(tag(2, 2)).fork();
  writer.uint32(tag(2, 2)).fork().uint32(tag(1, 2)).string("process.memory").ldelim();
  for (const metric of metrics) {
    writer
      .uint32(tag(2, 2))
      .fork()
      .uint32(tag(1, 2))
      .string(metric.name)
      .uint32(tag(2, 2))
      .string("what it is");
    writer.uint32(tag(3, 2)).string(metric.unit ?? "");
    const isExponential = metric.points[0]?.exponential !== undefined;
    writer.uint32(tag(isExponential ? 10 : 9, 2)).fork();
    for (const point of metric.points) writePoint(writer, point);
    writer.uint32(tag(2, 0)).int32(TEMPORALITY[metric.temporality]).ldelim().ldelim();
  }
  return writer.ldelim().ldelim().finish();
}

function writePoint(writer: protobuf.Writer, point: WirePoint): void {
  const { attributes = {}, count, endMs, explicit, exponential, startMs, sum } = point;
  writer.uint32(tag(1, 2)).fork();
  writeAttributes(writer, exponential === undefined ? 9 : 1, attributes);
  writeFixed(writer, 2, nanosOf(startMs));
  writeFixed(writer, 3, nanosOf(endMs));
  writeFixed(writer, 4, BigInt(count));
  writer.uint32(tag(5, 1)).double(sum);
  if (explicit !== undefined) {
    writer.uint32(tag(6, 2)).uint32(8 * explicit.counts.length);
    for (const each of explicit.counts) writer.fixed64(each);
    writer.uint32(tag(7, 2)).uint32(8 * explicit.bounds.length);
    for (const bound of explicit.bounds) writer.double(bound);
  }
  if (exponential !== undefined) {
    writer.uint32(tag(6, 0)).sint32(exponential.scale);
    writeFixed(writer, 7, BigInt(exponential.zeroCount));
    writer.uint32(tag(8, 2)).fork().uint32(tag(1, 0)).sint32(exponential.offset).uint32(tag(2, 2)).fork();
    for (const each of exponential.counts) writer.uint64(each);
    writer.ldelim().ldelim();
  }
  writer.ldelim();
}

function writeFixed(writer: protobuf.Writer, field: number, value: bigint): void {
  writer
    .uint32(tag(field, 1))
    .fixed32(Number(value & 0xffff_ffffn))
    .fixed32(Number(value >> 32n));
}

/** The same request in JSON. */
export function metricsJson(metrics: readonly WireMetric[], resource: Resource): unknown {
  return {
    resourceMetrics: [
      {
        resource: { attributes: jsonAttributes(resource) },
        scopeMetrics: [
          {
            metrics: [
              { name: "process.memory", gauge: { dataPoints: [] } },
              ...metrics.map(({ name, points, temporality, unit }) => {
                const isExponential = points[0]?.exponential !== undefined;
                const histogram = {
                  dataPoints: points.map(jsonPoint),
                  aggregationTemporality: TEMPORALITY[temporality],
                };
                return { name, unit, [isExponential ? "exponentialHistogram" : "histogram"]: histogram };
              }),
            ],
          },
        ],
      },
    ],
  };
}

function jsonPoint({
  attributes = {},
  count,
  endMs,
  explicit,
  exponential,
  startMs,
  sum,
}: WirePoint): unknown {
  return {
    attributes: jsonAttributes(attributes),
    startTimeUnixNano: String(nanosOf(startMs)),
    timeUnixNano: String(nanosOf(endMs)),
    count: String(count),
    sum,
    ...(explicit && { bucketCounts: explicit.counts.map(String), explicitBounds: explicit.bounds }),
    ...(exponential && {
      scale: exponential.scale,
      zeroCount: String(exponential.zeroCount),
      positive: { offset: exponential.offset, bucketCounts: exponential.counts.map(String) },
    }),
  };
}
