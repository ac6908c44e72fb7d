import { isUtf8 } from "node:buffer";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { printable } from "@tradewind/core/values/printable.ts";
import {
  CONVENTION_VALUE_BYTES,
  MAX_CONVENTION_KEY_BYTES,
  TRIGGER_KEY,
  mayBeTold,
  toldKind,
} from "../../window/conventions.ts";
import { isZero, sentKind, SPAN_KIND } from "../../window/span.ts";
import type { SpanBatch, SpanResource } from "../../window/span.ts";
import { USER_AGENT, isAskingKey, userAgentOf } from "../../window/user-agent.ts";
import { JsonScanner, MAX_NUMBER_BYTES } from "./json-scanner.ts";
import { DEFAULT_RECEIVER_LIMITS } from "./limits.ts";
import { BYTES_PER_PAUSE, PartCount } from "./part-count.ts";
import type { PartLimits } from "./part-count.ts";
import { MAX_VALUE_BYTES, ResourceReader } from "./resource-attributes.ts";
import { adjustedCount, MAX_TRACE_STATE } from "./trace-state.ts";

const STATUS_CODE_ERROR = 2;
const NS_PER_MS = 1e6;
const MS_DIGITS = 6;
/** Longer keys are none of ours. */
const MAX_KEY_BYTES = 32;
/** Of an unsigned 64-bit integer. */
const MAX_TIME_NS = 2 ** 64;

/** The fields that are read, by protobuf's JSON name and by the name in its files, which the Collector takes alike. */
const FIELDS = new Map<string, string>(
  [
    "resourceSpans",
    "scopeSpans",
    "parentSpanId",
    "traceId",
    "spanId",
    "traceState",
    "startTimeUnixNano",
    "endTimeUnixNano",
    "stringValue",
    "schemaUrl",
    "instrumentationLibrary",
  ].flatMap((name) => [
    [name, name],
    [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), name],
  ]),
);
// What scopes were called before version 0.15 of the protocol.
for (const name of ["instrumentationLibrarySpans", "instrumentation_library_spans"])
  FIELDS.set(name, "scopeSpans");

const KINDS = new Map<string, number>(
  Object.entries(SPAN_KIND).map(([name, kind]) => [`SPAN_KIND_${name.toUpperCase()}`, kind]),
);
const STATUS_CODES = new Map([
  ["STATUS_CODE_UNSET", 0],
  ["STATUS_CODE_OK", 1],
  ["STATUS_CODE_ERROR", STATUS_CODE_ERROR],
]);

/** Fields around the spans that are passed over knowingly. */
const PASSED_OVER = new Set(["schemaUrl", "scope", "instrumentationLibrary"]);
/** What a sender is told of. */
const MOST_NOT_UNDERSTOOD = 5;

/**
 * Reads `ExportTraceServiceRequest` in its JSON form into a batch: protobuf's JSON mapping, except that ids are hexadecimal
 * (opentelemetry-proto, docs/specification.md, "JSON Protobuf Encoding"). As the Collector does it takes enums by number or
 * name, times as text or number, and fields by either of their names. Unknown fields are passed over, null is absent. Nothing
 * is built but the batch.
 */
export class JsonDecoder {
  private readonly json: JsonScanner;
  private readonly resource = new ResourceReader();
  private readonly count: PartCount;
  private pauseAt = 0;
  /** What stood where spans are looked for and is none of it; a sender is to know. */
  readonly notUnderstood = new Set<string>();

  private readonly trace = new Uint32Array(4);
  private readonly id = new Uint32Array(2);
  private readonly parent = new Uint32Array(2);
  private hasTrace = false;
  private hasId = false;
  private hasParent = true;
  private name = "";
  private kind = 0;
  private error = 0;
  private userAgent = 0;
  private adjusted = 0;
  private startNs = 0;
  private endNs = 0;

  constructor(limits: PartLimits = DEFAULT_RECEIVER_LIMITS) {
    this.count = new PartCount(limits);
    this.json = new JsonScanner(() => this.count.skipped(), "an ExportTraceServiceRequest", FIELDS);
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
    if (!isUtf8(body))
      throw new TradewindError("malformed-otlp", "not an ExportTraceServiceRequest: not in UTF-8");
    this.count.clear();
    this.notUnderstood.clear();
    this.pauseAt = BYTES_PER_PAUSE;
    try {
      this.json.open(body);
      yield* this.readRequest(batch);
      this.json.expectEnd();
    } finally {
      this.json.release();
    }
  }

