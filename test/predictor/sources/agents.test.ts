import { systemClock } from "@tradewind/core/process/clock.ts";
import type { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { afterEach, describe, expect, it } from "vitest";
import { Agents } from "@tradewind/predictor/sources/agents.ts";
import { json, startFakeAgent } from "../fake-agent.ts";
import type { FakeAgent } from "../fake-agent.ts";
import { waitUntil } from "../../wait-until.ts";
import { snapshot } from "./snapshots.ts";

const ended: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

async function fakeAgent(): Promise<FakeAgent> {
  const agent = await startFakeAgent();
  ended.push(async () => agent.stop());
  return agent;
}

function follow(...urls: string[]): { agents: Agents; received: [string, Snapshot][] } {
  const received: [string, Snapshot][] = [];
  const agents = new Agents({
    urls,
    pollMs: 20,
    timeoutMs: 150,
    clock: systemClock,
    rng: seededRng(1),
    log: createLog("test", "silent"),
    fresh: () => new Map(),
    onSnapshot: (url, one) => received.push([url, one]),
  });
  ended.push(async () => agents.stop());
  agents.start();
  return { agents, received };
}

const failures = (agents: Agents): Record<string, number> =>
  Object.fromEntries(Object.entries(agents.health()[0]!.failuresTotal).filter(([, count]) => count > 0));

describe("polling agents", () => {
  it("hands on every snapshot with the address it came from", async () => {
    const agent = await fakeAgent();
    agent.answer(json(() => snapshot([])));
    const { received } = follow(agent.url);
    await waitUntil(() => received.length >= 3);
    expect(received[0]).toEqual([agent.url, snapshot([])]);
  });

  it("is not delayed by an agent that hangs", async () => {
    const [hanging, good] = [await fakeAgent(), await fakeAgent()];
    hanging.answer(() => undefined);
    good.answer(json(() => snapshot([])));
    const { agents, received } = follow(hanging.url, good.url);
    await waitUntil(() => received.length >= 5 && (failures(agents)["timeout"] ?? 0) > 0);
    expect(received.every(([url]) => url === good.url)).toBe(true);
  });

  it("takes the snapshot of an agent of a later release, without the fields that are not known here", async () => {
    const agent = await fakeAgent();
    agent.answer(json(() => ({ ...snapshot([]), addedLater: 1 })));
    const { received } = follow(agent.url);
    await waitUntil(() => received.length > 0);
    expect(received[0]![1]).not.toHaveProperty("addedLater");
  });

  it.each([
    ["text that is not JSON", (): string => "<html>"],
    ["negative time", (): string => JSON.stringify({ ...snapshot([]), takenAtMs: -5 })],
    [
      "numbers as text",
      (): string => JSON.stringify({ ...snapshot([]), capacity: { cpuCores: "4", memoryBytes: 1 } }),
    ],
  ])("refuses %s, counts it and goes on", async (_name, body) => {
    const agent = await fakeAgent();
    agent.answer((_request, response) => response.end(body()));
    const { agents, received } = follow(agent.url);
    await waitUntil(() => (failures(agents)["bad-reply"] ?? 0) >= 1);
    expect(received).toEqual([]);
    agent.answer(json(() => snapshot([])));
    await waitUntil(() => received.length > 0);
  });

  it("does not read an answer without end", async () => {
    const agent = await fakeAgent();
    agent.answer((_request, response) => {
      const chunk = Buffer.alloc(1024 * 1024, 32);
      const write = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on("drain", write);
      write();
    });
    const { agents, received } = follow(agent.url);
    await waitUntil(() => Object.keys(failures(agents)).length > 0);
    expect(received).toEqual([]);
  });

  it("finds an agent again that disappeared, and asks it less often meanwhile", async () => {
    const agent = await fakeAgent();
    agent.answer((request) => request.socket.destroy());
    const { agents, received } = follow(agent.url);
    await waitUntil(() => agent.requests() >= 2);
    expect(agents.health()[0]!.state).not.toBe("ok");
    agent.answer(json(() => snapshot([])));
    await waitUntil(() => received.length > 0);
    expect(agents.health()[0]!.state).toBe("ok");
  });

  it("stops while an agent hangs", async () => {
    const agent = await fakeAgent();
    agent.answer(() => undefined);
    const { agents } = follow(agent.url);
    await waitUntil(() => agent.requests() > 0);
    await agents.stop();
    const before = agent.requests();
    await agents.stop();
    expect(agent.requests()).toBe(before);
  });
});
