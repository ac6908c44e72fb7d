import { z } from "zod";
import { parseWith } from "@tradewind/core/config.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import { SPAN_KIND, hexWords } from "../../window/span.ts";
import type { SpanBatch } from "../../window/span.ts";
import { MAX_VALUE_BYTES, ResourceReader } from "./resource-attributes.ts";
import { adjustedCount } from "./trace-state.ts";

/*
 * OTLP/JSON: protobuf's JSON mapping in lowerCamelCase, except that ids are hexadecimal and enums are numbers
 * (opentelemetry-proto, docs/specification.md, "JSON Protobuf Encoding"). Unknown fields are ignored, null is absent.
 */
const list = z.array(z.unknown()).nullish();
const text = z.string().nullish();
/** 64-bit integers are decimal strings; senders that write numbers are understood. */
const nanos = z.union([z.string().regex(/^\d{1,20}$/), z.number().int().nonnegative()]).nullish();

const Request = z.object({ resourceSpans: list });
const ResourceSpans = z.object({ resource: z.object({ attributes: list }).nullish(), scopeSpans: list });
const ScopeSpans = z.object({ spans: list });
const Attribute = z.object({ key: z.string(), value: z.object({ stringValue: text }).nullish() });
const Span = z.object({
  traceId: text,
  spanId: text,
  parentSpanId: text,
  traceState: text,
  name: text,
  kind: z.number().int().nullish(),
  startTimeUnixNano: nanos,
  endTimeUnixNano: nanos,
  status: z.object({ code: z.number().int().nullish() }).nullish(),
});
type Span = z.infer<typeof Span>;

const STATUS_CODE_ERROR = 2;
const NS_PER_MS = 1_000_000n;

/** Reads `ExportTraceServiceRequest` in its JSON form into a batch. */
export class JsonDecoder {
  private readonly resource = new ResourceReader();

  /**
   * Appends the spans of `body` to `batch`, whose epoch is set already. Stops at the first part that is wrong.
   * @throws TradewindError `malformed-otlp` when the text is not such a message; the batch then holds a part of it
   */
  decode(body: Uint8Array, batch: SpanBatch): void {
    let value: unknown;
    try {
      value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
      this.readRequest(value, batch);
    } catch (error) {
      const what = error instanceof TradewindError ? error.message : "not JSON in UTF-8";
      throw new TradewindError("malformed-otlp", `not an ExportTraceServiceRequest: ${what}`, {
        cause: error,
      });
    }
  }

  private readRequest(value: unknown, batch: SpanBatch): void {
    const { resourceSpans } = parseWith(Request, value, "request");
    for (const each of resourceSpans ?? []) {
      const { resource, scopeSpans } = parseWith(ResourceSpans, each, "resourceSpans");
      this.readResource(resource?.attributes ?? []);
      const resourceIndex = batch.resources.length;
      for (const scope of scopeSpans ?? []) {
        for (const span of parseWith(ScopeSpans, scope, "scopeSpans").spans ?? []) {
          this.readSpan(parseWith(Span, span, "span"), batch, resourceIndex);
        }
      }
    }
  }

  private readResource(attributes: readonly unknown[]): void {
    this.resource.clear();
    for (const each of attributes) {
      const { key, value } = parseWith(Attribute, each, "resource attribute");
      if (this.resource.wants(key))
        this.resource.take(key, (value?.stringValue ?? "").slice(0, MAX_VALUE_BYTES));
    }
  }

  private readSpan(span: Span, batch: SpanBatch, resourceIndex: number): void {
    const trace = idWords(span.traceId, 4);
    const id = idWords(span.spanId, 2);
    const parent = span.parentSpanId ? idWords(span.parentSpanId, 2) : [0, 0];
    if (trace === undefined || id === undefined || parent === undefined) {
      batch.invalidIds += 1;
      return;
    }
    if (batch.resources.length === resourceIndex) batch.resources.push(this.resource.resource());
    const index = batch.reserve();
    const startNs = BigInt(span.startTimeUnixNano ?? 0);
    batch.traceId.set(trace, 4 * index);
    batch.spanId.set(id, 2 * index);
    batch.parentId.set(parent, 2 * index);
    batch.startNs[index] = Number(startNs - BigInt(batch.epochMs) * NS_PER_MS);
    batch.durationNs[index] = Number(BigInt(span.endTimeUnixNano ?? 0) - startNs);
    const kind = span.kind ?? 0;
    batch.kind[index] = kind >= 0 && kind <= SPAN_KIND.consumer ? kind : SPAN_KIND.unspecified;
    batch.error[index] = span.status?.code === STATUS_CODE_ERROR ? 1 : 0;
    batch.resource[index] = resourceIndex;
    batch.adjustedCount[index] = span.traceState ? adjustedCount(span.traceState) : 0;
    batch.names[index] = span.name ?? "";
  }
}

function idWords(hex: string | null | undefined, words: number): number[] | undefined {
  try {
    return hexWords(hex ?? "", words);
  } catch {
    return undefined;
  }
}
