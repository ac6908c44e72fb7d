import { conventionalKind } from "../../window/conventions.ts";
import { SPAN_KIND } from "../../window/span.ts";
import type { SpanKind, SpanRecord, SpanResource } from "../../window/span.ts";
import { isAskingKey, tellingAgent } from "../../window/user-agent.ts";
import { MAX_VALUE_BYTES, ResourceReader } from "./resource-attributes.ts";
import { adjustedCount } from "./trace-state.ts";

/** OTLP's JSON form, as senders and trace stores write it: a field has protobuf's JSON name or the name in its files. */
export type JsonFields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is JsonFields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The names in protobuf's files of the fields that are read of a span. */
const FILE_NAMES = {
  traceId: "trace_id",
  spanId: "span_id",
  parentSpanId: "parent_span_id",
  traceState: "trace_state",
  startTimeUnixNano: "start_time_unix_nano",
  endTimeUnixNano: "end_time_unix_nano",
} as const;

/** A field by either of its names; undefined where it is absent or null. */
export const fieldOf = (of: JsonFields, name: keyof typeof FILE_NAMES): unknown =>
  of[name] ?? of[FILE_NAMES[name]] ?? undefined;

const stringOf = (value: unknown): unknown =>
  isFields(value) ? (value["stringValue"] ?? value["string_value"]) : undefined;

/** Text or number, the first text of a list; empty where a value is none of these. */
function textOf(value: unknown): string {
  if (!isFields(value)) return "";
  const list = isFields(value["arrayValue"]) ? value["arrayValue"]["values"] : undefined;
  const text = stringOf(value) ?? value["intValue"] ?? (Array.isArray(list) ? stringOf(list[0]) : undefined);
  return typeof text === "string" || typeof text === "number" ? String(text) : "";
}

function* textAttributes(attributes: unknown): Generator<{ readonly key: string; readonly text: string }> {
  for (const attribute of Array.isArray(attributes) ? attributes : []) {
    if (!isFields(attribute)) continue;
    const { key } = attribute;
    if (typeof key === "string") yield { key, text: textOf(attribute["value"]) };
  }
}

export function readResource(attributes: unknown): SpanResource {
  const reader = new ResourceReader();
  for (const { key, text } of textAttributes(attributes))
    if (reader.wants(key)) reader.take(key, text.slice(0, MAX_VALUE_BYTES));
  return reader.resource();
}

/** What tells a span from others, and when it was. */
export type SpanPlace = Pick<
  SpanRecord,
  "durationMs" | "parentId" | "resource" | "spanId" | "startMs" | "traceId"
>;

/** A span with what it says besides. */
export function spanOf(place: SpanPlace, sentKind: SpanKind, said: JsonFields): SpanRecord {
  const attributes = said["attributes"];
  const kind = conventionalKind(sentKind, place, textAttributes(attributes));
  const mayServe = kind === SPAN_KIND.server || kind === SPAN_KIND.unspecified;
  const isRoot = place.parentId === undefined && mayServe;
  const { name } = said;
  return {
    ...place,
    name: typeof name === "string" ? name.slice(0, MAX_VALUE_BYTES) : "",
    kind,
    ...countOf(fieldOf(said, "traceState")),
    ...(isRoot && { userAgent: userAgent(attributes) }),
  };
}

function userAgent(attributes: unknown): string | undefined {
  const asking = [...textAttributes(attributes)].filter(({ key }) => isAskingKey(key));
  return tellingAgent(asking.map(({ text }) => text));
}

/** For how many requests a span stands, where its trace state says so. */
export function countOf(traceState: unknown): Pick<SpanRecord, "adjustedCount"> {
  const count = typeof traceState === "string" ? adjustedCount(traceState) : 0;
  return count > 0 ? { adjustedCount: count } : {};
}
