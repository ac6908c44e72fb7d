import { readFileSync } from "node:fs";
import { copyFile } from "node:fs/promises";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { PredictorMetrics } from "@tradewind/predictor/run/process/metrics.ts";
import { PredictorOptions } from "@tradewind/predictor/run/process/options.ts";
import { joinPeers } from "@tradewind/predictor/run/process/join-peers.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import { Agent, request } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { fixture, secretDirectory, servedName } from "../../../exporter/serve/keda/secret.ts";
import { waitUntil } from "../../../wait-until.ts";
import { Names, node, secretFile, send } from "./nodes.ts";
import type { Node } from "./nodes.ts";

const log = createLog("test", "silent");

/** One predictor's certificate, of the predictors' authority, in files of its own. */
async function certificate(name: "server" | "renewed" | "stranger" = "server") {
  const { install, paths } = await secretDirectory();
  await install(name);
  const tls = await ReloadingTls.open(paths, { everyMs: 20, log });
  onTestFinished(() => tls.stop());
  return { install, paths, tls };
}

/** Two predictors behind the name of their certificates. */
async function securePair(tlsOfA: ReloadingTls, tlsOfB: ReloadingTls | undefined) {
  const first = await node("127.0.0.2:0", {});
  const { port } = new URL(first.address);
  await first.stop();
  const names = new Names();
  names.found = ["127.0.0.2", "127.0.0.3"];
  const common = { lookup: names.lookup };
  const targets = (tls: ReloadingTls | undefined): string[] => [
    `dns+${tls === undefined ? "http" : "https"}://localhost:${port}`,
  ];
  const a = await node(`127.0.0.2:${port}`, { ...common, tls: tlsOfA, targets: targets(tlsOfA) });
  const b = await node(`127.0.0.3:${port}`, { ...common, tls: tlsOfB, targets: targets(tlsOfB) });
  return { a, b, port };
}

const haveMet = async (...nodes: readonly Node[]): Promise<void> =>
  waitUntil(
    () => nodes.every(({ missing, peers }) => peers.health().states.reached === 1 && missing().length === 0),
    10_000,
    "the two have met",
  );

describe("--peers", () => {
  it.each([
    ["https://a:9814", {}, /must be http:\/\/ without --peers-tls-cert/],
    [
      "dns+http://a:9814",
      { peersTls: { cert: "a", key: "b", ca: "c" } },
      /must be https:\/\/ with --peers-tls-cert/,
    ],
  ])("%s is refused where the certificates say otherwise", async (target, given, message) => {
    const options = PredictorOptions.parse({
      config: "app.yaml",
      peers: [target],
      peersSecretFile: secretFile(),
      ...given,
    });
    const clock = systemClock;
    const metrics = new PredictorMetrics();
    const parts = { options, clock, log, metrics, ends: [], state: () => undefined };
    const none = () => ({ accepted: 0, rejected: 0, reasons: {} });
    await expect(joinPeers(parts, none, none)).rejects.toThrow(message);
  });
});

describe("mutual TLS between predictors", () => {
  it("carries every span, finds this very process, and asks for what a peer remembers", async () => {
    const [ofA, ofB] = [await certificate(), await certificate()];
    const { a, b } = await securePair(ofA.tls, ofB.tls);
    await haveMet(a, b);
    expect(a.address).toMatch(/^https:/);
    expect(a.peers.health().states.self).toBe(1);
    for (let index = 0; index < 10; index += 1) await send(index % 2 === 0 ? a : b, `span-${index}`);
    await waitUntil(() => a.spans.length === 10 && b.spans.length === 10);
    await a.whole();
  });

  it("shows a renewed certificate without a restart, to peers and from them, and loses no span over it", async () => {
    const [ofA, ofB] = [await certificate(), await certificate()];
    const { a, b, port } = await securePair(ofA.tls, ofB.tls);
    await haveMet(a, b);
    await send(a, "before");
    for (const { install } of [ofA, ofB]) await install("renewed");
    for (const host of ["127.0.0.2", "127.0.0.3"]) {
      await waitUntilAsync(async () => (await nameAt(`${host}:${port}`)) === "tradewind scaler renewed");
    }
    await send(a, "after");
    await waitUntil(() => b.spans.includes("before") && b.spans.includes("after"));
    await haveMet(a, b);
    expect(a.peers.health().missedTotal + b.peers.health().missedTotal).toBe(0);
  });

  it("lets nobody in without a certificate of the authority, nor with another one's", async () => {
    const { tls } = await certificate();
    const a = await node("127.0.0.2:0", { tls, targets: ["dns+https://localhost:1"] });
    const ca = readFileSync(fixture("authority.crt"));
    const stranger = {
      cert: readFileSync(fixture("stranger.crt")),
      key: readFileSync(fixture("stranger.key")),
    };
    for (const own of [{}, stranger]) {
      const dispatcher = new Agent({ connect: { ca, servername: "localhost", ...own } });
      onTestFinished(async () => dispatcher.destroy());
      await expect(request(`${a.address}/v1/peer`, { dispatcher, method: "POST" })).rejects.toThrow(
        /certificate|alert|ECONNRESET|closed/i,
      );
    }
    expect(a.peers.health().strangersTotal).toBe(0);
  });

  it("sends nothing to a server of another authority, and says what is wrong with it", async () => {
    const [ofA, ofB] = [await certificate(), await certificate("stranger")];
    await copyFile(fixture("other-authority.crt"), ofB.paths.clientCa);
    const { a, b } = await securePair(ofA.tls, ofB.tls);
    await waitUntil(() => a.missing().join().includes("it cannot be reached: the server's certificate"));
    await send(a, "for friends");
    expect(a.peers.health().states.reached).toBe(0);
    expect(b.spans).toEqual([]);
  });

  it("and a predictor that speaks plain HTTP do not hear each other, which both know", async () => {
    const { tls } = await certificate();
    const { a, b } = await securePair(tls, undefined);
    await waitUntil(() => a.missing().join().includes("the server does not speak TLS at this port"));
    await waitUntil(() => b.missing().join().includes("127.0.0.2"));
    await send(b, "plain");
    expect(a.spans).toEqual([]);
  });
});

const nameAt = async (address: string): Promise<string | undefined> =>
  servedName(address, ["http/1.1"]).catch(() => undefined);

async function waitUntilAsync(is: () => Promise<boolean>): Promise<void> {
  await expect.poll(is, { timeout: 10_000 }).toBe(true);
}
