import { once } from "node:events";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import type * as zlib from "node:zlib";
import { expect, it, onTestFinished, vi } from "vitest";
import { startOtlpReceiver } from "@tradewind/predictor/sources/otlp/receiver.ts";
import { SpanIntake } from "@tradewind/predictor/sources/otlp/span-intake.ts";
import { waitUntil } from "../../../wait-until.ts";
import { aSpan, protobufRequest, recordsOf } from "./messages.ts";

/** Decompression, and with it the turn of a compressed body, ends when the test says so. */
const { gate } = vi.hoisted(() => ({ gate: Promise.withResolvers<void>() }));
vi.mock("node:zlib", async (original) => {
  const real = await original<typeof zlib>();
  const gunzip = (...args: Parameters<typeof real.gunzip>): void =>
    void gate.promise.then(() => real.gunzip(...args));
  return { ...real, default: { ...real, gunzip } };
});

const TYPE = "application/x-protobuf";
const bodyOf = (name: string): Buffer => Buffer.from(protobufRequest([aSpan({ name })]));

it("OTLP/HTTP keeps place and bytes of a sender that hung up while its body waits, and takes none of its spans", async () => {
  const names: unknown[] = [];
  const codes: string[] = [];
  const [compressed, bytes] = [gzipSync(bodyOf("first")), bodyOf("left").length];
  const take = vi.spyOn(SpanIntake.prototype, "take");
  const receiver = await startOtlpReceiver({
    listen: "127.0.0.1:0",
    onSpans: (batch) => {
      names.push(...recordsOf(batch).map(({ name }) => name));
      return { accepted: batch.length, rejected: 0, reasons: {} };
    },
    limits: { maxSenderBufferedBytes: compressed.length + 4 * bytes },
    metrics: {
      request: (_transport, code) => codes.push(code),
      refused: () => undefined,
      connections: () => undefined,
      spans: () => undefined,
      durations: () => undefined,
      logs: () => undefined,
      bytes: () => undefined,
    },
  });
  onTestFinished(async () => receiver.stop());
  const url = new URL("/v1/traces", receiver.address);
  const post = async (body: Buffer, more: Record<string, string> = {}): Promise<number> => {
    return (await fetch(url, { method: "POST", body, headers: { "content-type": TYPE, ...more } })).status;
  };

  const first = post(compressed, { "content-encoding": "gzip" });
  await waitUntil(() => take.mock.calls.length === 1, 5_000, "the first body to have its turn");
  const senders = Array.from({ length: 4 }, () => connect(Number(url.port), url.hostname));
  for (const sender of senders) {
    await once(sender, "connect");
    sender.write(
      `POST ${url.pathname} HTTP/1.1\r\nHost: x\r\nContent-Type: ${TYPE}\r\nContent-Length: ${bytes}\r\n\r\n`,
    );
    sender.write(bodyOf("left"));
  }
  await waitUntil(() => take.mock.calls.length === 5, 5_000, "four bodies to wait");
  for (const sender of senders) sender.destroy();
  await waitUntil(() => codes.length === 4, 5_000, "the receiver to see that they hung up");

  expect(await post(bodyOf("late"))).toBe(503);
  gate.resolve();
  expect(await first).toBe(200);
  expect(await post(bodyOf("next"))).toBe(200);
  expect(names).toEqual(["first", "next"]);
});
