import { z } from "zod";
import type { SpanRecord, SpanResource } from "../../window/span.ts";
import { conventionalKind } from "../../window/conventions.ts";
import { ASKING_KEYS, tellingAgent } from "../../window/user-agent.ts";
import { ResourceReader } from "../otlp/resource-attributes.ts";
import { hexId } from "../otlp/ids.ts";
import { spanKind } from "../otlp/span-kind.ts";
import { countOf } from "../otlp/json-span.ts";

const Tag = z.object({ key: z.string(), value: z.unknown().optional() });

/**
 * Jaeger's JSON model. Times and durations are microseconds. A reference may carry the whole span it points to, which
 * carries its own reference, and so on up to the root: only the ids of the first level are read.
 */
const Reference = z.object({ refType: z.string(), traceID: z.unknown(), spanID: z.unknown() });
const Span = z.object({
  traceID: z.unknown(),
  spanID: z.unknown(),
  /** Older than `references`. */
  parentSpanID: z.unknown().optional(),
  operationName: z.string(),
  references: z.array(Reference).nullish(),
  startTime: z.number().int().nonnegative(),
  duration: z.number().int().nonnegative(),
  tags: z.array(Tag).nullish(),
  processID: z.string(),
});
const Process = z.object({ serviceName: z.string(), tags: z.array(Tag).nullish() });
export const JaegerTrace = z.object({
  traceID: z.string(),
  spans: z.array(z.unknown()),
  processes: z.record(z.string(), z.unknown()),
});
export type JaegerTrace = z.infer<typeof JaegerTrace>;

export const JaegerAnswer = z.object({
  data: z.array(z.unknown()).nullable(),
  errors: z.array(z.looseObject({ msg: z.string().optional() })).nullish(),
});

/** Spans of one trace; what cannot be understood is left out and counted. */
export function readJaegerTrace(trace: JaegerTrace): { spans: SpanRecord[]; leftOut: number } {
  const resources = new Map<string, SpanResource>();
  for (const [id, each] of Object.entries(trace.processes)) {
    const parsed = Process.safeParse(each);
    if (parsed.success) resources.set(id, resourceOf(parsed.data));
  }
  const spans: SpanRecord[] = [];
  for (const each of trace.spans) {
    const span = readSpan(each, resources);
    if (span !== undefined) spans.push(span);
  }
  return { spans, leftOut: trace.spans.length - spans.length };
}

/** Without an instance by OpenTelemetry's names it is the host, which is all that Jaeger's own clients send. */
function resourceOf({ serviceName, tags }: z.infer<typeof Process>): SpanResource {
  const reader = new ResourceReader();
  for (const { key, value } of tags ?? []) {
    if (reader.wants(key) && typeof value === "string") reader.take(key, value);
  }
  const host = tag(tags, "hostname") ?? tag(tags, "host.name");
  return {
    ...(typeof host === "string" && host !== "" && { instance: host, host }),
    ...reader.resource(),
    service: serviceName,
  };
}

function readSpan(value: unknown, resources: ReadonlyMap<string, SpanResource>): SpanRecord | undefined {
  const parsed = Span.safeParse(value);
  if (!parsed.success) return undefined;
  const { traceID, spanID, references, parentSpanID, operationName, startTime, duration, tags, processID } =
    parsed.data;
  const traceId = hexId(traceID, 16);
  const spanId = hexId(spanID, 8);
  const resource = resources.get(processID);
  if (traceId === undefined || spanId === undefined || resource === undefined) return undefined;
  const error = tag(tags, "error");
  const parentId = parentOf(references ?? [], traceId) ?? hexId(parentSpanID, 8);
  const durationMs = duration / 1_000;
  const userAgent = tellingAgent(ASKING_KEYS.map((key) => tag(tags, key)));
  return {
    traceId,
    spanId,
    parentId,
    resource,
    name: operationName,
    kind: conventionalKind(spanKind(tag(tags, "span.kind")), { durationMs, parentId }, textTags(tags)),
    startMs: startTime / 1_000,
    durationMs,
    error: error === true || error === "true" || tag(tags, "otel.status_code") === "ERROR",
    userAgent,
    ...countOf(tag(tags, "w3c.tracestate")),
  };
}

/** The parent within the same trace; a child of it goes before a follower. */
function parentOf(references: readonly z.infer<typeof Reference>[], traceId: string): string | undefined {
  const inside = references.filter((reference) => hexId(reference.traceID, 16) === traceId);
  const parent = inside.find(({ refType }) => refType === "CHILD_OF") ?? inside[0];
  return hexId(parent?.spanID, 8);
}

function* textTags(
  tags: readonly z.infer<typeof Tag>[] | null | undefined,
): Generator<{ key: string; text: string }> {
  for (const { key, value } of tags ?? []) {
    if (typeof value === "string" || typeof value === "number") yield { key, text: String(value) };
  }
}

function tag(tags: readonly z.infer<typeof Tag>[] | null | undefined, key: string): unknown {
  return tags?.find((each) => each.key === key)?.value;
}
