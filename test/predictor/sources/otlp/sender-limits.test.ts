import { once } from "node:events";
import { request } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import type { ClientHttp2Session } from "node:http2";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { Metadata, credentials, makeGenericClientConstructor } from "@grpc/grpc-js";
import type { ServiceError } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { startOtlpGrpcReceiver } from "../../../../predictor/sources/otlp/grpc-receiver.ts";
import { startOtlpReceiver } from "../../../../predictor/sources/otlp/receiver.ts";
import type { OtlpReceiverOptions } from "../../../../predictor/sources/otlp/receiver-options.ts";
import type { OtlpReceiver } from "../../../../predictor/sources/otlp/receiver.ts";
import { waitUntil } from "../../../wait-until.ts";
import { aSpan, protobufRequest } from "./messages.ts";

/** Senders are told apart by their address: loopback has many. */
const BAD = "127.0.0.2";
const GOOD = "127.0.0.3";
const PATH = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const BODY = Buffer.from(protobufRequest([aSpan()]));

async function started(
  start: (options: OtlpReceiverOptions) => Promise<OtlpReceiver>,
  limits: OtlpReceiverOptions["limits"] = {},
): Promise<URL> {
  const receiver = await start({
    listen: "127.0.0.1:0",
    onSpans: (batch) => ({ accepted: batch.length, rejected: 0, reasons: {} }),
    limits,
  });
  onTestFinished(async () => receiver.stop());
  return new URL(receiver.address.includes("//") ? receiver.address : `http://${receiver.address}`);
}

function opened({ port }: URL, localAddress: string): Socket {
  const socket = connect({ host: "127.0.0.1", port: Number(port), localAddress });
  onTestFinished(() => void socket.destroy());
  return socket.on("error", () => undefined).resume();
}

interface Answer {
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
}

/** One export over HTTP, on a connection of its own; status 0 when the connection is closed on it. */
async function posted({ port }: URL, localAddress: string, body = BODY): Promise<Answer> {
  return new Promise((resolve) => {
    const headers = { "content-type": "application/x-protobuf", "content-length": body.length };
    const options = { port, host: "127.0.0.1", localAddress, path: "/v1/traces", headers, agent: false };
    request({ ...options, method: "POST" }, (response) => {
      response.resume();
      resolve({ status: response.statusCode, retryAfter: response.headers["retry-after"] });
    })
      .on("error", () => resolve({ status: 0, retryAfter: undefined }))
      .end(body);
  });
}

