import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TradewindError } from "@tradewind/core/errors.ts";
import { JsonDecoder } from "../../../../predictor/sources/otlp/decode-json.ts";
import { ProtobufDecoder } from "../../../../predictor/sources/otlp/decode-protobuf.ts";
import { SPAN_KIND } from "../../../../predictor/window/span.ts";
import type { SpanBatch } from "../../../../predictor/window/span.ts";
import { NOW_MS, aSpan, emptyBatch, jsonRequest, protobufRequest, recordsOf } from "./messages.ts";
import type { WireSpan } from "./messages.ts";

type Encoding = "protobuf" | "JSON";

function decoded(encoding: Encoding, spans: readonly WireSpan[], resource?: Record<string, string>) {
  const batch = emptyBatch();
  if (encoding === "protobuf") new ProtobufDecoder().decode(protobufRequest(spans, resource), batch);
  else new JsonDecoder().decode(Buffer.from(JSON.stringify(jsonRequest(spans, resource))), batch);
  return batch;
}

/** The code of the error that decoding ends with, or `spans`. */
function outcome(decoder: ProtobufDecoder | JsonDecoder, bytes: Uint8Array, batch: SpanBatch): string {
  try {
    decoder.decode(bytes, batch);
    return "spans";
  } catch (error) {
    return error instanceof TradewindError ? error.code : String(error);
  }
}

