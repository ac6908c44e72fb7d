import { z } from "zod";
import { patternedText } from "@tradewind/core/contract/quantity.ts";
import { conventionalKind } from "../../window/conventions.ts";
import { SPAN_KIND } from "../../window/span.ts";
import type { SpanRecord, SpanResource } from "../../window/span.ts";
import { isAskingKey, tellingAgent } from "../../window/user-agent.ts";
import { ResourceReader } from "../otlp/resource-attributes.ts";
import { spanKind } from "../otlp/span-kind.ts";
import { adjustedCount } from "../otlp/trace-state.ts";
import { hexId } from "../otlp/ids.ts";

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
const Text = z.object({ stringValue: z.string().nullish() });
const Attribute = z.object({
  key: z.string(),
  value: Text.extend({
    intValue: z.union([z.string(), z.number()]).nullish(),
    arrayValue: z.object({ values: z.array(z.unknown()).nullish() }).nullish(),
  }).nullish(),
});
const Span = z.object({
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
    const resource = readResource(part?.resource?.attributes ?? []);
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

function readResource(attributes: readonly unknown[]): SpanResource {
  const reader = new ResourceReader();
  for (const { key, text } of textAttributes(attributes)) if (reader.wants(key)) reader.take(key, text);
  return reader.resource();
}

/** Attributes with what they say, the first text of a list; empty where that is neither text nor number. */
function* textAttributes(attributes: readonly unknown[]): Generator<{ key: string; text: string }> {
  for (const attribute of attributes) {
    const { data } = Attribute.safeParse(attribute);
    if (data === undefined) continue;
    const { arrayValue, intValue, stringValue } = data.value ?? {};
    const first = Text.safeParse(arrayValue?.values?.[0]).data?.stringValue;
    yield { key: data.key, text: String(stringValue ?? intValue ?? first ?? "") };
  }
}

function userAgent(attributes: readonly unknown[]): string | undefined {
  const asking = [...textAttributes(attributes)].filter(({ key }) => isAskingKey(key));
  return tellingAgent(asking.map(({ text }) => text));
}

function readSpan(value: unknown, resource: SpanResource): SpanRecord | undefined {
  const parsed = Span.safeParse(value);
  if (!parsed.success) return undefined;
  const { data } = parsed;
  const traceId = hexId(data.traceId, 16);
  const spanId = hexId(data.spanId, 8);
  if (traceId === undefined || spanId === undefined) return undefined;
  const startNs = BigInt(data.startTimeUnixNano);
  const durationMs = Number(BigInt(data.endTimeUnixNano) - startNs) / 1e6;
  const parentId = hexId(data.parentSpanId, 8);
  const attributes = textAttributes(data.attributes ?? []);
  const kind = conventionalKind(spanKind(data.kind), { durationMs, parentId }, attributes);
  const isRoot = parentId === undefined && kind === SPAN_KIND.server;
  return {
    traceId,
    spanId,
    parentId,
    resource,
    name: data.name ?? "",
    kind,
    startMs: Number(startNs / 1_000n) / 1_000,
    durationMs,
    ...countOf(data.traceState),
    error: data.status?.code === 2 || data.status?.code === "STATUS_CODE_ERROR",
    ...(isRoot && { userAgent: userAgent(data.attributes ?? []) }),
  };
}

/** For how many requests a span stands, where its trace state says so. */
export function countOf(traceState: unknown): Pick<SpanRecord, "adjustedCount"> {
  const count = typeof traceState === "string" ? adjustedCount(traceState) : 0;
  return count > 0 ? { adjustedCount: count } : {};
}
