import { isUtf8 } from "node:buffer";
import { TradewindError, describeError } from "@tradewind/core/values/errors.ts";
import type { SpanBatch, SpanResource } from "../../window/span.ts";
import { BYTES, FIXED64, MessageReader, tag, VARINT } from "./message-reader.ts";
import { JsonScanner } from "./json-scanner.ts";
import { BYTES_PER_PAUSE, PartCount } from "./part-count.ts";
import type { PartLimits } from "./part-count.ts";
import type { SpanDecoder } from "./span-decoder.ts";
import { readZipkinSpan } from "./read-zipkin.ts";

/** What a body may hold: clients send 500 kB at once, which is a thousand spans. */
const MAX_SPANS = 5_000;
const MAX_SKIPPED = 400_000;
/** Spans without a valid id, beyond which it is not worth looking at the others. */
const MAX_INVALID = 500;

const limited = (limits: PartLimits): PartLimits => ({
  ...limits,
  maxSpans: Math.min(limits.maxSpans, MAX_SPANS),
  maxSkipped: Math.min(limits.maxSkipped, MAX_SKIPPED),
});

/** Adds spans to a batch, whose resources must be in the order of the spans: those that follow each other share theirs. */
class Appender {
  private readonly batch: SpanBatch;
  private last: SpanResource | undefined;

  constructor(batch: SpanBatch) {
    this.batch = batch;
  }

  add(value: unknown): void {
    const record = readZipkinSpan(value);
    if (record === undefined) {
      this.batch.invalidIds += 1;
      if (this.batch.invalidIds > MAX_INVALID)
        throw new TradewindError(
          "malformed-zipkin",
          `over ${MAX_INVALID} spans without a valid id: send version 2 of Zipkin's model`,
        );
      return;
    }
    const { last } = this;
    const { resource } = record;
    const isSame = last !== undefined && isSameResource(last, resource);
    this.last = isSame ? last : resource;
    this.batch.add({ ...record, resource: this.last ?? resource });
  }
}

const isSameResource = (a: SpanResource, b: SpanResource): boolean =>
  a.service === b.service &&
  a.instance === b.instance &&
  a.host === b.host &&
  a.namespace === b.namespace &&
  a.cluster === b.cluster &&
  a.region === b.region &&
  a.group === b.group &&
  a.environment === b.environment;

/** Reads Zipkin's list of spans in JSON, version 2, span by span. */
export class ZipkinJsonDecoder implements SpanDecoder {
  private readonly json: JsonScanner;
  private readonly count: PartCount;

  constructor(limits: PartLimits) {
    this.count = new PartCount(limited(limits));
    this.json = new JsonScanner(() => this.count.skipped(), "a list of Zipkin's spans");
  }

  *steps(body: Uint8Array, batch: SpanBatch): Generator<void> {
    const { count, json } = this;
    if (!isUtf8(body)) throw new TradewindError("malformed-zipkin", "not a list of spans: not in UTF-8");
    count.clear();
    let pauseAt = BYTES_PER_PAUSE;
    const spans = new Appender(batch);
    try {
      json.open(body, "list");
      for (let more = json.enterList(); more; more = json.nextElement()) {
        count.span();
        spans.add(json.value());
        if (json.at < pauseAt) continue;
        pauseAt = json.at + BYTES_PER_PAUSE;
        yield;
      }
      json.expectEnd();
    } finally {
      json.release();
    }
  }
}

/** Tags of zipkin.proto (zipkin-api 1.0) that are read; others are skipped. */
const LIST_SPANS = tag(1, BYTES);
const TRACE_ID = tag(1, BYTES);
const PARENT_ID = tag(2, BYTES);
const ID = tag(3, BYTES);
const KIND = tag(4, VARINT);
const NAME = tag(5, BYTES);
const TIMESTAMP = tag(6, FIXED64);
const DURATION = tag(7, VARINT);
const LOCAL_ENDPOINT = tag(8, BYTES);
const TAGS = tag(11, BYTES);
const ENDPOINT_NAME = tag(1, BYTES);
const ENDPOINT_IPV4 = tag(2, BYTES);
const MAP_KEY = tag(1, BYTES);
const MAP_VALUE = tag(2, BYTES);

