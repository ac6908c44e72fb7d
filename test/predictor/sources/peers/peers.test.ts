import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "@tradewind/core/clock.ts";
import { createLog } from "@tradewind/core/log.ts";
import { startOtlpReceiver } from "@tradewind/predictor/sources/otlp/receiver.ts";
import type { OtlpReceiver } from "@tradewind/predictor/sources/otlp/receiver.ts";
import { Peers } from "@tradewind/predictor/sources/peers/peers.ts";
import type { PeersOptions } from "@tradewind/predictor/sources/peers/peers.ts";
import { waitUntil } from "../../../wait-until.ts";

interface Node {
  readonly peers: Peers;
  readonly receiver: OtlpReceiver;
  /** Names of the spans counted, in order. */
  readonly spans: string[];
  stop(): Promise<void>;
}

/** A predictor's receiving side on its own loopback address, so that several can have one port. */
async function node(listen: string, options: Partial<PeersOptions>): Promise<Node> {
  const spans: string[] = [];
  const peers = new Peers({
    targets: [],
    clock: systemClock,
    rng: () => 0.5,
    log: createLog("test", "silent"),
    heartbeatMs: 40,
    resolveEveryMs: 20,
    ...options,
  });
  const receiver = await startOtlpReceiver({
    listen,
    exchange: peers,
    onSpans: (batch) => {
      for (let index = 0; index < batch.length; index += 1) spans.push(batch.names[index] ?? "");
      return { accepted: batch.length, rejected: 0, reasons: {} };
    },
  });
  await peers.start();
  const stop = async (): Promise<void> => {
    await peers.stop();
    await receiver.stop();
  };
  onTestFinished(stop);
  return { peers, receiver, spans, stop };
}

/** Free ports of two addresses, taken by receivers that are started before their peers know each other. */
async function pair(options: Partial<PeersOptions> = {}): Promise<readonly [Node, Node]> {
  const found: string[] = [];
  const lookup = async () => Promise.resolve(found);
  const first = await node("127.0.0.2:0", { targets: [], ...options });
  const port = new URL(first.receiver.address).port;
  await first.stop();
  const targets = [`dns+http://predictors:${port}`];
  const a = await node(`127.0.0.2:${port}`, { targets, lookup, ...options });
  const b = await node(`127.0.0.3:${port}`, { targets, lookup, ...options });
  found.push("127.0.0.2", "127.0.0.3");
  const met = ({ peers }: Node): boolean => {
    const { states } = peers.health();
    return states.reached === 1 && states.self === 1;
  };
  await waitUntil(() => met(a) && met(b));
  return [a, b];
}

let sent = 0;
async function send(to: Node, name: string, type = "application/json"): Promise<void> {
  sent += 1;
  const span = {
    traceId: sent.toString(16).padStart(32, "a"),
    spanId: sent.toString(16).padStart(16, "b"),
    name,
    kind: 2,
    startTimeUnixNano: "1700000000000000000",
    endTimeUnixNano: "1700000000100000000",
  };
  const resource = { attributes: [{ key: "service.name", value: { stringValue: "web" } }] };
  const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: [span] }] }] });
  const response = await fetch(`${to.receiver.address}/v1/traces`, {
    method: "POST",
    headers: { "content-type": type },
    body,
  });
  expect(response.status).toBe(200);
}

describe("two predictors behind one Service", () => {
  it("both count every client's spans, each exactly once, whichever of them received it", async () => {
    const [a, b] = await pair();
    for (let index = 0; index < 20; index += 1) await send(index % 2 === 0 ? a : b, `span-${index}`);
    await waitUntil(() => a.spans.length >= 20 && b.spans.length >= 20);
    expect([...a.spans].sort()).toEqual([...b.spans].sort());
    expect(new Set(a.spans).size).toBe(20);
    expect(a.spans).toHaveLength(20);
    expect(a.peers.health().results).toEqual({ sent: 10, dropped: 0, rejected: 0 });
    expect(a.peers.missingWithin(0.001)).toBe(false);
  });

  it("miss nothing and say so once they have met, and go on alone when the other has stopped", async () => {
    const [a, b] = await pair();
    await waitUntil(() => a.peers.health().problem === undefined && b.peers.health().problem === undefined);
    await b.stop();
    await waitUntil(() => a.peers.health().states.refused === 1);
    await send(a, "alone");
    expect(a.spans).toContain("alone");
    await waitUntil(() => !a.peers.missingWithin(0.05));
    expect(a.peers.health().problem).toBeUndefined();
  });

  it("know that spans are missing while a peer cannot be reached, though it may be receiving", async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.4", resolve));
    onTestFinished(() => {
      silent.closeAllConnections();
      silent.close();
    });
    const { port } = silent.address() as AddressInfo;
    const a = await node("127.0.0.2:0", { targets: [`http://127.0.0.4:${port}`] });
    await waitUntil(() => a.peers.missingWithin(0.05));
    expect(a.peers.health().problem).toMatch(/127\.0\.0\.4.*cannot be reached/);
  });

  it("know that spans are missing while a peer takes batches and sends none", async () => {
    const deaf = await node("127.0.0.3:0", { targets: [] });
    const a = await node("127.0.0.2:0", { targets: [deaf.receiver.address] });
    await waitUntil(() => a.peers.missingWithin(0.05));
    expect(a.peers.health().problem).toMatch(/sends none; is its --peers set/);
  });

  it("notice at the next sign of life that batches were dropped on the way", async () => {
    const [a, b] = await pair({ maxQueuedBytes: 100 });
    await send(a, "too large for the queue");
    await waitUntil(() => b.peers.health().missedTotal === 1);
    expect(b.peers.missingWithin(5)).toBe(true);
    expect(b.spans).toEqual([]);
    expect(a.peers.health().results.dropped).toBe(1);
  });

  it("hold a bounded number of bytes for a peer that hangs, the newest", async () => {
    const hanging = createServer(() => undefined);
    await new Promise<void>((resolve) => hanging.listen(0, "127.0.0.4", resolve));
    onTestFinished(() => {
      hanging.closeAllConnections();
      hanging.close();
    });
    const { port } = hanging.address() as AddressInfo;
    const a = await node("127.0.0.2:0", { targets: [`http://127.0.0.4:${port}`], maxQueuedBytes: 700 });
    for (let index = 0; index < 30; index += 1) await send(a, `span-${index}`);
    const { queuedBytes, results } = a.peers.health();
    expect(queuedBytes).toBeGreaterThan(0);
    expect(queuedBytes).toBeLessThanOrEqual(700);
    expect(results.dropped).toBeGreaterThan(20);
    expect(a.spans).toHaveLength(30);
  });

  it("do not send on what was sent to them by a peer, nor a batch that is garbage", async () => {
    const [a, b] = await pair();
    const response = await fetch(`${a.receiver.address}/v1/traces`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{garbage",
    });
    expect(response.status).toBe(400);
    await send(a, "once");
    await waitUntil(() => b.spans.includes("once"));
    expect(b.peers.health().results.sent).toBe(0);
    expect(a.peers.health().results).toEqual({ sent: 1, dropped: 0, rejected: 0 });
  });
});
