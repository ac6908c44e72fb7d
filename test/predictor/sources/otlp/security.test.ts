import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Metadata, credentials, makeGenericClientConstructor, status } from "@grpc/grpc-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { createLog } from "@tradewind/core/process/log.ts";
import { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import { AccessTokens } from "@tradewind/core/net/access-tokens.ts";
import { startOtlpGrpcReceiver } from "../../../../predictor/sources/otlp/grpc-receiver.ts";
import { startOtlpReceiver } from "../../../../predictor/sources/otlp/receiver.ts";
import type { OtlpReceiverOptions } from "../../../../predictor/sources/otlp/receiver-options.ts";
import type { OtlpReceiver } from "../../../../predictor/sources/otlp/receiver.ts";
import { fixture, secretDirectory, servedName } from "../../../exporter/serve/keda/secret.ts";
import { waitUntil } from "../../../wait-until.ts";
import { aSpan, protobufRequest } from "./messages.ts";

const PATH = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const BODY = Buffer.from(protobufRequest([aSpan()]));
const TOKEN = "0123456789abcdef-token";
const log = createLog("test", "silent");

async function started(
  start: (options: OtlpReceiverOptions) => Promise<OtlpReceiver>,
  security: Partial<Pick<OtlpReceiverOptions, "onSpans" | "tls" | "tokens">>,
): Promise<string> {
  const receiver = await start({
    listen: "127.0.0.1:0",
    onSpans: (batch) => ({ accepted: batch.length, rejected: 0, reasons: {} }),
    ...security,
  });
  onTestFinished(async () => receiver.stop());
  return receiver.address;
}

async function tokenFile(text: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "tradewind-token-"));
  onTestFinished(async () => rm(directory, { recursive: true }));
  const path = join(directory, "token");
  await writeFile(path, text);
  return path;
}

const tokensOf = (path: string): AccessTokens =>
  new AccessTokens(path, { everyMs: 0, monotonicMs: () => performance.now(), log });

async function posted(address: string, authorization?: string, body = BODY): Promise<Response> {
  const headers = { "content-type": "application/x-protobuf", ...(authorization && { authorization }) };
  return fetch(`${address}/v1/traces`, { method: "POST", body, headers });
}

/** The status of one export over gRPC. */
async function exported(
  address: string,
  authorization?: string,
  channel = credentials.createInsecure(),
  body = BODY,
): Promise<status> {
  const client = new (makeGenericClientConstructor({}, "test"))(address, channel);
  const metadata = new Metadata();
  if (authorization !== undefined) metadata.set("authorization", authorization);
  const bytes = (value: Buffer): Buffer => value;
  return new Promise((resolve) => {
    const deadline = { deadline: Date.now() + 5_000 };
    client.makeUnaryRequest(PATH, bytes, bytes, body, metadata, deadline, (error) => {
      client.close();
      resolve(error?.code ?? status.OK);
    });
  });
}

describe("OTLP with a token", () => {
  const wrong = [
    undefined,
    "Bearer",
    `Bearer ${TOKEN}x`,
    `Bearer ${TOKEN.slice(0, -1)}`,
    `Basic ${TOKEN}`,
    TOKEN,
  ];

  it("over HTTP is taken with the token and answered 401 without", async () => {
    const address = await started(startOtlpReceiver, {
      tokens: tokensOf(await tokenFile(`${TOKEN}\n`)),
    });
    for (const authorization of wrong) {
      const response = await posted(address, authorization);
      expect([authorization, response.status]).toEqual([authorization, 401]);
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expect(await response.text()).not.toContain(TOKEN);
    }
    expect((await posted(address, `Bearer ${TOKEN}`)).status).toBe(200);
    expect((await posted(address, `bearer ${TOKEN}`)).status).toBe(200);
  });

  it("over gRPC is taken with the token and answered UNAUTHENTICATED without", async () => {
    const address = await started(startOtlpGrpcReceiver, { tokens: tokensOf(await tokenFile(TOKEN)) });
    for (const authorization of wrong) {
      expect([authorization, await exported(address, authorization)]).toEqual([
        authorization,
        status.UNAUTHENTICATED,
      ]);
    }
    expect(await exported(address, `Bearer ${TOKEN}`)).toBe(status.OK);
  });

  it("takes old and new tokens while they are renewed, and drops those that are gone from the file", async () => {
    const path = await tokenFile(TOKEN);
    const address = await started(startOtlpReceiver, { tokens: tokensOf(path) });
    const renewed = "fedcba9876543210-renewed";
    await writeFile(path, `${TOKEN}\r\n${renewed}\n`);
    expect((await posted(address, `Bearer ${renewed}`)).status).toBe(200);
    expect((await posted(address, `Bearer ${TOKEN}`)).status).toBe(200);
    await writeFile(path, `${renewed}\n`);
    expect((await posted(address, `Bearer ${TOKEN}`)).status).toBe(401);
    expect((await posted(address, `Bearer ${renewed}`)).status).toBe(200);
  });
});

