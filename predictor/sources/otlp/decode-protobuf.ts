import { TradewindError, describeError } from "@tradewind/core/values/errors.ts";
import {
  CONVENTION_VALUE_BYTES,
  MAX_CONVENTION_KEY_BYTES,
  TRIGGER_KEY,
  mayBeTold,
  toldKind,
} from "../../window/conventions.ts";
import { SPAN_KIND, sentKind } from "../../window/span.ts";
import type { SpanBatch, SpanResource } from "../../window/span.ts";
import {
  USER_AGENT,
  USER_AGENT_BYTES,
  ASKING_KEYS,
  isAskingKey,
  userAgentOf,
} from "../../window/user-agent.ts";
import { ByteStrings } from "./byte-strings.ts";
import { DEFAULT_RECEIVER_LIMITS } from "./limits.ts";
import { BYTES, FIXED64, MessageReader, tag, VARINT } from "./message-reader.ts";
import { BYTES_PER_PAUSE, PartCount } from "./part-count.ts";
import type { PartLimits } from "./part-count.ts";
import { MAX_KEY_BYTES, MAX_VALUE_BYTES, ResourceReader } from "./resource-attributes.ts";
import { adjustedCount, MAX_TRACE_STATE } from "./trace-state.ts";

/** Tags of trace.proto, resource.proto and common.proto (opentelemetry-proto 1.x) that are read; others are skipped. */
const REQUEST_RESOURCE_SPANS = tag(1, BYTES);
const RESOURCE_SPANS_RESOURCE = tag(1, BYTES);
const RESOURCE_SPANS_SCOPE_SPANS = tag(2, BYTES);
/** Where senders between versions 0.15 and 0.19 of the protocol put them, by their old name. */
const RESOURCE_SPANS_LIBRARY_SPANS = tag(1_000, BYTES);
const RESOURCE_ATTRIBUTES = tag(1, BYTES);
const KEY_VALUE_KEY = tag(1, BYTES);
const KEY_VALUE_VALUE = tag(2, BYTES);
const ANY_VALUE_STRING = tag(1, BYTES);
const ANY_VALUE_INT = tag(3, VARINT);
const ANY_VALUE_ARRAY = tag(5, BYTES);
const ARRAY_VALUES = tag(1, BYTES);
const SCOPE_SPANS_SPANS = tag(2, BYTES);
const SPAN_TRACE_ID = tag(1, BYTES);
const SPAN_SPAN_ID = tag(2, BYTES);
const SPAN_TRACE_STATE = tag(3, BYTES);
const SPAN_PARENT_SPAN_ID = tag(4, BYTES);
const SPAN_NAME = tag(5, BYTES);
const SPAN_KIND_FIELD = tag(6, VARINT);
const SPAN_START = tag(7, FIXED64);
const SPAN_END = tag(8, FIXED64);
const SPAN_ATTRIBUTES = tag(9, BYTES);
const SPAN_STATUS = tag(15, BYTES);
const STATUS_CODE = tag(3, VARINT);

const STATUS_CODE_ERROR = 2;
const TRACE_ID_BYTES = 16;
const SPAN_ID_BYTES = 8;
const MAX_NAME_BYTES = 804;
const WORD = 0x1_0000_0000;
const NOTHING = new Uint8Array(0);

/**
 * Reads `ExportTraceServiceRequest` from the wire straight into a batch: only the fields that windows are made of, no
 * message objects. Every length is checked against the message around it.
 */
export class ProtobufDecoder {
  private readonly names = new ByteStrings();
  private readonly resource = new ResourceReader();
  private readonly count: PartCount;
  private pauseAt = 0;
  private reader: MessageReader;
  private epochHigh = 0;
  private epochLow = 0;

  private traceAt = 0;
  private spanAt = 0;
  private parentAt = 0;
  private stateAt = 0;
  private stateEnd = 0;
  private nameAt = 0;
  private nameEnd = 0;
  private kind = 0;
  private error = 0;
  private userAgent = 0;
  private startHigh = 0;
  private startLow = 0;
  private endHigh = 0;
  private endLow = 0;

  constructor(limits: PartLimits = DEFAULT_RECEIVER_LIMITS) {
    this.count = new PartCount(limits);
    this.reader = new MessageReader(NOTHING, this.count);
  }

  /** As {@link steps}, in one go. */
  decode(bytes: Uint8Array, batch: SpanBatch): void {
    const steps = this.steps(bytes, batch);
    while (steps.next().done !== true);
  }

