import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createTlsServer } from "node:https";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Registry } from "prom-client";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { describeError } from "@tradewind/core/values/errors.ts";
import { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import type { ClientSettings } from "@tradewind/core/net/endpoint/client.ts";
import { EndpointOptions } from "@tradewind/core/net/endpoint/options.ts";
import { registerEndpointMetrics } from "@tradewind/predictor/sources/endpoint-metrics.ts";
import { installed } from "../../../installed.ts";
import { FakeServer, json } from "./fake-server.ts";

const FAST: ClientSettings = { retryDelays: { firstMs: 1, maxMs: 2 }, rng: () => 0.5 };
let server: FakeServer;
let directory = "";
const clients: EndpointClient[] = [];

function client(
  options: Partial<z.input<typeof EndpointOptions>> = {},
  settings: ClientSettings = FAST,
): EndpointClient {
  const made = new EndpointClient(
    "main",
    "prometheus",
    EndpointOptions.parse({ url: server.url, ...options }),
    settings,
  );
  clients.push(made);
  return made;
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "tradewind-http-"));
  server = await FakeServer.start((_request, response) => json(response, { ok: true }));
});
afterEach(async () => {
  vi.useRealTimers();
  for (const each of clients.splice(0)) await each.close();
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
});

describe("EndpointClient", () => {
  it("ends when its caller's signal does, and joins signals by no means that Node.js keeps memory of", async () => {
    const any = vi.spyOn(AbortSignal, "any");
    onTestFinished(() => any.mockRestore());
    const stopping = new AbortController();
    const made = client();
    await made.call({ path: "api", signal: stopping.signal });
    server.handler = () => stopping.abort();
    const call = made.call({ path: "api", signal: stopping.signal });
    await expect(call).rejects.toMatchObject({ code: "cancelled" });
    await expect(made.call({ path: "api", signal: stopping.signal })).rejects.toMatchObject({
      code: "cancelled",
    });
    expect(any).not.toHaveBeenCalled();
  });

  it("asks again when the server is busy, and does as Retry-After says", async () => {
    let calls = 0;
    server.handler = (_request, response) => {
      calls += 1;
      if (calls < 3) json(response, "", calls === 1 ? 429 : 503, { "retry-after": "0" });
      else json(response, { ok: true });
    };
    const made = client();
    expect((await made.call({ path: "api" })).status).toBe(200);
    expect(made.health).toMatchObject({ state: "ok", requestsTotal: 3, retriesTotal: 2 });
  });

  it.each([
    ["", "answered 404: no such path", "check the url's path, for example a missing prefix"],
    [{}, "answered 404: no such path ({})", "check the url's path, for example a missing prefix"],
    [
      { error: { code: "unknown-decision", message: "no decision has this id" } },
      "answered 404 (no decision has this id)",
      "ask for one that there is",
    ],
  ])(
    "tells a wrong path, where a server answers %j, from something that it does not have",
    async (body, words, remedy) => {
      server.handler = (_request, response) => json(response, body, 404);
      await expect(client().call({ path: "a" })).rejects.toMatchObject({
        failure: "not-found",
        message: expect.stringContaining(words) as string,
        remedy,
      });
    },
  );

  it("leaves a server alone for as long as it asks", async () => {
    server.handler = (_request, response) => json(response, "", 503, { "retry-after": "60" });
    const made = client();
    await expect(made.call({ path: "a" })).rejects.toMatchObject({ failure: "busy", status: 503 });
    await expect(made.call({ path: "a" })).rejects.toMatchObject({
      failure: "circuit-open",
      message: /left alone for (59|60) s/,
    });
    expect(server.requests).toHaveLength(1);
  });

  it("does not repeat what the server refuses, and says why in its words", async () => {
    server.handler = (_request, response) => json(response, { error: 'quota \\"x\\" spent' }, 403);
    const made = client();
    await expect(made.call({ path: "a" })).rejects.toMatchObject({
      failure: "refused",
      message: /403.*quota/,
    });
    expect(server.requests).toHaveLength(1);
    expect(made.health.lastProblem?.remedy).toMatch(/right to read/);
  });

  it("gives up at its deadline on a server that hangs, before and after the first byte", async () => {
    server.handler = () => undefined;
    const made = client({ timeoutSeconds: 0.2 });
    await expect(made.call({ path: "a" })).rejects.toMatchObject({
      failure: "timeout",
      message: /within 0.2 s/,
    });
    server.handler = (_request, response) => void response.write("{");
    await expect(made.call({ path: "a" })).rejects.toMatchObject({ failure: "timeout" });
  });

  it("stops asking a server that keeps failing, and tries again later", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const port = server.port;
    await server.stop();
    const made = client(
      { url: `http://127.0.0.1:${port}`, maxAttempts: 1 },
      { ...FAST, breaker: { failures: 3, openMs: 15_000 } },
    );
    for (let turn = 0; turn < 3; turn += 1) {
      await expect(made.call({ path: "a" })).rejects.toMatchObject({
        failure: "unreachable",
        message: /nothing listens/,
      });
    }
    await expect(made.call({ path: "a" })).rejects.toMatchObject({
      failure: "circuit-open",
      message: /nothing listens/,
    });
    expect(made.health).toMatchObject({ state: "open", requestsTotal: 3 });
    await server.listen(port);
    vi.setSystemTime(Date.now() + 600_000);
    expect((await made.call({ path: "a" })).status).toBe(200);
    expect(made.health.state).toBe("ok");
  });

  it("refuses an answer larger than allowed, compressed or not", async () => {
    const made = client({ maxResponseBytes: 10_000 });
    server.handler = (_request, response) => json(response, "x".repeat(20_000));
    await expect(made.call({ path: "a" })).rejects.toMatchObject({ failure: "too-large" });
    server.handler = (_request, response) => {
      response.writeHead(200, { "content-encoding": "gzip" });
      response.end(gzipSync(Buffer.alloc(1_000_000)));
    };
    await expect(made.call({ path: "a" })).rejects.toMatchObject({ failure: "too-large" });
    server.handler = (_request, response) => {
      response.writeHead(200, { "content-encoding": "gzip" });
      response.end(gzipSync('{"ok":true}'));
    };
    expect((await made.call({ path: "a" })).body.toString()).toBe('{"ok":true}');
  });

  it("names an answer that is not what the interface promises", async () => {
    const made = client();
    server.handler = (_request, response) => json(response, "<html>sign in</html>");
    await expect(made.json({ path: "a" }, z.object({}))).rejects.toMatchObject({
      failure: "bad-reply",
      message: /not JSON/,
    });
    expect(made.health.failuresTotal["bad-reply"]).toBe(1);
  });

  it("keeps the path of the base address, and sends long queries as a form", async () => {
    const made = client({ url: `${server.url}/prom/`, headers: { "X-Scope-OrgID": "team" } });
    await made.call({ path: "api/v1/query", query: { query: "up", match: ["a", "b"] } });
    await made.call({ path: "api/v1/query", query: { query: "up" }, asForm: true });
    expect(server.requests[0]?.url.pathname).toBe("/prom/api/v1/query");
    expect(server.requests[0]?.url.searchParams.getAll("match")).toEqual(["a", "b"]);
    expect(server.requests[0]?.headers["x-scope-orgid"]).toBe("team");
    expect(server.requests[1]?.body).toBe("query=up");
  });

  it("reads secrets again when their file changes, and never says them", async () => {
    const tokenFile = join(directory, "token");
    writeFileSync(tokenFile, "first-secret\n");
    const made = client({ bearerTokenFile: tokenFile });
    await made.call({ path: "a" });
    writeFileSync(tokenFile, "second-secret-token\n");
    server.handler = (_request, response) => json(response, "", 401);
    const error = await made.call({ path: "a" }).catch((problem: unknown) => problem);
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer first-secret",
      "Bearer second-secret-token",
    ]);
    expect(JSON.stringify([error, describeError(error), made.health])).not.toMatch(/(first|second)-secret/);

    writeFileSync(join(directory, "password"), "päss:word\n");
    server.handler = (_request, response) => json(response, {});
    await client({ basicAuth: { username: "me", passwordFile: join(directory, "password") } }).call({
      path: "a",
    });
    expect(server.requests.at(-1)?.headers.authorization).toBe(
      `Basic ${Buffer.from("me:päss:word").toString("base64")}`,
    );
  });

  it("names a secret's file that cannot be read", async () => {
    const made = client({ bearerTokenFile: join(directory, "none") });
    await expect(made.call({ path: "a" })).rejects.toMatchObject({
      failure: "credentials",
      message: /none cannot be read/,
    });
    expect(server.requests).toHaveLength(0);
  });

  it("refuses a secret in the address", () => {
    expect(() => EndpointOptions.parse({ url: "http://me:pw@host/" })).toThrow(/passwordFile/);
    expect(() => EndpointOptions.parse({ url: "ftp://host/" })).toThrow(/http/);
  });

  it("learns the server's clock from its Date header", async () => {
    server.handler = (_request, response) =>
      json(response, {}, 200, { date: new Date(Date.now() + 120_000).toUTCString() });
    const made = client();
    await made.call({ path: "a" });
    expect(made.health.clockSkewSeconds).toBeGreaterThan(118);
    expect(made.health.clockSkewSeconds).toBeLessThan(122);
  });

  it("publishes how each server has been doing, clean under promtool's rules for names", async () => {
    const made = client({ maxAttempts: 1 });
    server.handler = (_request, response) => json(response, "", 500);
    await made.call({ path: "a" }).catch(() => undefined);
    const registry = new Registry();
    registerEndpointMetrics(registry, () => [made.health]);
    const text = await registry.metrics();
    expect(text).toContain(
      'tradewind_source_failures_total{source="main",kind="prometheus",failure="server-error"} 1',
    );
    expect(text).toContain('tradewind_source_state{source="main",kind="prometheus",state="failing"} 1');
    expect(text).not.toMatch(/NaN|undefined/);
    expect(await registry.metrics()).toBe(text);
    const promtool = installed("promtool");
    if (promtool !== undefined) execFileSync(promtool, ["check", "metrics"], { input: text });
  });
});

