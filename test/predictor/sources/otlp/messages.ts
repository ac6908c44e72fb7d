import protobuf from "protobufjs/minimal.js";
import { SPAN_KIND, SpanBatch } from "../../../../predictor/window/span.ts";

/** A span for the wire; times in ms since the epoch. */
export interface WireSpan {
  readonly traceId?: string;
  readonly spanId?: string;
  readonly parentId?: string;
  readonly traceState?: string;
  readonly name?: string;
  readonly kind?: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly statusCode?: number;
  readonly attributes?: Readonly<Record<string, WireValue>>;
}

/** A text, a whole number or a list of texts. */
export type WireValue = string | number | readonly string[];

export const NOW_MS = 1_800_000_000_000;

export const aSpan = (more: Partial<WireSpan> = {}): WireSpan => ({
  traceId: "0102030405060708090a0b0c0d0e0f10",
  spanId: "a1a2a3a4a5a6a7a8",
  name: "GET /hotels",
  kind: SPAN_KIND.server,
  startMs: NOW_MS,
  endMs: NOW_MS + 25,
  ...more,
});

export const tag = (field: number, wireType: number): number => (field << 3) | wireType;

/** `ExportTraceServiceRequest` on the wire. */
export function protobufRequest(
  spans: readonly WireSpan[],
  resource: Readonly<Record<string, string>> = { "service.name": "frontend" },
): Uint8Array {
  const writer = protobuf.Writer.create();
  writer.uint32(tag(1, 2)).fork().uint32(tag(1, 2)).fork();
  writeAttributes(writer, 1, resource);
  writer.ldelim().uint32(tag(2, 2)).fork();
  writer.uint32(tag(1, 2)).fork().uint32(tag(1, 2)).string("scope").ldelim();
  for (const span of spans) writeSpan(writer, span);
  return writer.ldelim().ldelim().finish();
}

function writeSpan(writer: protobuf.Writer, span: WireSpan): void {
  writer.uint32(tag(2, 2)).fork();
  writer.uint32(tag(1, 2)).bytes(Buffer.from(span.traceId ?? "", "hex"));
  writer.uint32(tag(2, 2)).bytes(Buffer.from(span.spanId ?? "", "hex"));
  if (span.traceState !== undefined) writer.uint32(tag(3, 2)).string(span.traceState);
  if (span.parentId !== undefined) writer.uint32(tag(4, 2)).bytes(Buffer.from(span.parentId, "hex"));
  writer.uint32(tag(5, 2)).string(span.name ?? "");
  writer.uint32(tag(6, 0)).int32(span.kind ?? 0);
  for (const [field, ms] of [
    [7, span.startMs],
    [8, span.endMs],
  ] as const) {
    const nanos = nanosOf(ms);
    writer
      .uint32(tag(field, 1))
      .fixed32(Number(nanos & 0xffff_ffffn))
      .fixed32(Number(nanos >> 32n));
  }
  writeAttributes(writer, 9, span.attributes ?? {});
  writer
    .uint32(tag(15, 2))
    .fork()
    .uint32(tag(2, 2))
    .string("said")
    .uint32(tag(3, 0))
    .int32(span.statusCode ?? 0)
    .ldelim();
  writer.uint32(tag(16, 5)).fixed32(0x101);
  writer.ldelim();
}

export function writeAttributes(
  writer: protobuf.Writer,
  field: number,
  values: Readonly<Record<string, WireValue>>,
): void {
  for (const [key, value] of Object.entries(values)) {
    writer.uint32(tag(field, 2)).fork().uint32(tag(1, 2)).string(key);
    writer.uint32(tag(2, 2)).fork();
    if (typeof value === "string") writer.uint32(tag(1, 2)).string(value);
    else if (typeof value === "number") writer.uint32(tag(3, 0)).int64(value);
    else {
      writer.uint32(tag(5, 2)).fork();
      for (const each of value) writer.uint32(tag(1, 2)).fork().uint32(tag(1, 2)).string(each).ldelim();
      writer.ldelim();
    }
    writer.ldelim().ldelim();
  }
}

/** The same request in JSON. */
export function jsonRequest(
  spans: readonly WireSpan[],
  resource: Readonly<Record<string, string>> = { "service.name": "frontend" },
): unknown {
  return {
    resourceSpans: [
      {
        resource: { attributes: jsonAttributes(resource) },
        scopeSpans: [
          {
            scope: { name: "scope" },
            spans: spans.map((span) => ({
              traceId: span.traceId,
              spanId: span.spanId,
              ...(span.parentId === undefined ? {} : { parentSpanId: span.parentId }),
              ...(span.traceState === undefined ? {} : { traceState: span.traceState }),
              name: span.name,
              kind: span.kind,
              startTimeUnixNano: String(nanosOf(span.startMs)),
              endTimeUnixNano: String(nanosOf(span.endMs)),
              attributes: jsonAttributes(span.attributes ?? {}),
              status: { code: span.statusCode ?? 0 },
              unknownField: 1,
            })),
          },
        ],
      },
    ],
  };
}

export const jsonAttributes = (values: Readonly<Record<string, WireValue>>): unknown[] =>
  Object.entries(values).map(([key, value]) => ({ key, value: jsonValue(value) }));

function jsonValue(value: WireValue): unknown {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "number") return { intValue: String(value) };
  return { arrayValue: { values: value.map((stringValue) => ({ stringValue })) } };
}

export const nanosOf = (ms: number): bigint => BigInt(Math.round(ms * 1e3)) * 1_000n;

export function emptyBatch(): SpanBatch {
  const batch = new SpanBatch();
  batch.clear(NOW_MS);
  return batch;
}

/** What a batch holds, as plain records. */
export function recordsOf(batch: SpanBatch): Record<string, unknown>[] {
  const hex = (words: Uint32Array, at: number, count: number): string =>
    [...words.subarray(at, at + count)].map((word) => word.toString(16).padStart(8, "0")).join("");
  return Array.from({ length: batch.length }, (_, index) => ({
    traceId: hex(batch.traceId, 4 * index, 4),
    spanId: hex(batch.spanId, 2 * index, 2),
    parentId: hex(batch.parentId, 2 * index, 2),
    startNs: batch.startNs[index],
    durationNs: batch.durationNs[index],
    kind: batch.kind[index],
    error: batch.error[index],
    adjustedCount: batch.adjustedCount[index],
    userAgent: batch.userAgent[index],
    name: batch.names[index],
    resource: batch.resources[batch.resource[index] ?? -1],
  }));
}