  /**
   * Appends the spans of `bytes` to `batch`, whose epoch is set already, and yields now and then so that the caller may let
   * others work.
   * @throws TradewindError `malformed-otlp` when the bytes are not such a message, or `too-many-spans`; the batch then holds
   *   a part of it
   */
  *steps(bytes: Uint8Array, batch: SpanBatch): Generator<void> {
    this.reader = new MessageReader(bytes, this.count);
    const epochNs = BigInt(batch.epochMs) * 1_000_000n;
    this.epochHigh = Number(epochNs >> 32n);
    this.epochLow = Number(epochNs & 0xffff_ffffn);
    this.count.clear();
    this.pauseAt = BYTES_PER_PAUSE;
    try {
      yield* this.readRequest(batch);
    } catch (error) {
      if (error instanceof TradewindError) throw error;
      throw new TradewindError(
        "malformed-otlp",
        `not an ExportTraceServiceRequest: byte ${this.reader.pos} of ${bytes.length}: ${describeError(error)}`,
        { cause: error },
      );
    } finally {
      this.reader = new MessageReader(NOTHING, this.count);
    }
  }

  private *readRequest(batch: SpanBatch): Generator<void> {
    const { reader } = this;
    while (reader.pos < reader.len) {
      if (this.isPauseDue()) yield;
      const field = reader.uint32();
      if (field !== REQUEST_RESOURCE_SPANS) {
        reader.skipField(field);
        continue;
      }
      this.count.part();
      const outer = reader.enter();
      yield* this.readResourceSpans(batch);
      reader.leave(outer);
    }
  }

  private *readResourceSpans(batch: SpanBatch): Generator<void> {
    const { reader } = this;
    const resource: SpanResource = { service: "" };
    const resourceIndex = batch.resources.length;
    this.resource.clear();
    while (reader.pos < reader.len) {
      if (this.isPauseDue()) yield;
      const field = reader.uint32();
      if (field === RESOURCE_SPANS_RESOURCE) {
        const outer = reader.enter();
        yield* this.readResource();
        reader.leave(outer);
      } else if (field === RESOURCE_SPANS_SCOPE_SPANS || field === RESOURCE_SPANS_LIBRARY_SPANS) {
        this.count.part();
        const outer = reader.enter();
        yield* this.readScopeSpans(batch, resource, resourceIndex);
        reader.leave(outer);
      } else {
        reader.skipField(field);
      }
    }
    Object.assign(resource, this.resource.resource());
  }

  private *readResource(): Generator<void> {
    const { reader } = this;
    while (reader.pos < reader.len) {
      if (this.isPauseDue()) yield;
      const field = reader.uint32();
      if (field !== RESOURCE_ATTRIBUTES) {
        reader.skipField(field);
        continue;
      }
      this.count.part();
      const outer = reader.enter();
      this.readAttribute();
      reader.leave(outer);
    }
  }

  private readAttribute(): void {
    const { reader } = this;
    let key = "";
    let value = "";
    while (reader.pos < reader.len) {
      const field = reader.uint32();
      if (field === KEY_VALUE_KEY) {
        const end = reader.endOfBytes();
        key = end - reader.pos > MAX_KEY_BYTES ? "" : this.names.text(reader.buf, reader.pos, end);
        reader.pos = end;
      } else if (field === KEY_VALUE_VALUE) {
        const outer = reader.enter();
        value = this.readStringValue(MAX_VALUE_BYTES);
        reader.leave(outer);
      } else {
        reader.skipField(field);
      }
    }
    if (this.resource.wants(key)) this.resource.take(key, value);
  }

  /** An `AnyValue` that is a string, at most `maxBytes` of it; empty when it is something else. */
  private readStringValue(maxBytes: number): string {
    const { reader } = this;
    let value = "";
    while (reader.pos < reader.len) {
      const field = reader.uint32();
      if (field !== ANY_VALUE_STRING) {
        reader.skipField(field);
        continue;
      }
      const end = reader.endOfBytes();
      value = this.names.text(reader.buf, reader.pos, Math.min(end, reader.pos + maxBytes));
      reader.pos = end;
    }
    return value;
  }

  private *readScopeSpans(batch: SpanBatch, resource: SpanResource, resourceIndex: number): Generator<void> {
    const { reader } = this;
    while (reader.pos < reader.len) {
      if (this.isPauseDue()) yield;
      const field = reader.uint32();
      if (field !== SCOPE_SPANS_SPANS) {
        reader.skipField(field);
        continue;
      }
      this.count.span();
      const outer = reader.enter();
      this.readSpan();
      reader.leave(outer);
      if (this.traceAt === 0 || this.spanAt === 0 || this.parentAt < 0) {
        batch.invalidIds += 1;
        continue;
      }
      if (batch.resources.length === resourceIndex) batch.resources.push(resource);
      this.append(batch, resourceIndex);
    }
  }

