import { Metadata, credentials, makeGenericClientConstructor, status } from "@grpc/grpc-js";
import type { Client, ServiceError } from "@grpc/grpc-js";
import { connect } from "node:http2";
import { deflateSync, zstdCompressSync } from "node:zlib";
import protobuf from "protobufjs/minimal.js";
import { afterEach, describe, expect, it } from "vitest";
import { startOtlpGrpcReceiver } from "../../../../predictor/sources/otlp/grpc-receiver.ts";
import type { OtlpReceiverOptions } from "../../../../predictor/sources/otlp/receiver-options.ts";
import type { OtlpReceiver } from "../../../../predictor/sources/otlp/receiver.ts";
import { aSpan, protobufRequest, recordsOf } from "./messages.ts";

const PATH = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

let receiver: OtlpReceiver | undefined;
let client: Client | undefined;
afterEach(async () => {
  client?.close();
  await receiver?.stop();
  receiver = undefined;
  client = undefined;
});

async function started(more: Partial<OtlpReceiverOptions> = {}) {
  const received: Record<string, unknown>[] = [];
  const codes: string[] = [];
  receiver = await startOtlpGrpcReceiver({
    listen: "127.0.0.1:0",
    onSpans: (batch) => {
      received.push(...recordsOf(batch));
      return { accepted: batch.length, rejected: 0, reasons: {} };
    },
    metrics: {
      request: (_transport, code) => codes.push(code),
      refused: (_transport, reason) => codes.push(reason),
      connections: () => undefined,
      durations: () => undefined,
      logs: () => undefined,
      spans: () => undefined,
      bytes: () => undefined,
    },
    ...more,
  });
  client = new (makeGenericClientConstructor({}, "test"))(receiver.address, credentials.createInsecure());
  return { received, codes, address: receiver.address };
}

/** Exports bytes; gives the answer's bytes or the error. */
async function exported(
  bytes: Uint8Array,
  metadata = new Metadata(),
  path = PATH,
): Promise<Buffer | ServiceError> {
  return new Promise((resolve) => {
    client!.makeUnaryRequest(
      path,
      (value: Uint8Array) => Buffer.from(value),
      (value: Buffer) => value,
      bytes,
      metadata,
      { deadline: Date.now() + 5_000 },
      (error, answer) => {
        resolve(error ?? answer ?? Buffer.alloc(0));
      },
    );
  });
}

const codeOf = (outcome: Buffer | ServiceError): number =>
  outcome instanceof Error ? outcome.code : status.OK;

/** The status of a call with these bytes, which stands before the answer or after it. */
async function statusOf(address: string, head: Record<string, string>, body: Uint8Array): Promise<unknown> {
  const session = connect(`http://${address}`);
  const stream = session.request({
    ":method": "POST",
    ":path": PATH,
    "content-type": "application/grpc",
    ...head,
  });
  const seen: Record<string, unknown> = {};
  const take = (headers: object): void => void Object.assign(seen, headers);
  stream.on("response", take).on("trailers", take);
  stream.resume().end(body);
  await new Promise((resolve) => stream.once("close", resolve));
  session.destroy();
  expect(seen[":status"]).toBe(200);
  return seen["grpc-status"];
}

/** A Snappy block that refers to nothing before. */
function literally(bytes: Uint8Array): Buffer {
  const length = [(bytes.length & 127) | 128, bytes.length >> 7];
  return Buffer.concat([Buffer.from([...length, 61 << 2, bytes.length - 1, (bytes.length - 1) >> 8]), bytes]);
}

