import { isUtf8 } from "node:buffer";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { printable } from "@tradewind/core/values/printable.ts";
import { SPAN_KIND, sentKind } from "../../window/span.ts";
import type { SpanBatch, SpanResource } from "../../window/span.ts";
import { JsonScanner } from "./json-scanner.ts";
import { fieldOf, isFields, readResource, spanOf } from "./json-span.ts";
import { DEFAULT_RECEIVER_LIMITS } from "./limits.ts";
import { BYTES_PER_PAUSE, PartCount } from "./part-count.ts";
import type { PartLimits } from "./part-count.ts";
import type { SpanDecoder } from "./span-decoder.ts";

const STATUS_CODE_ERROR = 2;
const NS_PER_MS = 1e6;
const MS_DIGITS = 6;
/** Of an unsigned 64-bit integer. */
const MAX_TIME_NS = 2 ** 64;
const WHOLE_TIME = /^\d{1,20}$/;
/** Of a number with a fraction or an exponent. */
const ANY_TIME = /^[0-9.eE+]{1,40}$/;
const TRACE_ID = /^[0-9a-fA-F]{32}$/;
const SPAN_ID = /^[0-9a-fA-F]{16}$/;
const NO_PARENT = /^0*$/;

/** Lists around the spans, by protobuf's JSON name, by the name in its files, and as scopes were called before version 0.15. */
const LISTS = new Map([
  ["resourceSpans", "resourceSpans"],
  ["resource_spans", "resourceSpans"],
  ["scopeSpans", "scopeSpans"],
  ["scope_spans", "scopeSpans"],
  ["instrumentationLibrarySpans", "scopeSpans"],
  ["instrumentation_library_spans", "scopeSpans"],
]);
/** Fields around the spans that are passed over knowingly. */
const PASSED_OVER = new Set([
  "schemaUrl",
  "schema_url",
  "scope",
  "instrumentationLibrary",
  "instrumentation_library",
]);

const KINDS = new Map<string, number>(
  Object.entries(SPAN_KIND).map(([name, kind]) => [`SPAN_KIND_${name.toUpperCase()}`, kind]),
);
const STATUS_CODES = new Map([
  ["STATUS_CODE_UNSET", 0],
  ["STATUS_CODE_OK", 1],
  ["STATUS_CODE_ERROR", STATUS_CODE_ERROR],
]);

/** What a sender is told of. */
const MOST_NOT_UNDERSTOOD = 5;

/**
 * Reads `ExportTraceServiceRequest` in its JSON form into a batch: protobuf's JSON mapping, except that ids are hexadecimal
 * (opentelemetry-proto, docs/specification.md, "JSON Protobuf Encoding"). As the Collector does it takes enums by number or
 * name, times as text or number, and fields by either of their names. Unknown fields are passed over, null is absent. Of the
 * body only one span or resource at a time is built, once its parts are counted.
 */
export class JsonDecoder implements SpanDecoder {
  private readonly json: JsonScanner;
  private readonly count: PartCount;
  private pauseAt = 0;
  /** What stood where spans are looked for and is none of it; a sender is to know. */
  readonly notUnderstood = new Set<string>();

  constructor(limits: PartLimits = DEFAULT_RECEIVER_LIMITS) {
    this.count = new PartCount(limits);
    this.json = new JsonScanner(() => this.count.skipped(), "an ExportTraceServiceRequest");
  }

  /** As {@link steps}, in one go. */
  decode(body: Uint8Array, batch: SpanBatch): void {
    const steps = this.steps(body, batch);
    while (steps.next().done !== true);
  }

  /**
   * Appends the spans of `body` to `batch`, whose epoch is set already, and yields now and then so that the caller may let
   * others work. Stops at the first part that is wrong.
   * @throws TradewindError `malformed-otlp` when the text is not such a message, or `too-many-spans`; the batch then holds a
   *   part of it
   */
  *steps(body: Uint8Array, batch: SpanBatch): Generator<void> {
    const { json } = this;
    if (!isUtf8(body))
      throw new TradewindError("malformed-otlp", "not an ExportTraceServiceRequest: not in UTF-8");
    this.count.clear();
    this.notUnderstood.clear();
    this.pauseAt = BYTES_PER_PAUSE;
    try {
      json.open(body);
      for (let more = json.enterObject(); more; more = json.nextMember()) {
        if (LISTS.get(json.key) !== "resourceSpans") this.passOver();
        else
          for (let next = json.enterList(); next; next = json.nextElement())
            yield* this.readResourceSpans(batch);
      }
      json.expectEnd();
    } finally {
      json.release();
    }
  }

