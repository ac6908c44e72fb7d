import { SPAN_KIND } from "../../window/span.ts";
import type { SpanKind } from "../../window/span.ts";

const KIND_BY_NAME = new Map<string, SpanKind>(Object.entries(SPAN_KIND));

/** A span kind by number, by name (`SPAN_KIND_SERVER`) or as OpenTracing wrote it (`server`). */
export function spanKind(kind: unknown): SpanKind {
  if (typeof kind === "number") {
    return Object.values(SPAN_KIND).find((known) => known === kind) ?? SPAN_KIND.unspecified;
  }
  if (typeof kind !== "string") return SPAN_KIND.unspecified;
  return KIND_BY_NAME.get(kind.replace(/^SPAN_KIND_/, "").toLowerCase()) ?? SPAN_KIND.unspecified;
}