/** A call whose message never comes to an end. */
function halfSent(address: string) {
  const session = connect(`http://${address}`);
  const stream = session.request({
    ":method": "POST",
    ":path": PATH,
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => undefined);
  session.on("error", () => undefined);
  stream.write(Buffer.from([0, 0, 0, 0, 100, 1, 2, 3]));
  return { session, stream };
}

describe("OTLP/gRPC receiver", () => {
  it("takes spans", async () => {
    const { received, codes } = await started();
    expect(await exported(protobufRequest([aSpan()]))).toEqual(Buffer.alloc(0));
    expect(received).toMatchObject([{ name: "GET /hotels", resource: { service: "frontend" } }]);
    expect(codes).toEqual(["0"]);
  });

  it("tells how many spans were rejected and why", async () => {
    await started({ onSpans: () => ({ accepted: 0, rejected: 2, reasons: { late: 2 } }) });
    const reader = protobuf.Reader.create((await exported(protobufRequest([]))) as Buffer);
    expect([reader.uint32(), reader.uint32() > 0, reader.uint32()]).toEqual([10, true, 8]);
    expect(Number(reader.int64())).toBe(2);
    expect([reader.uint32(), reader.string()]).toEqual([18, "late: 2"]);
  });

  it("refuses malformed messages", async () => {
    const { received } = await started();
    const outcome = await exported(protobufRequest([aSpan()]).subarray(0, 50));
    expect(outcome).toMatchObject({ code: status.INVALID_ARGUMENT });
    expect(received).toEqual([]);
  });

  it("refuses messages over its limit and goes on", async () => {
    await started({ limits: { maxMessageBytes: 100_000 } });
    expect(codeOf(await exported(Buffer.alloc(100_001)))).toBe(status.RESOURCE_EXHAUSTED);
    expect(codeOf(await exported(protobufRequest([aSpan()])))).toBe(status.OK);
  });

  it("answers INTERNAL and tells its owner when the consumer throws", async () => {
    const errors: unknown[] = [];
    await started({
      onSpans: () => {
        throw new Error("consumer broke");
      },
      onError: (error) => errors.push(error),
    });
    expect(await exported(protobufRequest([]))).toMatchObject({
      code: status.INTERNAL,
      details: "the receiver failed; see its log",
    });
    expect(errors).toHaveLength(1);
  });

  it("answers UNAVAILABLE to the half-sent call that must make way for another one", async () => {
    const { address, codes } = await started({ limits: { maxConcurrentRequests: 1 } });
    const { session } = halfSent(address);
    await expect
      .poll(async () => {
        expect(codeOf(await exported(protobufRequest([])))).toBe(status.OK);
        return codes;
      })
      .toContain(String(status.UNAVAILABLE));
    session.destroy();
  });

  it("ends a call whose message takes too long", async () => {
    const { address, codes } = await started({ limits: { requestTimeoutMs: 100 } });
    const { session } = halfSent(address);
    await expect.poll(() => codes).toContain(String(status.DEADLINE_EXCEEDED));
    session.destroy();
  });

  it("stops while a sender is in the middle of a message", async () => {
    const { address } = await started();
    const { session, stream } = halfSent(address);
    const ended = new Promise((resolve) => stream.once("close", resolve));
    await new Promise((resolve) => session.once("connect", resolve));
    await receiver?.stop();
    await ended;
    session.destroy();
  });

  it("takes compressed messages and refuses those that unpack to more than its limit", async () => {
    const { received } = await started({ limits: { maxMessageBytes: 100_000 } });
    const gzip = { "grpc.default_compression_algorithm": 2 };
    const insecure = credentials.createInsecure();
    client = new (makeGenericClientConstructor({}, "test"))(receiver!.address, insecure, gzip);
    expect(await exported(protobufRequest([aSpan({ attributes: { text: "x".repeat(10_000) } })]))).toEqual(
      Buffer.alloc(0),
    );
    expect(received).toHaveLength(1);
    expect(codeOf(await exported(Buffer.alloc(100_001)))).toBe(status.RESOURCE_EXHAUSTED);
  });

  it.each(["metrics.v1.MetricsService", "logs.v1.LogsService"])(
    "takes what is sent to %s",
    async (service) => {
      const { received, codes } = await started();
      const path = `/opentelemetry.proto.collector.${service}/Export`;
      expect(await exported(Buffer.alloc(0), new Metadata(), path)).toEqual(Buffer.alloc(0));
      expect(received).toEqual([]);
      expect(codes).toEqual(["0"]);
    },
  );

  it.each([
    { encoding: "zstd", compress: zstdCompressSync },
    { encoding: "deflate", compress: deflateSync },
    { encoding: "snappy", compress: literally },
  ])("takes messages that a Collector compresses with $encoding", async ({ encoding, compress }) => {
    const { received, address } = await started();
    const message = compress(protobufRequest([aSpan()]));
    const head = Buffer.alloc(5);
    head[0] = 1;
    head.writeUInt32BE(message.length, 1);
    expect(await statusOf(address, { "grpc-encoding": encoding }, Buffer.concat([head, message]))).toBe("0");
    expect(received).toMatchObject([{ name: "GET /hotels" }]);
  });

  it.each([
    { what: "another method", head: { ":path": "/grpc.health.v1.Health/Check" }, code: "12" },
    { what: "another content type", head: { "content-type": "application/json" }, code: "12" },
    { what: "no message", head: {}, code: "3" },
    { what: "half a message", head: {}, body: [0, 0, 0, 0, 9, 1], code: "3" },
    { what: "two messages", head: {}, body: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0], code: "3" },
    { what: "an unknown compression", head: { "grpc-encoding": "br" }, body: [1, 0, 0, 0, 0], code: "12" },
    { what: "a message said to be huge", head: {}, body: [0, 255, 255, 255, 255], code: "8" },
  ])("answers $what with status $code", async ({ head, body, code }) => {
    const { address } = await started();
    expect(await statusOf(address, head, Buffer.from(body ?? []))).toBe(code);
  });

  it("says which address it cannot have", async () => {
    const { address } = await started();
    const onSpans = () => ({ accepted: 0, rejected: 0, reasons: {} });
    await expect(startOtlpGrpcReceiver({ listen: address, onSpans })).rejects.toThrow(
      `cannot listen for OTLP/gRPC on ${address}`,
    );
  });
});