describe.each<Encoding>(["protobuf", "JSON"])("OTLP traces in %s", (encoding) => {
  it("become spans", () => {
    const batch = decoded(encoding, [
      aSpan({ statusCode: 2, traceState: "vendor=1, ot=rv:0123;th:8", startMs: NOW_MS + 0.001 }),
      aSpan({
        spanId: "b1b2b3b4b5b6b7b8",
        parentId: "a1a2a3a4a5a6a7a8",
        kind: SPAN_KIND.server,
        name: "Check",
      }),
    ]);
    expect(recordsOf(batch)).toEqual([
      {
        traceId: "0102030405060708090a0b0c0d0e0f10",
        spanId: "a1a2a3a4a5a6a7a8",
        parentId: "0000000000000000",
        startNs: 1_000,
        durationNs: 24_999_000,
        kind: SPAN_KIND.server,
        error: 1,
        adjustedCount: 2,
        name: "GET /hotels",
        resource: { service: "frontend" },
      },
      expect.objectContaining({
        spanId: "b1b2b3b4b5b6b7b8",
        parentId: "a1a2a3a4a5a6a7a8",
        startNs: 0,
        durationNs: 25e6,
        error: 0,
        adjustedCount: 0,
        name: "Check",
      }),
    ]);
  });

  it.each([
    { has: ["service.instance.id"], instance: "i" },
    { has: ["service.instance.id", "k8s.pod.name"], instance: "n" },
    { has: ["k8s.pod.uid", "service.instance.id", "k8s.pod.name"], instance: "u" },
  ])("name the process by $has", ({ has, instance }) => {
    const values: Record<string, string> = {
      "service.instance.id": "i",
      "k8s.pod.name": "n",
      "k8s.pod.uid": "u",
      "service.name": "s",
    };
    const resource: Record<string, string> = { "host.name": "h" };
    for (const key of [...has, "service.name"]) resource[key] = values[key]!;
    expect(decoded(encoding, [aSpan()], resource).resources).toEqual([{ service: "s", instance }]);
  });

  it("count spans with ids of zero length or the wrong length apart", () => {
    const batch = decoded(encoding, [
      aSpan({ traceId: "" }),
      aSpan({ traceId: "01" }),
      aSpan({ spanId: "a1a2a3a4" }),
      aSpan({ parentId: "a1" }),
      aSpan(),
    ]);
    expect([batch.length, batch.invalidIds]).toEqual([1, 4]);
  });

  it("keep a negative duration, an unknown kind and a missing service for the builder to judge", () => {
    const batch = decoded(encoding, [aSpan({ endMs: NOW_MS - 1, kind: 77 })], {});
    expect(recordsOf(batch)).toMatchObject([{ durationNs: -1e6, kind: 0, resource: { service: "" } }]);
  });

  it("skip attributes of any size", () => {
    const attributes = { "db.statement": "x".repeat(1_000_000), empty: "" };
    expect(recordsOf(decoded(encoding, [aSpan({ attributes })]))).toHaveLength(1);
  });

  it("cut a service name that no window could carry", () => {
    const [resource] = decoded(encoding, [aSpan()], { "service.name": "s".repeat(100_000) }).resources;
    expect(resource!.service).toHaveLength(804);
  });

  it("may be empty", () => {
    expect(decoded(encoding, []).length).toBe(0);
  });

  it("are the same in the other encoding", () => {
    const hex = (digits: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${digits}}$`));
    const span = fc.record({
      traceId: hex(32),
      spanId: hex(16),
      parentId: hex(16),
      name: fc.string({ unit: "grapheme" }),
      kind: fc.nat(6),
      startMs: fc.integer({ min: NOW_MS - 1e6, max: NOW_MS + 1e6 }),
      endMs: fc.integer({ min: NOW_MS - 1e6, max: NOW_MS + 1e6 }),
      statusCode: fc.nat(3),
    });
    fc.assert(
      fc.property(fc.array(span, { maxLength: 5 }), (spans) => {
        const here = recordsOf(decoded(encoding, spans));
        const other = recordsOf(decoded(encoding === "JSON" ? "protobuf" : "JSON", spans));
        // Protobuf spans that begin nothing do not carry their name.
        const comparable = (records: typeof here, others: typeof here) =>
          records.filter(({ name }, index) => name !== undefined && others[index]?.["name"] !== undefined);
        expect(here.map(({ spanId }) => spanId)).toEqual(other.map(({ spanId }) => spanId));
        expect(comparable(here, other)).toEqual(comparable(other, here));
      }),
    );
  });
});

describe("protobuf of a stranger", () => {
  const whole = protobufRequest([
    aSpan(),
    aSpan({ spanId: "b1b2b3b4b5b6b7b8", parentId: "a1a2a3a4a5a6a7a8" }),
  ]);
  const decoder = new ProtobufDecoder();

  function spansOrError(bytes: Uint8Array): void {
    const batch = emptyBatch();
    expect(["spans", "malformed-otlp"]).toContain(outcome(decoder, bytes, batch));
    expect(recordsOf(batch)).toHaveLength(batch.length);
  }

  it("cut anywhere but between its parts is malformed", () => {
    const lengths = Array.from({ length: whole.length }, (_, length) => length).slice(1);
    for (const length of lengths) {
      expect(() => decoder.decode(whole.subarray(0, length), emptyBatch())).toThrow(
        /not an ExportTraceServiceRequest/,
      );
    }
  });

  it("of any bytes gives spans or a clear error", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), spansOrError), { numRuns: 2_000 });
  });

  it("with any byte changed gives spans or a clear error", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 5 }), (changes) => {
        const bytes = Uint8Array.from(whole);
        for (const [at, value] of changes) bytes[at] = value;
        spansOrError(bytes);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    { what: "a length beyond the end", hex: "0affffffff0f" },
    { what: "a length longer than the message around it", hex: "0a041202ffff" },
    { what: "a length of 2^32 - 1 inside", hex: "0a06120affffffff0f" },
    { what: "an unended varint", hex: "0affffffffffffffffffffff" },
    { what: "field number 0", hex: "0000" },
    { what: "a group", hex: "0b".repeat(100_000) },
    { what: "the end of a group", hex: "0c" },
    { what: "wire type 7", hex: "0f" },
  ])("with $what is malformed", ({ hex }) => {
    expect(() => decoder.decode(Buffer.from(hex, "hex"), emptyBatch())).toThrow(
      /not an ExportTraceServiceRequest/,
    );
  });

  it("does not leave a mark on the message after it", () => {
    spansOrError(whole.subarray(0, 90));
    const batch = emptyBatch();
    decoder.decode(whole, batch);
    expect(recordsOf(batch)).toEqual(recordsOf(decodedWhole()));
  });

  function decodedWhole() {
    const batch = emptyBatch();
    new ProtobufDecoder().decode(whole, batch);
    return batch;
  }
});

describe("JSON of a stranger", () => {
  const decoder = new JsonDecoder();

  it.each([
    { what: "no JSON", text: "{" },
    { what: "no object", text: "[1]" },
    { what: "null", text: "null" },
    { what: "resourceSpans of another type", text: '{"resourceSpans":{}}' },
    {
      what: "a time that is no number",
      text: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [{ startTimeUnixNano: "soon" }] }] }] }),
    },
    { what: "deep nesting", text: "[".repeat(1_000_000) },
  ])("with $what is malformed", ({ text }) => {
    expect(() => decoder.decode(Buffer.from(text), emptyBatch())).toThrow(
      /not an ExportTraceServiceRequest: /,
    );
  });

  it("in bytes that are no UTF-8 is malformed", () => {
    expect(() => decoder.decode(Buffer.from([0x22, 0xff, 0x22]), emptyBatch())).toThrow(TradewindError);
  });

  it("of any value gives spans or a clear error", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const body = Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [value] }] }] }));
        expect(["spans", "malformed-otlp"]).toContain(outcome(decoder, body, emptyBatch()));
      }),
    );
  });
});