  private readSpan(): void {
    const { reader } = this;
    this.clearSpan();
    while (reader.pos < reader.len) {
      const field = reader.uint32();
      switch (field) {
        case SPAN_TRACE_ID:
          this.traceAt = this.readId(TRACE_ID_BYTES);
          break;
        case SPAN_SPAN_ID:
          this.spanAt = this.readId(SPAN_ID_BYTES);
          break;
        case SPAN_TRACE_STATE:
          this.stateEnd = reader.endOfBytes();
          this.stateAt = reader.pos;
          reader.pos = this.stateEnd;
          break;
        case SPAN_PARENT_SPAN_ID:
          this.parentAt = this.readParentId();
          break;
        case SPAN_NAME:
          this.nameEnd = reader.endOfBytes();
          this.nameAt = reader.pos;
          reader.pos = this.nameEnd;
          break;
        case SPAN_KIND_FIELD:
          this.kind = sentKind(reader.uint32());
          break;
        case SPAN_START:
          this.startLow = reader.fixed32();
          this.startHigh = reader.fixed32();
          break;
        case SPAN_END:
          this.endLow = reader.fixed32();
          this.endHigh = reader.fixed32();
          break;
        case SPAN_ATTRIBUTES:
          this.readAttributeOfSpan(field);
          break;
        case SPAN_STATUS:
          this.error = this.readStatus() === STATUS_CODE_ERROR ? 1 : 0;
          break;
        default:
          reader.skipField(field);
      }
    }
  }

  /** As far as was read: writers may put the fields of a span in any order, but seldom do. */
  private mayBeRootServer(): boolean {
    return this.parentAt === 0 && (this.kind === SPAN_KIND.server || this.kind === SPAN_KIND.unspecified);
  }

  private readAttributeOfSpan(field: number): void {
    if (mayBeTold(this.kind, this.durationNs(), this.parentAt === 0)) this.readTellingAttribute();
    else if (this.mayBeRootServer()) this.readSpanAttribute();
    else this.reader.skipField(field);
  }

  private durationNs(): number {
    return (this.endHigh - this.startHigh) * WORD + (this.endLow - this.startLow);
  }

  /** Reads who asked, and whether the span is a request with a latency at all; other attributes are passed over. */
  private readTellingAttribute(): void {
    const { reader } = this;
    this.count.skipped();
    const outer = reader.enter();
    let key = "";
    while (reader.pos < reader.len) {
      const field = reader.uint32();
      if (field === KEY_VALUE_KEY) {
        const end = reader.endOfBytes();
        key = end - reader.pos > MAX_CONVENTION_KEY_BYTES ? "" : this.names.text(reader.buf, reader.pos, end);
        reader.pos = end;
      } else if (field === KEY_VALUE_VALUE) {
        const attribute = reader.enter();
        this.count.skipped();
        const value = this.readPlainValue();
        reader.leave(attribute);
        if (isAskingKey(key)) this.userAgent = Math.max(this.userAgent, userAgentOf(value));
        else this.kind = toldKind(this.kind, key, value);
      } else {
        reader.skipField(field);
      }
    }
    reader.leave(outer);
  }

  /** An `AnyValue` that is a text, a number or a list of texts, of which the first counts; empty when it is something else. */
  private readPlainValue(): string {
    const { reader } = this;
    let value = "";
    while (reader.pos < reader.len) {
      const field = reader.uint32();
      if (field === ANY_VALUE_STRING) {
        const end = reader.endOfBytes();
        value = this.names.text(reader.buf, reader.pos, Math.min(end, reader.pos + CONVENTION_VALUE_BYTES));
        reader.pos = end;
      } else if (field === ANY_VALUE_INT) {
        value = String(reader.uint32());
      } else if (field === ANY_VALUE_ARRAY) {
        const array = reader.enter();
        value = this.readFirstElement();
        reader.leave(array);
      } else {
        reader.skipField(field);
      }
    }
    return value;
  }

  private readFirstElement(): string {
    const { reader } = this;
    let first = "";
    while (reader.pos < reader.len) {
      const field = reader.uint32();
      if (field !== ARRAY_VALUES) {
        reader.skipField(field);
        continue;
      }
      this.count.skipped();
      const element = reader.enter();
      const value = this.readStringValue(CONVENTION_VALUE_BYTES);
      reader.leave(element);
      first ||= value;
    }
    return first;
  }

  /** Reads who or what asked; other attributes are passed over. */
  private readSpanAttribute(): void {
    const { reader } = this;
    this.count.skipped();
    const end = reader.endOfBytes();
    const key = rootKeyAt(reader.buf, reader.pos, end);
    if (key === undefined) {
      reader.pos = end;
      return;
    }
    const outer = reader.len;
    reader.len = end;
    reader.pos += key.prefix.length;
    while (reader.pos < reader.len) {
      const field = reader.uint32();
      if (field !== KEY_VALUE_VALUE) {
        reader.skipField(field);
        continue;
      }
      this.count.skipped();
      const attribute = reader.enter();
      const value = this.readStringValue(USER_AGENT_BYTES);
      if (key.name === TRIGGER_KEY) this.kind = toldKind(this.kind, key.name, value);
      else this.userAgent = Math.max(this.userAgent, userAgentOf(value));
      reader.leave(attribute);
    }
    reader.leave(outer);
  }

