import { z } from "zod";
import { patternedText } from "@tradewind/core/contract/quantity.ts";
import type { SpanRecord, SpanResource } from "../../window/span.ts";
import { hexId } from "../otlp/ids.ts";
import { readResource, spanOf } from "../otlp/json-span.ts";
import { spanKind } from "../otlp/span-kind.ts";

/*
 * OTLP as trace stores give it back: protobuf's own JSON form, with enums by name or number, ids in base64 or
 * hexadecimal, and `batches` or `instrumentationLibrarySpans` for what newer versions call `resourceSpans` and
 * `scopeSpans` (Tempo HTTP API; Jaeger api_v3).
 */
const list = z.array(z.unknown()).nullish();
const nanos = z.union([patternedText(20, /^\d+$/), z.number().int().nonnegative()]);

const Traces = z.object({ resourceSpans: list, batches: list });
const ResourceSpans = z.object({
  resource: z.object({ attributes: list }).nullish(),
  scopeSpans: list,
  instrumentationLibrarySpans: list,
});
const ScopeSpans = z.object({ spans: list });
const Span = z.looseObject({
  traceId: z.unknown(),
  spanId: z.unknown(),
  parentSpanId: z.unknown().optional(),
  name: z.string().nullish(),
  kind: z.union([z.string(), z.number()]).nullish(),
  startTimeUnixNano: nanos,
  endTimeUnixNano: nanos,
  attributes: list,
  traceState: z.string().nullish(),
  status: z.object({ code: z.union([z.string(), z.number()]).nullish() }).nullish(),
});

export interface ReadSpans {
  readonly spans: readonly SpanRecord[];
  /** Parts that could not be understood. */
  readonly leftOut: number;
}

/** Spans of an answer that holds traces; what cannot be understood is left out and counted. */
export function readStoredOtlp(value: unknown): ReadSpans {
  const spans: SpanRecord[] = [];
  let leftOut = 0;
  const parse = <Schema extends z.ZodType>(schema: Schema, part: unknown): z.output<Schema> | undefined => {
    const parsed = schema.safeParse(part);
    if (!parsed.success) leftOut += 1;
    return parsed.data;
  };
  const traces = parse(Traces, value);
  for (const each of [...(traces?.resourceSpans ?? []), ...(traces?.batches ?? [])]) {
    const part = parse(ResourceSpans, each);
    const resource = readResource(part?.resource?.attributes);
    for (const scope of [...(part?.scopeSpans ?? []), ...(part?.instrumentationLibrarySpans ?? [])]) {
      for (const span of parse(ScopeSpans, scope)?.spans ?? []) {
        const record = readSpan(span, resource);
        if (record === undefined) leftOut += 1;
        else spans.push(record);
      }
    }
  }
  return { spans, leftOut };
}

function readSpan(value: unknown, resource: SpanResource): SpanRecord | undefined {
  const { data } = Span.safeParse(value);
  const traceId = hexId(data?.traceId, 16);
  const spanId = hexId(data?.spanId, 8);
  if (data === undefined || traceId === undefined || spanId === undefined) return undefined;
  const startNs = BigInt(data.startTimeUnixNano);
  const place = {
    traceId,
    spanId,
    parentId: hexId(data.parentSpanId, 8),
    resource,
    startMs: Number(startNs / 1_000n) / 1_000,
    durationMs: Number(BigInt(data.endTimeUnixNano) - startNs) / 1e6,
  };
  const error = data.status?.code === 2 || data.status?.code === "STATUS_CODE_ERROR";
  return { ...spanOf(place, spanKind(data.kind), data), error };
}
