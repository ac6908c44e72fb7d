import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { JsonDecoder } from "../../../../predictor/sources/otlp/decode-json.ts";
import { ProtobufDecoder } from "../../../../predictor/sources/otlp/decode-protobuf.ts";
import { DERIVED_KIND, SPAN_KIND } from "../../../../predictor/window/span.ts";
import type { SpanBatch } from "../../../../predictor/window/span.ts";
import { USER_AGENT } from "../../../../predictor/window/user-agent.ts";
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
        userAgent: USER_AGENT.unknown,
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
    { has: ["service.instance.id"], process: { instance: "i" } },
    { has: ["service.instance.id", "k8s.pod.name"], process: { instance: "n", isPod: true } },
    { has: ["k8s.pod.uid", "service.instance.id", "k8s.pod.name"], process: { instance: "n", isPod: true } },
  ])("name the process by $has", ({ has, process }) => {
    const values: Record<string, string> = {
      "service.instance.id": "i",
      "k8s.pod.name": "n",
      "k8s.pod.uid": "u",
      "service.name": "s",
    };
    const resource: Record<string, string> = { "host.name": "h" };
    for (const key of [...has, "service.name"]) resource[key] = values[key]!;
    expect(decoded(encoding, [aSpan()], resource).resources).toEqual([
      { service: "s", host: "h", ...process },
    ]);
  });

  it.each([
    { says: { "k8s.deployment.name": "till", "k8s.container.name": "main" }, service: "till" },
    { says: { "service.name": "unknown_service:node", "k8s.statefulset.name": "ledger" }, service: "ledger" },
    { says: { "service.name": "unknown_service" }, service: "unknown_service" },
    { says: { "k8s.container.name": "main", "service.name": "named" }, service: "named" },
  ])("take the name of the workload where the service has none: $says", ({ says, service }) => {
    expect(decoded(encoding, [aSpan()], says).resources).toEqual([{ service }]);
  });

  it.each<{ kind: number; lastsMs: number; attributes: NonNullable<WireSpan["attributes"]>; is: number }>([
    { kind: 5, lastsMs: 3, attributes: { "messaging.operation.type": "receive" }, is: DERIVED_KIND.receive },
    { kind: 5, lastsMs: 3, attributes: { "messaging.operation": "receive" }, is: DERIVED_KIND.receive },
    { kind: 5, lastsMs: 3, attributes: { "messaging.operation.name": "poll" }, is: DERIVED_KIND.receive },
    { kind: 5, lastsMs: 3, attributes: { "messaging.operation.type": "process" }, is: 5 },
    {
      kind: 2,
      lastsMs: 900,
      attributes: { "http.response.header.content-type": ["text/event-stream; charset=utf-8"] },
      is: DERIVED_KIND.stream,
    },
    {
      kind: 2,
      lastsMs: 900,
      attributes: { "http.request.header.accept": "text/event-stream" },
      is: DERIVED_KIND.stream,
    },
    { kind: 2, lastsMs: 900, attributes: { "http.response.status_code": 101 }, is: DERIVED_KIND.stream },
    { kind: 2, lastsMs: 900, attributes: { "http.status_code": "101" }, is: DERIVED_KIND.stream },
    { kind: 2, lastsMs: 900, attributes: { "url.scheme": "wss" }, is: DERIVED_KIND.stream },
    { kind: 2, lastsMs: 200, attributes: { "url.scheme": "wss" }, is: 2 },
    { kind: 2, lastsMs: 900, attributes: { "http.response.status_code": 200, "url.scheme": "https" }, is: 2 },
    { kind: 2, lastsMs: 900, attributes: { code: -1, tags: [], "url.scheme": [] }, is: 2 },
  ])(
    "are of the kind $is by $attributes, kind $kind and $lastsMs ms",
    ({ kind, lastsMs, attributes, is }) => {
      const spans = [undefined, "b1b2b3b4b5b6b7b8"].map((parentId) =>
        aSpan({ kind, endMs: NOW_MS + lastsMs, attributes, ...(parentId !== undefined && { parentId }) }),
      );
      expect([...decoded(encoding, spans).kind.subarray(0, 2)]).toEqual([is, is]);
    },
  );

  it("are waits where a service polls its broker as a client, outside of any request", () => {
    const attributes = { "messaging.operation.type": "receive" };
    const spans = [undefined, "b1b2b3b4b5b6b7b8"].map((parentId) =>
      aSpan({ kind: 3, attributes, ...(parentId !== undefined && { parentId }) }),
    );
    expect([...decoded(encoding, spans).kind.subarray(0, 2)]).toEqual([DERIVED_KIND.receive, 3]);
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
    { what: "a length of 2^32, which 32 bits would take for 0", hex: "0a8080808010" },
    { what: "a length of 2^64", hex: "0a8080808080808080800212" },
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
    { what: "deep nesting in an attribute", text: `{"x":${"[".repeat(1_000_000)}` },
    { what: "a second value after it", text: "{} {}" },
    { what: "a comma before the end", text: '{"x":[1,],}' },
    { what: "a string without an end", text: '{"x":"abc' },
    { what: "a line break in a string", text: '{"x":"a\nb"}' },
    {
      what: "an escape that does not exist",
      text: '{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"\\q"}]}]}]}',
    },
    { what: "a word that is no literal", text: '{"x":nil}' },
  ])("with $what is malformed", ({ text }) => {
    expect(() => decoder.decode(Buffer.from(text), emptyBatch())).toThrow(
      /not an ExportTraceServiceRequest: /,
    );
  });

  it("in bytes that are no UTF-8 is malformed", () => {
    expect(() => decoder.decode(Buffer.from([0x22, 0xff, 0x22]), emptyBatch())).toThrow(TradewindError);
  });

  it("is read however it is spaced and whichever strings it holds, past values of any kind", () => {
    const spaces = fc.stringMatching(/^[ \n\r\t]{0,3}$/);
    const texts = fc.oneof(fc.string({ unit: "binary" }), fc.constant('"\\\u0000/\ud83d\ude00\b'));
    fc.assert(
      fc.property(fc.jsonValue(), texts, spaces, fc.boolean(), (value, text, space, isEscaped) => {
        const name = text.isWellFormed() ? text : "";
        const span = { junk: value, ...spanInJson(), name, more: [value, { [name]: value }] };
        const request = {
          junk: value,
          resourceSpans: [{ scopeSpans: [{ junk: value, spans: [span] }] }],
          last: 0,
        };
        const plain = JSON.stringify(request, undefined, space);
        const escaped = plain.replaceAll(
          /[^\u0020-\u007e\s]/g,
          (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
        );
        const batch = emptyBatch();
        decoder.decode(Buffer.from(isEscaped ? escaped : plain), batch);
        expect(recordsOf(batch)).toMatchObject([{ name: name.slice(0, 804), spanId: "a1a2a3a4a5a6a7a8" }]);
      }),
      { numRuns: 200 },
    );
  });

  it("may name the resource after its spans, and null for what it does not say", () => {
    const nothing = { parentSpanId: null, traceState: null, name: null, kind: null, status: null };
    const resource = { attributes: [{ key: "service.name", value: { stringValue: "frontend" } }] };
    const spans = [{ ...spanInJson(), ...nothing, startTimeUnixNano: null, endTimeUnixNano: null }];
    const batch = emptyBatch();
    const request = {
      resourceSpans: [{ scopeSpans: [{ spans }], schemaUrl: "u", resource }, { resource: null }],
    };
    decoder.decode(Buffer.from(`\ufeff${JSON.stringify(request)}`), batch);
    expect(recordsOf(batch)).toMatchObject([
      {
        startNs: -NOW_MS * 1e6,
        durationNs: 0,
        kind: 0,
        error: 0,
        name: "",
        resource: { service: "frontend" },
      },
    ]);
  });

  it("keeps nanoseconds exact where times are strings, and as exact as a number is where they are numbers", () => {
    const times = (start: string, end: string): string =>
      `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"${"1".repeat(32)}","spanId":"${"2".repeat(16)}",` +
      `"startTimeUnixNano":${start},"endTimeUnixNano":${end}}]}]}]}`;
    const batch = emptyBatch();
    decoder.decode(Buffer.from(times('"1800000000000000001"', "1800000000000000256")), batch);
    decoder.decode(Buffer.from(times('"18446744073709551615"', '"99"')), batch);
    expect(recordsOf(batch)).toMatchObject([
      { startNs: 1, durationNs: 255 },
      { startNs: 1.6646744073709552e19 },
    ]);
  });

  it.each([
    { what: "a kind by its name", change: { kind: "SPAN_KIND_CLIENT" }, seen: { kind: SPAN_KIND.client } },
    { what: "a status by its name", change: { status: { code: "STATUS_CODE_ERROR" } }, seen: { error: 1 } },
    {
      what: "times with an exponent",
      change: { startTimeUnixNano: "1.8e18", endTimeUnixNano: "1.800000000256e18" },
      seen: { startNs: 0, durationNs: 256_000_000 },
    },
    {
      what: "times with a fraction",
      change: { startTimeUnixNano: "1800000000000000000.5", endTimeUnixNano: "1800000000100000000.5" },
      seen: { startNs: 0, durationNs: 100_000_000 },
    },
  ])("may have $what, as the Collector takes it", ({ change, seen }) => {
    const request = jsonRequest([aSpan()]) as { resourceSpans: { scopeSpans: { spans: unknown[] }[] }[] };
    const { spans } = request.resourceSpans[0]!.scopeSpans[0]!;
    spans[0] = { ...(spans[0] as object), ...change };
    const batch = emptyBatch();
    new JsonDecoder().decode(Buffer.from(JSON.stringify(request)), batch);
    expect(recordsOf(batch)).toMatchObject([seen]);
  });

  it.each([
    {
      what: "protobuf's own names",
      rename: (text: string) =>
        text.replace(/"(\w+)":/g, (key) => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)),
    },
    {
      what: "the old name of scopes",
      rename: (text: string) =>
        text
          .replace('"scopeSpans"', '"instrumentationLibrarySpans"')
          .replace('"scope"', '"instrumentationLibrary"'),
    },
  ])("may have $what for its fields", ({ rename }) => {
    const spans = [aSpan({ parentId: "b1b2b3b4b5b6b7b8", traceState: "ot=th:8" })];
    const [usual, renamed] = [emptyBatch(), emptyBatch()];
    const decoder = new JsonDecoder();
    const text = JSON.stringify(jsonRequest(spans));
    decoder.decode(Buffer.from(text), usual);
    decoder.decode(Buffer.from(rename(text)), renamed);
    expect(recordsOf(renamed)).toEqual(recordsOf(usual));
    expect(recordsOf(usual)).toMatchObject([{ name: "GET /hotels", adjustedCount: 2 }]);
    expect([...decoder.notUnderstood]).toEqual([]);
  });

  it("tells of a kind and of fields that are none of OTLP, and of no more than five", () => {
    const decoder = new JsonDecoder();
    const kinds = Array.from({ length: 9 }, (_, index) => ({ ...aSpan(), kind: `KIND_${index}` }));
    const request = { resource_span: [], ...(jsonRequest(kinds as never) as object) };
    const batch = emptyBatch();
    decoder.decode(Buffer.from(JSON.stringify(request)), batch);
    expect(recordsOf(batch).every(({ kind }) => kind === SPAN_KIND.unspecified)).toBe(true);
    expect([...decoder.notUnderstood]).toEqual(["resource_span", "KIND_0", "KIND_1", "KIND_2", "KIND_3"]);
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

/** The members of a span that make it count. */
function spanInJson(): object {
  return { traceId: "0102030405060708090A0b0c0d0e0f10", spanId: "a1a2a3a4a5a6a7a8" };
}

const LIMITS = { maxSpans: 3, maxParts: 12, maxSkipped: 100 };

describe.each<Encoding>(["protobuf", "JSON"])("a small request of many small parts in %s", (encoding) => {
  const decoder = encoding === "protobuf" ? new ProtobufDecoder(LIMITS) : new JsonDecoder(LIMITS);
  const bytesOf = (spans: readonly WireSpan[], resource?: Record<string, string>): Uint8Array =>
    encoding === "protobuf"
      ? protobufRequest(spans, resource)
      : Buffer.from(JSON.stringify(jsonRequest(spans, resource)));
  const groups = (count: number): Uint8Array =>
    encoding === "protobuf"
      ? Buffer.from("0a00".repeat(count), "hex")
      : Buffer.from(`{"resourceSpans":[${Array.from({ length: count }, () => "{}").join(",")}]}`);
  const many = (count: number): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]));

  it.each([
    {
      what: "spans",
      ok: bytesOf([aSpan(), aSpan(), aSpan()]),
      over: bytesOf(Array.from({ length: 4 }, () => aSpan())),
    },
    {
      what: "spans without ids",
      ok: bytesOf(Array.from({ length: 3 }, () => aSpan({ traceId: "" }))),
      over: bytesOf(Array.from({ length: 4 }, () => aSpan({ traceId: "" }))),
    },
    { what: "groups", ok: groups(12), over: groups(13) },
    { what: "resource attributes", ok: bytesOf([aSpan()], many(9)), over: bytesOf([aSpan()], many(10)) },
    {
      what: "span attributes",
      ok: bytesOf([aSpan({ attributes: many(2) })]),
      over: bytesOf([aSpan({ attributes: many(101) })]),
    },
  ])("is refused for its number of $what", ({ ok, over }) => {
    expect(outcome(decoder, ok, emptyBatch())).toBe("spans");
    expect(outcome(decoder, over, emptyBatch())).toBe("too-many-spans");
    expect(outcome(decoder, ok, emptyBatch())).toBe("spans");
  });

  it("may hold 50,000 fields without a span, whatever else it may hold", () => {
    const unlimited = { maxSpans: 1e6, maxParts: 1e6, maxSkipped: 1e6 };
    const reader = encoding === "protobuf" ? new ProtobufDecoder(unlimited) : new JsonDecoder(unlimited);
    const fields = (count: number): Uint8Array =>
      encoding === "protobuf"
        ? Buffer.from("5000".repeat(count), "hex")
        : Buffer.from(`{${Array.from({ length: count }, () => '"a":1').join(",")}}`);
    expect(outcome(reader, fields(50_000), emptyBatch())).toBe("spans");
    expect(outcome(reader, fields(50_001), emptyBatch())).toBe("too-many-spans");
  });

  it("of the largest size offers to pause often, so that others get their turn", () => {
    const spans = Array.from({ length: 2_000 }, () => aSpan({ attributes: many(5) }));
    const bytes = bytesOf(spans);
    const unlimited = { maxSpans: 1e6, maxParts: 1e6, maxSkipped: 1e6 };
    const steps = (
      encoding === "protobuf" ? new ProtobufDecoder(unlimited) : new JsonDecoder(unlimited)
    ).steps(bytes, emptyBatch());
    expect([...steps].length).toBeGreaterThan(bytes.length / 20_000);
  });
});