async function sendHalfOfABody(url: URL, localAddress: string): Promise<Socket> {
  const socket = opened(url, localAddress);
  await once(socket, "connect");
  socket.write(
    `POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
  );
  return socket;
}

describe("OTLP/HTTP with one bad sender", () => {
  it("64 half-sent bodies of one sender leave the others served", async () => {
    const url = await started(startOtlpReceiver, { maxSenderRequests: 16 });
    const half: Promise<Socket>[] = [];
    for (let index = 0; index < 64; index += 1) half.push(sendHalfOfABody(url, BAD));
    await Promise.all(half);
    for (let index = 0; index < 20; index += 1) expect((await posted(url, GOOD)).status).toBe(200);
  });

  it("half-sent bodies, also renewed ones, leave whole requests of the same sender served", async () => {
    const url = await started(startOtlpReceiver, { maxSenderRequests: 16 });
    const statuses: (number | undefined)[] = [];
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(Array.from({ length: 32 }, async () => sendHalfOfABody(url, BAD)));
      statuses.push((await posted(url, BAD)).status);
    }
    expect(statuses).toEqual(Array.from({ length: 20 }, () => 200));
  });

  it("64 half-sent bodies are cut off once no byte of them comes, and the sender is served again", async () => {
    const url = await started(startOtlpReceiver, { maxSenderRequests: 64, bodyIdleMs: 300 });
    const half = await Promise.all(Array.from({ length: 64 }, async () => sendHalfOfABody(url, BAD)));
    await waitUntil(() => half.every(({ destroyed }) => destroyed));
    expect((await posted(url, BAD)).status).toBe(200);
  });

  it("heads without bodies make way for whole requests, of the same sender too", async () => {
    const url = await started(startOtlpReceiver, { maxSenderRequests: 16 });
    for (let index = 0; index < 64; index += 1) {
      const socket = opened(url, BAD);
      await once(socket, "connect");
      socket.write(
        "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n",
      );
    }
    for (let index = 0; index < 20; index += 1) {
      expect((await posted(url, GOOD)).status).toBe(200);
      expect((await posted(url, BAD)).status).toBe(200);
    }
  });

  it("1,000 idle connections of one sender leave the others served", async () => {
    const url = await started(startOtlpReceiver);
    await Promise.all(Array.from({ length: 1_000 }, async () => once(opened(url, BAD), "connect")));
    for (let index = 0; index < 20; index += 1) expect((await posted(url, GOOD)).status).toBe(200);
    expect((await posted(url, BAD)).status).toBe(200);
  });

  it("a sender's bodies may hold no more memory than its share", async () => {
    const url = await started(startOtlpReceiver, { maxBufferedBytes: 4_000, maxSenderBufferedBytes: 1_000 });
    expect((await posted(url, BAD, Buffer.alloc(1_500))).status).toBe(503);
    const head =
      "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 950\r\n\r\n";
    const socket = opened(url, BAD);
    socket.write(head + "{".repeat(940));
    expect((await posted(url, GOOD)).status).toBe(200);
    socket.destroy();
    await waitUntil(async () => (await posted(url, BAD)).status === 200);
  });

  it("a sender faster than its rate is answered 429 with the time to wait, the others are served", async () => {
    const spans = { maxSenderSpansPerSecond: 1, senderBurstSeconds: 10 };
    const url = await started(startOtlpReceiver, spans);
    const many = Buffer.from(protobufRequest(Array.from({ length: 30 }, () => aSpan())));
    expect((await posted(url, BAD, many)).status).toBe(200);
    const { status, retryAfter } = await posted(url, BAD);
    expect(status).toBe(429);
    expect(Number(retryAfter)).toBeGreaterThanOrEqual(19);
    expect(Number(retryAfter)).toBeLessThanOrEqual(20);
    expect((await posted(url, GOOD)).status).toBe(200);
  });
});

/** An HTTP/2 connection from one loopback address, and calls on it that have a head and no message. */
async function connected(url: URL, localAddress: string): Promise<ClientHttp2Session> {
  const session = connectHttp2(url, { createConnection: () => opened(url, localAddress) });
  session.on("error", () => undefined);
  onTestFinished(() => session.destroy());
  await once(session, "remoteSettings");
  return session;
}

function halfOpen(session: ClientHttp2Session): { status: string | undefined; isClosed: boolean } {
  const seen: { status: string | undefined; isClosed: boolean } = { status: undefined, isClosed: false };
  const head = { ":method": "POST", ":path": PATH, "content-type": "application/grpc", te: "trailers" };
  session
    .request(head)
    .on("response", (headers) => (seen.status = headers["grpc-status"] as string | undefined))
    .on("error", () => undefined)
    .on("close", () => (seen.isClosed = true))
    .resume();
  return seen;
}

/** One export by a real gRPC client, from 127.0.0.1. */
async function exported(url: URL): Promise<ServiceError | undefined> {
  const client = new (makeGenericClientConstructor({}, "test"))(url.host, credentials.createInsecure());
  const bytes = (value: Buffer): Buffer => value;
  const deadline = { deadline: Date.now() + 5_000 };
  return new Promise((resolve) => {
    client.makeUnaryRequest(PATH, bytes, bytes, BODY, new Metadata(), deadline, (error) => {
      client.close();
      resolve(error ?? undefined);
    });
  });
}

describe("OTLP/gRPC with one bad sender", () => {
  it("128 calls without a message, over four connections of one sender, leave the others served", async () => {
    const url = await started(startOtlpGrpcReceiver);
    for (let connection = 0; connection < 4; connection += 1) {
      const session = await connected(url, BAD);
      for (let call = 0; call < 32; call += 1) halfOpen(session);
      // An answer to a ping comes after what was sent before it.
      await new Promise<void>((resolve) => void session.ping(() => resolve()));
    }
    for (let index = 0; index < 20; index += 1) expect(await exported(url)).toBeUndefined();
  });

  it("a call of which no byte of the message comes is ended", async () => {
    const url = await started(startOtlpGrpcReceiver, { bodyIdleMs: 100 });
    const call = halfOpen(await connected(url, BAD));
    await waitUntil(() => call.status === "4" && call.isClosed);
  });

  it("calls without a message make way for the next ones of their sender", async () => {
    const url = await started(startOtlpGrpcReceiver, { maxSenderRequests: 4, maxConnectionRequests: 32 });
    const session = await connected(url, BAD);
    const calls = Array.from({ length: 10 }, () => halfOpen(session));
    await waitUntil(() => calls.filter(({ status }) => status === "14").length === 6);
    expect(calls.slice(6).map(({ status }) => status)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it("1,000 idle connections of one sender leave the others served", async () => {
    const url = await started(startOtlpGrpcReceiver);
    await Promise.all(Array.from({ length: 1_000 }, async () => once(opened(url, BAD), "connect")));
    for (let index = 0; index < 5; index += 1) expect(await exported(url)).toBeUndefined();
  });

  it("a connection on which no call begins is closed", async () => {
    const url = await started(startOtlpGrpcReceiver, { firstRequestMs: 100 });
    const raw = opened(url, BAD);
    const session = await connected(url, BAD);
    await waitUntil(() => raw.destroyed && session.destroyed);
    expect(await exported(url)).toBeUndefined();
  });

  it("a sender faster than its rate is told by RetryInfo when to come back", async () => {
    const url = await started(startOtlpGrpcReceiver, { maxSenderSpansPerSecond: 0.1, senderBurstSeconds: 1 });
    expect(await exported(url)).toBeUndefined();
    const error = await exported(url);
    expect(error).toMatchObject({ code: 8, details: expect.stringContaining("come back after") as string });
    const details = error?.metadata.get("grpc-status-details-bin")[0];
    expect(details?.toString("latin1")).toContain("type.googleapis.com/google.rpc.RetryInfo");
  });
});
