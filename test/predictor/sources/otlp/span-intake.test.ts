import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { Admission } from "../../../../predictor/sources/otlp/admission.ts";
import { BodyWork } from "../../../../predictor/sources/otlp/body-work.ts";
import { DEFAULT_RECEIVER_LIMITS } from "../../../../predictor/sources/otlp/limits.ts";
import { JSON_TYPE, PROTOBUF } from "../../../../predictor/sources/otlp/responses.ts";
import { SpanIntake } from "../../../../predictor/sources/otlp/span-intake.ts";
import type { OfferedBody } from "../../../../predictor/sources/otlp/span-intake.ts";
import { ProtobufDecoder } from "../../../../predictor/sources/otlp/decode-protobuf.ts";
import { NOW_MS, aSpan, emptyBatch, jsonRequest, protobufRequest, recordsOf } from "./messages.ts";
import type { WireSpan } from "./messages.ts";

type Records = ReturnType<typeof recordsOf>;

/** A clock by which every look at it takes 10 ms, more than work may take in one go. */
function slowClock(): Clock {
  let ms = 0;
  return { nowMs: () => NOW_MS, monotonicMs: () => (ms += 10) };
}

function intakeOf(limits: Partial<typeof DEFAULT_RECEIVER_LIMITS> = {}, clock: Clock = slowClock()) {
  const received: Records[] = [];
  const merged = { ...DEFAULT_RECEIVER_LIMITS, ...limits };
  const admission = new Admission(merged, clock);
  const intake = new SpanIntake({
    clock,
    limits: merged,
    work: new BodyWork({ clock, limits: merged, admission }),
    onSpans: (batch) => {
      received.push(recordsOf(batch));
      return {
        accepted: batch.length,
        rejected: batch.invalidIds,
        reasons: batch.invalidIds === 0 ? {} : { "invalid-id": batch.invalidIds },
      };
    },
  });
  const take = async (bytes: Uint8Array, more: Partial<OfferedBody> = {}, sender = "10.0.0.1") => {
    const call = admission.admit(sender);
    try {
      const maxBytes = merged.maxBodyBytes;
      return await intake.take({ bytes, compression: "none", maxBytes, form: PROTOBUF, ...more }, call);
    } finally {
      call.end();
    }
  };
  return { take, received, admission };
}

const numbered = (count: number, more: Partial<WireSpan> = {}): WireSpan[] =>
  Array.from({ length: count }, (_, index) =>
    aSpan({ spanId: (index + 1).toString(16).padStart(16, "0"), name: `op-${index % 7}`, ...more }),
  );
const jsonBody = (spans: readonly WireSpan[]): Uint8Array => Buffer.from(JSON.stringify(jsonRequest(spans)));