  private *readRequest(batch: SpanBatch): Generator<void> {
    const { json } = this;
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      if (this.key() === "resourceSpans") {
        for (let next = json.enterList(); next; next = json.nextElement())
          yield* this.readResourceSpans(batch);
      } else {
        this.passOver();
      }
    }
  }

  /** The resource may come after its spans: they refer to an object that is filled at the end. */
  private *readResourceSpans(batch: SpanBatch): Generator<void> {
    const { json } = this;
    this.count.part();
    if (this.isPauseDue()) yield;
    const resource: SpanResource = { service: "" };
    const resourceIndex = batch.resources.length;
    this.resource.clear();
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      const key = this.key();
      if (key === "resource") {
        yield* this.readResource();
      } else if (key === "scopeSpans") {
        for (let next = json.enterList(); next; next = json.nextElement()) {
          this.count.part();
          if (this.isPauseDue()) yield;
          yield* this.readScopeSpans(batch, resource, resourceIndex);
        }
      } else {
        this.passOver();
      }
    }
    Object.assign(resource, this.resource.resource());
  }

  private *readResource(): Generator<void> {
    const { json } = this;
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      if (this.key() === "attributes") {
        for (let next = json.enterList(); next; next = json.nextElement()) {
          this.count.part();
          if (this.isPauseDue()) yield;
          this.readAttribute();
        }
      } else {
        json.skip();
      }
    }
  }

  private readAttribute(): void {
    const { json } = this;
    let key = "";
    let value = "";
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      const field = this.key();
      if (field === "key") key = json.readString() ? this.key() : "";
      else if (field === "value") value = this.readStringValue(MAX_VALUE_BYTES);
      else json.skip();
    }
    if (this.resource.wants(key)) this.resource.take(key, value);
  }

  /** An `AnyValue` that is a string, at most `maxBytes` of it; empty when it is something else. */
  private readStringValue(maxBytes: number): string {
    const { json } = this;
    let value = "";
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      if (this.key() !== "stringValue") json.skip();
      else if (json.readString()) value = json.text(maxBytes);
    }
    return value;
  }

  private *readScopeSpans(batch: SpanBatch, resource: SpanResource, resourceIndex: number): Generator<void> {
    const { json } = this;
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      if (this.key() !== "spans") {
        this.passOver();
        continue;
      }
      for (let next = json.enterList(); next; next = json.nextElement()) {
        this.count.span();
        if (this.isPauseDue()) yield;
        this.readSpan(batch.epochMs);
        if (!this.hasTrace || !this.hasId || !this.hasParent) {
          batch.invalidIds += 1;
          continue;
        }
        if (batch.resources.length === resourceIndex) batch.resources.push(resource);
        this.append(batch, resourceIndex);
      }
    }
  }

  private readSpan(epochMs: number): void {
    const { json } = this;
    this.clearSpan(epochMs);
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      switch (this.key()) {
        case "traceId":
          this.hasTrace = json.readString() && this.takeId(this.trace);
          break;
        case "spanId":
          this.hasId = json.readString() && this.takeId(this.id);
          break;
        case "parentSpanId":
          this.parent.fill(0);
          this.hasParent = !json.readString() || json.to === json.from || this.takeId(this.parent);
          break;
        case "traceState":
          this.adjusted = json.readString() ? adjustedCount(json.text(MAX_TRACE_STATE)) : 0;
          break;
        case "name":
          this.name = json.readString() ? json.text(MAX_VALUE_BYTES) : "";
          break;
        case "kind":
          this.kind = sentKind(this.readEnum(KINDS));
          break;
        case "startTimeUnixNano":
          this.startNs = this.readNs(epochMs);
          break;
        case "endTimeUnixNano":
          this.endNs = this.readNs(epochMs);
          break;
        case "attributes":
          this.readSpanAttributes(epochMs);
          break;
        case "status":
          this.error = this.readStatus() === STATUS_CODE_ERROR ? 1 : 0;
          break;
        default:
          json.skip();
      }
    }
  }

  /** As far as was read: members may come in any order. */
  private mayBeRootServer(): boolean {
    const mayServe = this.kind === SPAN_KIND.server || this.kind === SPAN_KIND.unspecified;
    return mayServe && isZero(this.parent, 0, 2);
  }

  /** As far as was read: a span whose end is still to come may be a stream. */
  private mayBeTold(epochMs: number): boolean {
    const isEndKnown = this.endNs !== -epochMs * NS_PER_MS;
    return mayBeTold(this.kind, isEndKnown ? this.endNs - this.startNs : Infinity, isZero(this.parent, 0, 2));
  }

  /** Reads who asked, and whether the span is a request with a latency at all, where that matters. */
  private readSpanAttributes(epochMs: number): void {
    const { json } = this;
    if (!this.mayBeRootServer() && !this.mayBeTold(epochMs)) return json.skip();
    for (let next = json.enterList(); next; next = json.nextElement()) {
      this.count.skipped();
      let key = "";
      let value = "";
      for (let more = json.enterObject(); more; more = json.nextMember()) {
        const field = this.key();
        if (field === "key")
          key =
            json.readString() && json.to - json.from <= MAX_CONVENTION_KEY_BYTES
              ? json.text(MAX_CONVENTION_KEY_BYTES)
              : "";
        else if (field === "value") value = this.readPlainValue();
        else json.skip();
      }
      if (isAskingKey(key)) this.userAgent = Math.max(this.userAgent, userAgentOf(value));
      else if (key === TRIGGER_KEY || this.mayBeTold(epochMs)) this.kind = toldKind(this.kind, key, value);
    }
  }

  /** An `AnyValue` that is a text, a number or a list of texts, of which the first counts; empty when it is something else. */
  private readPlainValue(): string {
    const { json } = this;
    let value = "";
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      const field = this.key();
      if (field === "stringValue") {
        if (json.readString()) value = json.text(CONVENTION_VALUE_BYTES);
      } else if (field === "intValue") {
        json.skipText();
        value = json.text(CONVENTION_VALUE_BYTES);
      } else if (field === "arrayValue") value = this.readFirstElement();
      else json.skip();
    }
    return value;
  }

  private readFirstElement(): string {
    const { json } = this;
    let first = "";
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      if (this.key() !== "values") {
        json.skip();
        continue;
      }
      for (let next = json.enterList(); next; next = json.nextElement()) {
        const value = this.readStringValue(CONVENTION_VALUE_BYTES);
        first ||= value;
      }
    }
    return first;
  }

  private clearSpan(epochMs: number): void {
    this.hasTrace = false;
    this.hasId = false;
    this.hasParent = true;
    this.parent.fill(0);
    this.name = "";
    this.kind = 0;
    this.error = 0;
    this.userAgent = 0;
    this.adjusted = 0;
    this.startNs = -epochMs * NS_PER_MS;
    this.endNs = this.startNs;
  }

  private readStatus(): number {
    const { json } = this;
    let code = 0;
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      if (this.key() === "code") code = this.readEnum(STATUS_CODES);
      else json.skip();
    }
    return code;
  }

  /** The value of an enum by number or by name; 0 where it is neither. */
  private readEnum(names: ReadonlyMap<string, number>): number {
    const value = this.json.readIntegerOrText(MAX_KEY_BYTES);
    if (typeof value !== "string") return value ?? 0;
    const named = names.get(value) ?? Number(value);
    if (Number.isInteger(named)) return named;
    this.note(value);
    return 0;
  }

  /**
   * Nanoseconds since `epochMs`. Milliseconds and the rest are read apart, since neither loses digits as a number. A time with a
   * fraction or an exponent is as exact as a number is, 256 ns.
   */
  private readNs(epochMs: number): number {
    const { json } = this;
    if (!json.readNumeric()) return -epochMs * NS_PER_MS;
    const { from, source, to } = json;
    if (!json.hasDigitsOnly()) {
      const text = json.text(MAX_NUMBER_BYTES);
      const value = /^[0-9.eE+]+$/.test(text) ? Number(text) : NaN;
      if (!(value >= 0 && value < MAX_TIME_NS)) json.fail("a time in nanoseconds is expected");
      return value - epochMs * NS_PER_MS;
    }
    const split = Math.max(from, to - MS_DIGITS);
    return (digits(source, from, split) - epochMs) * NS_PER_MS + digits(source, split, to);
  }

  /** Passes over the value of the field whose key was read last, and takes note of it. */
  private passOver(): void {
    const key = this.key();
    if (!PASSED_OVER.has(key)) this.note(key === "" ? "a long name" : key);
    this.json.skip();
  }

  private note(what: string): void {
    if (this.notUnderstood.size < MOST_NOT_UNDERSTOOD) this.notUnderstood.add(printable(what));
  }

  /** Reads the hexadecimal id that the scanner holds. @returns false when it is none of that length */
  private takeId(words: Uint32Array): boolean {
    const { from, source, to } = this.json;
    if (to - from !== 8 * words.length) return false;
    for (let word = 0; word < words.length; word += 1) {
      let value = 0;
      for (let at = from + 8 * word; at < from + 8 * word + 8; at += 1) {
        const digit = hexDigit(source[at] ?? 0);
        if (digit < 0) return false;
        value = value * 16 + digit;
      }
      words[word] = value;
    }
    return true;
  }

  private append(batch: SpanBatch, resourceIndex: number): void {
    const index = batch.reserve();
    batch.traceId.set(this.trace, 4 * index);
    batch.spanId.set(this.id, 2 * index);
    batch.parentId.set(this.parent, 2 * index);
    batch.startNs[index] = this.startNs;
    batch.durationNs[index] = this.endNs - this.startNs;
    batch.kind[index] = this.kind;
    batch.error[index] = this.error;
    batch.userAgent[index] = this.mayBeRootServer() ? this.userAgent : USER_AGENT.unknown;
    batch.resource[index] = resourceIndex;
    batch.adjustedCount[index] = this.adjusted;
    batch.names[index] = this.name;
  }

  private isPauseDue(): boolean {
    if (this.json.at < this.pauseAt) return false;
    this.pauseAt = this.json.at + BYTES_PER_PAUSE;
    return true;
  }

  /** The key read last; empty when it is longer than any that is known. */
  private key(): string {
    return this.json.key(MAX_KEY_BYTES);
  }
}

function digits(bytes: Uint8Array, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at += 1) value = value * 10 + (bytes[at] ?? 0) - 0x30;
  return value;
}

/** The value of a hexadecimal digit, or -1. */
function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