describe("OTLP with tokens of tenants", () => {
  const line = (name: string, more: object = {}) =>
    JSON.stringify({ name, scopes: ["send"], token: `${name}-0123456789abcdef`, ...more });
  const tokens = async () =>
    tokensOf(
      await tokenFile(
        [
          line("shop", { namespaces: ["shop"] }),
          line("two", { namespaces: ["shop", "bank"] }),
          line("reader", { scopes: ["read"] }),
          line("anywhere"),
        ].join("\n"),
      ),
    );
  const bodyOf = (namespace?: string) =>
    Buffer.from(
      protobufRequest([aSpan()], {
        "service.name": "geo",
        ...(namespace !== undefined && { "k8s.namespace.name": namespace }),
      }),
    );

  it.each([
    ["shop", undefined, 200, "shop"],
    ["shop", "shop", 200, "shop"],
    ["shop", "bank", 403, undefined],
    ["two", "bank", 200, "bank"],
    ["two", undefined, 403, undefined],
    ["anywhere", undefined, 200, undefined],
    ["anywhere", "bank", 200, "bank"],
    ["reader", "shop", 403, undefined],
  ])(
    "a sender '%s' and spans of namespace %s: HTTP %i, taken as of %s",
    async (name, stated, code, taken) => {
      const seen: (string | undefined)[] = [];
      const onSpans: OtlpReceiverOptions["onSpans"] = (batch) => {
        seen.push(...batch.resources.map(({ namespace }) => namespace));
        return { accepted: batch.length, rejected: 0, reasons: {} };
      };
      const authorization = `Bearer ${name}-0123456789abcdef`;
      const http = await started(startOtlpReceiver, { tokens: await tokens(), onSpans });
      expect((await posted(http, authorization, bodyOf(stated))).status).toBe(code);
      const grpc = await started(startOtlpGrpcReceiver, { tokens: await tokens(), onSpans });
      const grpcCode = await exported(grpc, authorization, credentials.createInsecure(), bodyOf(stated));
      expect(grpcCode).toBe(code === 200 ? status.OK : status.PERMISSION_DENIED);
      expect(seen).toEqual(code === 200 ? [taken, taken] : []);
    },
  );
});

describe("OTLP over TLS", () => {
  async function secured() {
    const { install, paths } = await secretDirectory();
    const tls = await ReloadingTls.open({ cert: paths.cert, key: paths.key }, { everyMs: 20, log });
    onTestFinished(() => tls.stop());
    return { install, tls };
  }

  async function postedSecurely(address: string): Promise<number | undefined> {
    const ca = await readFile(fixture("authority.crt"));
    const headers = { "content-type": "application/x-protobuf" };
    const { port } = new URL(address);
    const options = {
      host: "localhost",
      port,
      path: "/v1/traces",
      method: "POST",
      headers,
      ca,
      agent: false,
    };
    return new Promise((resolve, reject) => {
      request(options, (response) => resolve(response.resume().statusCode))
        .on("error", reject)
        .end(BODY);
    });
  }

  it("is received by HTTP with the certificate, also after it was renewed, and not without TLS", async () => {
    const { install, tls } = await secured();
    const address = await started(startOtlpReceiver, { tls });
    expect(address).toMatch(/^https:/);
    expect(await postedSecurely(address)).toBe(200);
    await expect(posted(address.replace("https:", "http:"))).rejects.toThrow("fetch failed");
    const served = async (): Promise<string | undefined> => servedName(new URL(address).host, ["http/1.1"]);
    expect(await served()).toBe("tradewind scaler");
    await install("renewed");
    await waitUntil(async () => (await served()) === "tradewind scaler renewed");
    expect(await postedSecurely(address)).toBe(200);
  });

  it("is received by gRPC with the certificate, also after it was renewed, and not without TLS", async () => {
    const { install, tls } = await secured();
    const address = await started(startOtlpGrpcReceiver, { tls });
    const channel = credentials.createSsl(await readFile(fixture("authority.crt")));
    const named = address.replace("127.0.0.1", "localhost");
    expect(await exported(named, undefined, channel)).toBe(status.OK);
    expect(await exported(address)).toBe(status.UNAVAILABLE);
    await install("renewed");
    await waitUntil(async () => (await servedName(address)) === "tradewind scaler renewed");
    expect(await exported(named, undefined, channel)).toBe(status.OK);
  });
});