  private clearSpan(): void {
    this.traceAt = 0;
    this.spanAt = 0;
    this.parentAt = 0;
    this.stateAt = 0;
    this.stateEnd = 0;
    this.nameAt = 0;
    this.nameEnd = 0;
    this.kind = 0;
    this.error = 0;
    this.userAgent = 0;
    this.startHigh = 0;
    this.startLow = 0;
    this.endHigh = 0;
    this.endLow = 0;
  }

  private readStatus(): number {
    const { reader } = this;
    const outer = reader.enter();
    let code = 0;
    while (reader.pos < reader.len) {
      const field = reader.uint32();
      if (field === STATUS_CODE) code = reader.uint32();
      else reader.skipField(field);
    }
    reader.leave(outer);
    return code;
  }

  /** Where an id begins (never 0, a tag comes before it), or 0 when its length is wrong. */
  private readId(length: number): number {
    const { reader } = this;
    const end = reader.endOfBytes();
    const at = reader.pos;
    reader.pos = end;
    return end - at === length ? at : 0;
  }

  /** Where the parent's id begins, 0 when there is none, −1 when its length is wrong. */
  private readParentId(): number {
    const { reader } = this;
    const end = reader.endOfBytes();
    const at = reader.pos;
    reader.pos = end;
    return end === at ? 0 : end - at === SPAN_ID_BYTES ? at : -1;
  }

  private append(batch: SpanBatch, resourceIndex: number): void {
    const { reader } = this;
    const { buf } = reader;
    const index = batch.reserve();
    for (let word = 0; word < 4; word += 1) {
      batch.traceId[4 * index + word] = bigEndianWord(buf, this.traceAt + 4 * word);
    }
    batch.spanId[2 * index] = bigEndianWord(buf, this.spanAt);
    batch.spanId[2 * index + 1] = bigEndianWord(buf, this.spanAt + 4);
    const { parentAt } = this;
    batch.parentId[2 * index] = parentAt === 0 ? 0 : bigEndianWord(buf, parentAt);
    batch.parentId[2 * index + 1] = parentAt === 0 ? 0 : bigEndianWord(buf, parentAt + 4);
    batch.startNs[index] = (this.startHigh - this.epochHigh) * WORD + (this.startLow - this.epochLow);
    batch.durationNs[index] = this.durationNs();
    batch.kind[index] = this.kind;
    batch.error[index] = this.error;
    batch.userAgent[index] = this.mayBeRootServer() ? this.userAgent : USER_AGENT.unknown;
    batch.resource[index] = resourceIndex;
    batch.adjustedCount[index] =
      this.stateEnd > this.stateAt
        ? adjustedCount(
            this.names.text(buf, this.stateAt, Math.min(this.stateEnd, this.stateAt + MAX_TRACE_STATE)),
          )
        : 0;
    const mayBegin = parentAt === 0 || this.kind === SPAN_KIND.server || this.kind >= SPAN_KIND.consumer;
    const nameEnd = Math.min(this.nameEnd, this.nameAt + MAX_NAME_BYTES);
    batch.names[index] = mayBegin ? this.names.text(buf, this.nameAt, nameEnd) : undefined;
  }

  private isPauseDue(): boolean {
    if (this.reader.pos < this.pauseAt) return false;
    this.pauseAt = this.reader.pos + BYTES_PER_PAUSE;
    return true;
  }
}

/** How attributes begin that are read of requests without a caller: writers put the key before the value. */
const ROOT_KEYS = [...ASKING_KEYS, TRIGGER_KEY].map((name) => ({
  name,
  prefix: Uint8Array.from([KEY_VALUE_KEY, name.length, ...Buffer.from(name)]),
}));

/** The key at the start of an attribute, undefined where it is none of those: most differ in length. */
function rootKeyAt(bytes: Uint8Array, from: number, to: number): (typeof ROOT_KEYS)[number] | undefined {
  const length = bytes[from + 1];
  for (const key of ROOT_KEYS) {
    const { prefix } = key;
    if (prefix[1] !== length) continue;
    let same = 0;
    while (same < prefix.length && prefix[same] === bytes[from + same]) same += 1;
    if (same === prefix.length && from + same <= to) return key;
  }
  return undefined;
}

function bigEndianWord(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] ?? 0) << 24) |
      ((bytes[at + 1] ?? 0) << 16) |
      ((bytes[at + 2] ?? 0) << 8) |
      (bytes[at + 3] ?? 0)) >>>
    0
  );
}