const openssl = installed("openssl");

describe.skipIf(openssl === undefined)("EndpointClient over TLS", () => {
  function certificate(name: string, ...more: string[]): { cert: string; key: string } {
    const [cert, key] = [join(directory, `${name}.crt`), join(directory, `${name}.key`)];
    const subject = [
      "-subj",
      `/CN=${name}`,
      "-days",
      "2",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
    ];
    execFileSync(openssl!, ["req", "-x509", "-nodes", ...subject, "-keyout", key, "-out", cert, ...more], {
      stdio: "ignore",
    });
    return { cert, key };
  }

  it("trusts the given authority only, proves itself, and takes renewed files without a restart", async () => {
    const ours = certificate("localhost", "-addext", "subjectAltName=DNS:localhost");
    const me = certificate("predictor");
    const options = {
      cert: readFileSync(ours.cert),
      key: readFileSync(ours.key),
      ca: readFileSync(me.cert),
      requestCert: true,
      rejectUnauthorized: true,
    };
    const secure = await FakeServer.start(
      (_request, response) => json(response, { ok: true }),
      (listener: RequestListener) => createTlsServer(options, listener),
    );
    try {
      const url = `https://127.0.0.1:${secure.port}`;
      const tls = { caFile: ours.cert, certFile: me.cert, keyFile: me.key, serverName: "localhost" };
      expect((await client({ url, tls }).call({ path: "a" })).status).toBe(200);
      await expect(client({ url, maxAttempts: 1 }).call({ path: "a" })).rejects.toMatchObject({
        failure: "tls",
        remedy: /caFile/,
      });
      const { certFile: _, keyFile: __, ...anonymous } = tls;
      await expect(client({ url, maxAttempts: 1, tls: anonymous }).call({ path: "a" })).rejects.toMatchObject(
        {
          message: /client certificate|closed the connection|TLS/,
        },
      );
      const stranger = certificate("stranger");
      const renewed = {
        ...tls,
        certFile: join(directory, "renewed.crt"),
        keyFile: join(directory, "renewed.key"),
      };
      writeFileSync(renewed.certFile, readFileSync(stranger.cert));
      writeFileSync(renewed.keyFile, readFileSync(stranger.key));
      const made = client({ url, tls: renewed, maxAttempts: 1 });
      await expect(made.call({ path: "a" })).rejects.toThrow(/main/);
      writeFileSync(renewed.certFile, readFileSync(me.cert));
      writeFileSync(renewed.keyFile, readFileSync(me.key));
      expect((await made.call({ path: "a" })).status).toBe(200);
    } finally {
      await secure.stop();
    }
  });
});