/** By number; a span without a kind is of work within a process. */
const KINDS = [undefined, "client", "server", "producer", "consumer"] as const;
const WORD = 0x1_0000_0000;
const MAX_TEXT_BYTES = 804;
const MOST_TAGS = 256;
const NOTHING = new Uint8Array(0);

/** Reads Zipkin's `ListOfSpans`. */
export class ZipkinProtobufDecoder implements SpanDecoder {
  private readonly count: PartCount;
  private reader: MessageReader;

  constructor(limits: PartLimits) {
    this.count = new PartCount(limited(limits));
    this.reader = new MessageReader(NOTHING, this.count);
  }

  *steps(body: Uint8Array, batch: SpanBatch): Generator<void> {
    const reader = new MessageReader(body, this.count);
    this.reader = reader;
    this.count.clear();
    let pauseAt = BYTES_PER_PAUSE;
    const spans = new Appender(batch);
    try {
      while (reader.pos < reader.len) {
        const field = reader.uint32();
        if (field === LIST_SPANS) {
          this.count.span();
          spans.add(this.within(() => this.readSpan()));
        } else reader.skipField(field);
        if (reader.pos < pauseAt) continue;
        pauseAt = reader.pos + BYTES_PER_PAUSE;
        yield;
      }
    } catch (error) {
      if (error instanceof TradewindError) throw error;
      const where = `byte ${reader.pos} of ${body.length}`;
      throw new TradewindError(
        "malformed-zipkin",
        `not a list of Zipkin's spans: ${where}: ${describeError(error)}`,
        { cause: error },
      );
    } finally {
      this.reader = new MessageReader(NOTHING, this.count);
    }
  }

  /** In the form that Zipkin's JSON has. */
  private readSpan(): Record<string, unknown> {
    const { reader } = this;
    const span: Record<string, unknown> = {};
    const tags: [string, string][] = [];
    while (reader.pos < reader.len) {
      const field = reader.uint32();
      if (field === TRACE_ID) span["traceId"] = this.readHex();
      else if (field === ID) span["id"] = this.readHex();
      else if (field === PARENT_ID) span["parentId"] = this.readHex();
      else if (field === KIND) span["kind"] = KINDS[reader.uint32()];
      else if (field === NAME) span["name"] = this.readText();
      else if (field === TIMESTAMP) span["timestamp"] = reader.fixed32() + WORD * reader.fixed32();
      else if (field === DURATION) span["duration"] = Number(reader.uint64());
      else if (field === LOCAL_ENDPOINT) span["localEndpoint"] = this.within(() => this.readEndpoint());
      else if (field === TAGS && tags.length < MOST_TAGS) tags.push(this.within(() => this.readTag()));
      else reader.skipField(field);
    }
    return { ...span, tags: Object.fromEntries(tags) };
  }

  private readEndpoint(): Record<string, unknown> {
    const { reader } = this;
    const endpoint: Record<string, unknown> = {};
    while (reader.pos < reader.len) {
      const field = reader.uint32();
      if (field === ENDPOINT_NAME) endpoint["serviceName"] = this.readText();
      else if (field === ENDPOINT_IPV4) endpoint["ipv4"] = [...this.readBytes()].join(".");
      else reader.skipField(field);
    }
    return endpoint;
  }

  private readTag(): [key: string, value: string] {
    const { reader } = this;
    this.count.skipped();
    let [key, value] = ["", ""];
    while (reader.pos < reader.len) {
      const field = reader.uint32();
      if (field === MAP_KEY) key = this.readText();
      else if (field === MAP_VALUE) value = this.readText();
      else reader.skipField(field);
    }
    return [key, value];
  }

  private within<Read>(read: () => Read): Read {
    const outer = this.reader.enter();
    const value = read();
    this.reader.leave(outer);
    return value;
  }

  private readHex(): string {
    return Buffer.from(this.readBytes()).toString("hex");
  }

  private readText(): string {
    return Buffer.from(this.readBytes()).toString("utf8");
  }

  /** As many of the bytes as anything that is read can have. */
  private readBytes(): Uint8Array {
    const { reader } = this;
    const end = reader.endOfBytes();
    const bytes = reader.buf.subarray(reader.pos, Math.min(end, reader.pos + MAX_TEXT_BYTES));
    reader.pos = end;
    return bytes;
  }
}