  /** The resource may come after its spans: they refer to an object that is filled at the end. */
  private *readResourceSpans(batch: SpanBatch): Generator<void> {
    const { json } = this;
    this.count.part();
    if (this.isPauseDue()) yield;
    const resource: SpanResource = { service: "" };
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      const { key } = json;
      if (key === "resource") {
        this.readResource(resource);
      } else if (LISTS.get(key) === "scopeSpans") {
        for (let next = json.enterList(); next; next = json.nextElement()) {
          this.count.part();
          if (this.isPauseDue()) yield;
          yield* this.readScopeSpans(batch, resource);
        }
      } else {
        this.passOver();
      }
    }
  }

  private readResource(into: SpanResource): void {
    const value = this.json.value();
    const attributes = isFields(value) ? value["attributes"] : undefined;
    if (!Array.isArray(attributes)) return;
    for (const _ of attributes) this.count.part();
    Object.assign(into, readResource(attributes));
  }

  private *readScopeSpans(batch: SpanBatch, resource: SpanResource): Generator<void> {
    const { json } = this;
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      if (json.key !== "spans") {
        this.passOver();
        continue;
      }
      for (let next = json.enterList(); next; next = json.nextElement()) {
        this.count.span();
        if (this.isPauseDue()) yield;
        this.readSpan(batch, resource);
      }
    }
  }

  private readSpan(batch: SpanBatch, resource: SpanResource): void {
    const span = this.json.value() ?? {};
    if (!isFields(span)) this.json.fail("a span is expected");
    const startNs = this.nanoseconds(fieldOf(span, "startTimeUnixNano"), batch.epochMs);
    const durationNs = this.nanoseconds(fieldOf(span, "endTimeUnixNano"), batch.epochMs) - startNs;
    const traceId = fieldOf(span, "traceId");
    const spanId = fieldOf(span, "spanId");
    const parentId = fieldOf(span, "parentSpanId") ?? "";
    const isIdentified = isId(traceId, TRACE_ID) && isId(spanId, SPAN_ID);
    if (!isIdentified || !(parentId === "" || isId(parentId, SPAN_ID))) {
      batch.invalidIds += 1;
      return;
    }
    const place = {
      traceId,
      spanId,
      parentId: NO_PARENT.test(parentId) ? undefined : parentId,
      resource,
      startMs: batch.epochMs + startNs / NS_PER_MS,
      durationMs: durationNs / NS_PER_MS,
    };
    const record = spanOf(place, sentKind(this.enumOf(span["kind"], KINDS)), span);
    const status = span["status"];
    const code = isFields(status) ? this.enumOf(status["code"], STATUS_CODES) : 0;
    batch.add({ ...record, error: code === STATUS_CODE_ERROR });
    // As exact as they were sent: a record counts in milliseconds.
    batch.startNs[batch.length - 1] = startNs;
    batch.durationNs[batch.length - 1] = durationNs;
  }

  /** The value of an enum by number or by name; 0 where it is neither. */
  private enumOf(value: unknown, names: ReadonlyMap<string, number>): number {
    if (typeof value !== "string") return Number.isInteger(value) ? (value as number) : 0;
    const named = names.get(value) ?? Number(value);
    if (Number.isInteger(named)) return named;
    this.note(value);
    return 0;
  }

  /**
   * Nanoseconds since `epochMs`. Milliseconds and the rest are read apart, since neither loses digits as a number. A time that is
   * written as a number, or with a fraction or an exponent, is as exact as a number is: 256 ns.
   */
  private nanoseconds(time: unknown, epochMs: number): number {
    if (time !== undefined && typeof time !== "string" && typeof time !== "number")
      this.json.fail("a time in nanoseconds is expected");
    const text = Number.isInteger(time) ? BigInt(time as number).toString() : String(time ?? 0);
    if (WHOLE_TIME.test(text)) {
      const split = Math.max(0, text.length - MS_DIGITS);
      return (Number(text.slice(0, split)) - epochMs) * NS_PER_MS + Number(text.slice(split));
    }
    const value = ANY_TIME.test(text) ? Number(text) : Number.NaN;
    if (!(value >= 0 && value < MAX_TIME_NS)) this.json.fail("a time in nanoseconds is expected");
    return value - epochMs * NS_PER_MS;
  }

  /** Passes over the value of the field whose key was read last, and takes note of it. */
  private passOver(): void {
    const { key } = this.json;
    if (!PASSED_OVER.has(key)) this.note(key === "" ? "a long name" : key);
    this.json.skip();
  }

  private note(what: string): void {
    if (this.notUnderstood.size < MOST_NOT_UNDERSTOOD) this.notUnderstood.add(printable(what));
  }

  private isPauseDue(): boolean {
    if (this.json.at < this.pauseAt) return false;
    this.pauseAt = this.json.at + BYTES_PER_PAUSE;
    return true;
  }
}

const isId = (value: unknown, form: RegExp): value is string => typeof value === "string" && form.test(value);