describe("intake of OTLP bodies", () => {
  it.each([{ form: PROTOBUF, body: protobufRequest } as const, { form: JSON_TYPE, body: jsonBody } as const])(
    "lets the process do other work while a large body in $form is decoded and counted",
    async (row) => {
      const { take, received } = intakeOf();
      let turns = 0;
      let isOver = false;
      const other = (): void => {
        turns += 1;
        if (!isOver) setImmediate(other);
      };
      setImmediate(other);
      const bytes = row.body(numbered(5_000));
      expect(await take(bytes, { form: row.form })).toMatchObject({
        accepted: 5_000,
        bytes: bytes.length,
      });
      isOver = true;
      // One turn for every 16 KiB decoded, one for every 1,024 spans handed on.
      expect(turns).toBeGreaterThan(bytes.length / 20_000 + 4);
      expect(received.flat().map(({ spanId }) => spanId)).toEqual(
        numbered(5_000).map(({ spanId }) => spanId),
      );
      expect(received.map(({ length }) => length)).toEqual([1024, 1024, 1024, 1024, 904]);
    },
  );

  it("keeps every span with its resource when a body of many resources is handed on in parts", async () => {
    const { take, received } = intakeOf();
    const parts = Array.from({ length: 3_000 }, (_, index) =>
      protobufRequest(numbered(1 + (index % 2)), { "service.name": `s${index}` }),
    );
    await take(Buffer.concat(parts));
    const services = received.flat().map(({ resource }) => (resource as { service: string }).service);
    expect(services).toEqual(
      parts.flatMap((_, index) => Array.from({ length: 1 + (index % 2) }, () => `s${index}`)),
    );
  });

  it.each([
    { what: "of the wrong length", bad: aSpan({ traceId: "01" }) },
    { what: "of zero", bad: aSpan({ spanId: "0".repeat(16) }) },
    { what: "of nothing at all", bad: aSpan({ traceId: "", spanId: "" }) },
  ])("refuses a body most of whose spans have ids $what, and forwards nothing of it", async ({ bad }) => {
    const { take, received } = intakeOf();
    const forwarded: Uint8Array[] = [];
    const forward = (bytes: Uint8Array): void => void forwarded.push(bytes);
    for (const [form, body] of [
      [PROTOBUF, protobufRequest],
      [JSON_TYPE, jsonBody],
    ] as const) {
      await expect(take(body([bad, bad, aSpan()]), { form, forward })).rejects.toMatchObject({
        statusCode: 400,
        rpcCode: 3,
        reason: "invalid",
        message: expect.stringContaining("2 of 3 spans have a trace id or span id of zero") as string,
      });
    }
    expect([received, forwarded]).toEqual([[], []]);
    expect(await take(protobufRequest([bad, aSpan()]), { forward })).toMatchObject({
      accepted: 1 + Number(bad.traceId?.length === 32),
    });
  });

  it("takes nothing of a body that is malformed at its end, or holds too many spans", async () => {
    const { take, received } = intakeOf({ maxSpans: 2_000 });
    const whole = protobufRequest(numbered(2_000));
    await expect(take(whole.subarray(0, whole.length - 1))).rejects.toMatchObject({ statusCode: 400 });
    await expect(take(protobufRequest(numbered(2_001)))).rejects.toMatchObject({
      statusCode: 413,
      rpcCode: 8,
    });
    expect(received).toEqual([]);
    expect(await take(whole)).toMatchObject({ accepted: 2_000 });
  });

  it("forwards what was accepted without attributes, so that a small body does not grow on its way", async () => {
    const { take } = intakeOf();
    const spans = numbered(2_500, { attributes: { "db.statement": "select ".repeat(100) } });
    const body = protobufRequest(spans, { "service.name": "frontend", "host.name": "h".repeat(100) });
    const forwarded: Uint8Array[] = [];
    const compressed = gzipSync(body);
    await take(compressed, { compression: "gzip", forward: (bytes) => void forwarded.push(bytes) });
    expect(forwarded).toHaveLength(1);
    expect(forwarded[0]!.length).toBeLessThan(body.length / 8);
    const [there, here] = [emptyBatch(), emptyBatch()];
    new ProtobufDecoder().decode(forwarded[0]!, there);
    new ProtobufDecoder().decode(body, here);
    expect(recordsOf(there)).toEqual(recordsOf(here));
  });

  it("forwards nothing when nothing was accepted", async () => {
    const clock = slowClock();
    const limits = DEFAULT_RECEIVER_LIMITS;
    const admission = new Admission(limits, clock);
    const onSpans = () => ({ accepted: 0, rejected: 1, reasons: { "too-old": 1 } });
    const work = new BodyWork({ clock, limits, admission });
    const intake = new SpanIntake({ clock, limits, work, onSpans });
    const forwarded: Uint8Array[] = [];
    const taken = await intake.take(
      {
        bytes: protobufRequest([aSpan()]),
        compression: "none",
        maxBytes: 1e6,
        form: PROTOBUF,
        forward: (bytes) => void forwarded.push(bytes),
      },
      admission.admit("10.0.0.1"),
    );
    expect(taken).toMatchObject({ accepted: 0, rejected: 1, reasons: { "too-old": 1 } });
    expect(forwarded).toEqual([]);
  });

  it("lets senders take turns, whoever has queued more", async () => {
    const { take } = intakeOf();
    const order: string[] = [];
    const send = async (sender: string, name: string): Promise<void> => {
      await take(protobufRequest(numbered(2_000)), {}, sender);
      order.push(name);
    };
    await Promise.all([send("a", "a1"), send("a", "a2"), send("a", "a3"), send("a", "a4"), send("b", "b1")]);
    expect(order).toEqual(["a1", "a2", "b1", "a3", "a4"]);
  });

  it("charges a sender for what it sent, refused or not, before its next body", async () => {
    const clock = { nowMs: () => NOW_MS, monotonicMs: () => 0 };
    const { take } = intakeOf({ maxSenderSpansPerSecond: 100, senderBurstSeconds: 2 }, clock);
    const bad = protobufRequest(Array.from({ length: 250 }, () => aSpan({ traceId: "" })));
    const results = await Promise.allSettled([
      take(bad),
      take(bad),
      take(protobufRequest([aSpan()]), {}, "b"),
    ]);
    expect(results).toMatchObject([
      { reason: { statusCode: 400 } },
      { reason: { statusCode: 429, retryAfterSeconds: 1 } },
      { status: "fulfilled" },
    ]);
  });

  it("gives up a body that would have to wait longer than its sender does", async () => {
    const { take } = intakeOf({ requestTimeoutMs: 200 });
    const results = await Promise.allSettled([
      take(protobufRequest(numbered(10_000))),
      take(protobufRequest([aSpan()])),
    ]);
    expect(results).toMatchObject([
      { status: "fulfilled" },
      { reason: { statusCode: 503, reason: "calls" } },
    ]);
  });
});
