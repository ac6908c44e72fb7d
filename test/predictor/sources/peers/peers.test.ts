import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { createLog } from "@tradewind/core/process/log.ts";
import { freePort } from "../../../free-port.ts";
import { waitUntil } from "../../../wait-until.ts";
import { node, pair, send } from "./nodes.ts";

/** A process that takes connections and never answers, as one that was stopped. */
async function hangingServer(): Promise<string> {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.4", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.4:${(server.address() as AddressInfo).port}`;
}

describe("what the policies of the peers remember", () => {
  it("is asked of every peer, but not of this process, nor of one that does not answer or remembers nothing", async () => {
    const [b, c] = [
      await node("127.0.0.3:0", { state: () => "what b has learnt" }),
      await node("127.0.0.4:0", { state: () => undefined }),
    ];
    const dead = await hangingServer();
    const port = await freePort();
    const own = `http://127.0.0.2:${port}`;
    const targets = [own, b.address, c.address, dead, "http://127.0.0.5:1"];
    const a = await node(`127.0.0.2:${port}`, { targets, state: () => "what a has learnt" });
    expect(await a.peers.askStates()).toEqual(["what b has learnt"]);
  });
});

describe("two predictors behind one Service", () => {
  it("both count every client's spans, each exactly once, whichever of them received it", async () => {
    const { a, b, metMs } = await pair();
    for (let index = 0; index < 20; index += 1) await send(index % 2 === 0 ? a : b, `span-${index}`);
    await waitUntil(() => a.spans.length >= 20 && b.spans.length >= 20);
    expect([...a.spans].sort()).toEqual([...b.spans].sort());
    expect(new Set(a.spans).size).toBe(20);
    expect(a.spans).toHaveLength(20);
    // What arrived is counted as sent once its answer is back.
    await waitUntil(() => a.peers.health().results.sent === 10);
    expect(a.peers.health().results).toEqual({ sent: 10, dropped: 0, rejected: 0 });
    await Promise.all([a.whole(metMs), b.whole(metMs)]);
  });

  it("a peer that leaves DNS and comes back loses no span on either side, and nothing is said to be missing", async () => {
    const { a, b, metMs, namesOfA, namesOfB } = await pair();
    for (let index = 0; index < 10; index += 1) await send(a, `before-${index}`);
    await waitUntil(() => b.spans.length === 10);
    namesOfA.found = ["127.0.0.2"];
    namesOfB.found = ["127.0.0.2"];
    await waitUntil(() => a.peers.health().problem === undefined && b.peers.health().states.self === 1);
    for (let index = 0; index < 10; index += 1) await send(index % 2 === 0 ? a : b, `away-${index}`);
    await waitUntil(() => b.spans.length === 20 && a.spans.length === 20);
    await Promise.all([a.whole(metMs), b.whole(metMs)]);
    namesOfA.found = ["127.0.0.2", "127.0.0.3"];
    namesOfB.found = ["127.0.0.2", "127.0.0.3"];
    for (let index = 0; index < 10; index += 1) await send(index % 2 === 0 ? a : b, `back-${index}`);
    await waitUntil(() => b.spans.length === 30 && a.spans.length === 30);
    await Promise.all([a.whole(metMs), b.whole(metMs)]);
    expect(a.peers.health().missedTotal + b.peers.health().missedTotal).toBe(0);
  });

  it("a peer that left DNS and is silent is missing by name until it is gone for long, and then no more", async () => {
    const hanging = await hangingServer();
    const { hostname, port } = new URL(hanging);
    const found = [hostname, "127.0.0.2"];
    const a = await node(`127.0.0.2:${port}`, {
      targets: [`dns+http://predictors:${port}`],
      lookup: async () => Promise.resolve([...found]),
    });
    await waitUntil(() => a.missing().length > 0);
    found.shift();
    await waitUntil(() => a.peers.health().states.self === 1);
    expect(a.missing().join()).toContain(`the predictor at ${hanging}`);
    await waitUntil(() => a.missing().length === 0, 10_000, "the peer counts as gone");
    expect(a.peers.health().states.unreachable).toBe(0);
  });

  it("a link that was cut for a while says which batches did not come, though its numbers go on", async () => {
    const { a, b, metMs } = await pair({ maxQueuedBytes: 100 });
    await send(a, "too large for the queue");
    await waitUntil(() => b.peers.health().missedTotal === 1);
    expect(b.missing(metMs).join()).toMatch(
      /127\.0\.0\.2:\d+ received from .* are missing: 1 batches were lost/,
    );
    expect(b.spans).toEqual([]);
    expect(a.peers.health().results.dropped).toBe(1);
  });

  it("a peer that stops says good-bye after it has sent what it had: nothing is missing at any time", async () => {
    const { a, b, metMs } = await pair();
    await send(b, "last");
    await b.stop();
    expect(a.spans).toContain("last");
    await waitUntil(() => a.peers.health().states.refused === 1);
    await send(a, "alone");
    expect(a.spans).toContain("alone");
    await a.whole(metMs);
    expect(a.peers.health()).toMatchObject({ problem: undefined, missedTotal: 0 });
  });

  it("a peer that was restarted under its address is a new one, and all its spans count", async () => {
    const { a, b, namesOfB, port, targets } = await pair();
    for (let index = 0; index < 10; index += 1) await send(b, `first-life-${index}`);
    await b.stop();
    const again = await node(`127.0.0.3:${port}`, { targets, lookup: namesOfB.lookup });
    for (let index = 0; index < 3; index += 1) await send(again, `second-life-${index}`);
    await waitUntil(() => a.spans.filter((name) => name.startsWith("second-life")).length === 3);
    await waitUntil(() => a.missing().length === 0 && again.missing().length === 0);
    expect(a.peers.health().missedTotal).toBe(0);
  });

  it("know that spans are missing while a peer cannot be reached, though it may be receiving", async () => {
    const hanging = await hangingServer();
    const a = await node("127.0.0.2:0", { targets: [hanging] });
    await waitUntil(() => a.peers.health().problem !== undefined);
    expect(a.missing().join()).toContain(`spans that the predictor at ${hanging} received since`);
    await waitUntil(() => /cannot be reached/.test(a.missing().join()));
  });

  it("know that spans of the end of a window are missing, when a peer was last heard just before it", async () => {
    let aheadMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
    const { a } = await pair({ clock });
    const endMs = clock.monotonicMs();
    const missingOfWindow = () => a.peers.missing(endMs - 1_000, endMs).join();
    expect(missingOfWindow()).not.toContain("received since");
    // Three heartbeats after the end, and none of them has come.
    aheadMs = 300;
    expect(missingOfWindow()).toContain("received since");
    aheadMs = 0;
    await waitUntil(() => missingOfWindow() === "", 10_000, "the peer to be heard after the end");
  });

  it("know that spans are missing while a peer takes batches and sends none", async () => {
    const deaf = await node("127.0.0.3:0", { targets: ["http://127.0.0.3:1"] });
    const a = await node("127.0.0.2:0", { targets: [deaf.address] });
    await waitUntil(() => /sends nothing; are its --peers set\?/.test(a.peers.health().problem ?? ""));
  });

  it("know that spans are missing while no address of their name was ever found", async () => {
    const lookup = async (): Promise<never> => Promise.reject(new Error("ENOTFOUND"));
    const a = await node("127.0.0.2:0", { targets: ["dns+http://predictors:9814"], lookup });
    expect(a.missing().join()).toContain("dns+http://predictors:9814");
  });

  it("log once that no address of their name was found, though more is missing every second", async () => {
    const warnings: string[] = [];
    const log = createLog("test", "silent");
    log.warn = ((_fields: object, message: string) => void warnings.push(message)) as typeof log.warn;
    const a = await node("127.0.0.2:0", {
      targets: ["dns+http://predictors:9814"],
      lookup: async () => Promise.resolve([]),
      log,
    });
    const said = new Set<string | undefined>();
    await waitUntil(
      () => said.add(a.peers.health().problem).size > 2,
      10_000,
      "the problem names later times",
    );
    expect(warnings.filter((message) => message.includes("missing"))).toHaveLength(1);
  });

  it("know that spans are missing where a name goes on to list an address that refuses connections", async () => {
    const { port } = new URL((await node("127.0.0.5:0", { targets: ["http://127.0.0.5:1"] })).address);
    const lookup = async () => Promise.resolve(["127.0.0.2", "127.0.0.6"]);
    const a = await node(`127.0.0.2:${port}`, { targets: [`dns+http://predictors:${port}`], lookup });
    await waitUntil(() => {
      const { refused, self } = a.peers.health().states;
      return refused === 1 && self === 1;
    });
    expect(a.missing()).toEqual([]);
    await waitUntil(() => /connections are refused although/.test(a.missing().join()));
  });

  it("hold a bounded number of bytes for a peer that hangs, the newest", async () => {
    const a = await node("127.0.0.2:0", { targets: [await hangingServer()], maxQueuedBytes: 700 });
    for (let index = 0; index < 30; index += 1) await send(a, `span-${index}`);
    const { queuedBytes, results } = a.peers.health();
    expect(queuedBytes).toBeGreaterThan(0);
    expect(queuedBytes).toBeLessThanOrEqual(700);
    expect(results.dropped).toBeGreaterThan(20);
    expect(a.spans).toHaveLength(30);
  });

  it("do not send on what was sent to them by a peer, nor a batch that is garbage", async () => {
    const { a, b } = await pair();
    const response = await fetch(`${a.receiver.address}/v1/traces`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{garbage",
    });
    expect(response.status).toBe(400);
    await send(a, "once");
    await waitUntil(() => b.spans.includes("once"));
    expect(b.peers.health().results.sent).toBe(0);
    await waitUntil(() => a.peers.health().results.sent === 1);
    expect(a.peers.health().results).toEqual({ sent: 1, dropped: 0, rejected: 0 });
  });
});
