import { systemClock } from "@tradewind/core/process/clock.ts";
import { EVENT_SCHEMA } from "@tradewind/core/contract/event.ts";
import type { InterferenceEvent } from "@tradewind/core/contract/event.ts";
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

const MOVE = {
  schema: EVENT_SCHEMA,
  sequence: 0,
  agentStartedAtMs: 1_000,
  node: "node-1",
  atMs: 5_000,
  containers: [],
};

function follow(...urls: string[]): { agents: Agents; received: [string, Snapshot][] } {
  return followEvery(20, () => undefined, ...urls);
}

function followEvery(
  pollMs: number,
  onEvent: (url: string, event: InterferenceEvent) => void,
  ...urls: string[]
): { agents: Agents; received: [string, Snapshot][] } {
  const received: [string, Snapshot][] = [];
  const agents = new Agents({
    urls,
    pollMs,
    timeoutMs: 150,
    clock: systemClock,
    rng: seededRng(1),
    log: createLog("test", "silent"),
    onSnapshot: (url, one) => received.push([url, one]),
    onEvent,
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

describe("events of agents", () => {
  const message = (event: unknown): string => `event: interference\ndata: ${JSON.stringify(event)}\n\n`;

  it("let a snapshot be asked for long before its time", async () => {
    const agent = await fakeAgent();
    agent.answer(json(() => snapshot([])));
    const told: (() => void)[] = [];
    agent.answerEvents((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" }).write("retry: 1000\n\n");
      told.push(() => response.write(message(MOVE)));
    });
    const events: InterferenceEvent[] = [];
    const { received } = followEvery(60_000, (_url, event) => events.push(event), agent.url);
    await waitUntil(() => received.length === 1 && told.length === 1);
    told[0]!();
    await waitUntil(() => received.length === 2);
    expect(events).toEqual([MOVE]);
  });

  it.each([
    ["is not JSON", "event: interference\ndata: {\n\n"],
    ["does not fit the contract", message({ ...MOVE, atMs: "now" })],
    ["never ends", `data: ${"x".repeat(17 * 1024 * 1024)}`],
  ])("that one %s are refused without harm to the polls, and subscribed to again", async (_name, text) => {
    const agent = await fakeAgent();
    agent.answer(json(() => snapshot([])));
    let subscriptions = 0;
    agent.answerEvents((_request, response) => {
      subscriptions += 1;
      response.writeHead(200, { "content-type": "text/event-stream" }).write(text);
    });
    const events: InterferenceEvent[] = [];
    const { agents, received } = followEvery(20, (_url, event) => events.push(event), agent.url);
    await waitUntil(() => subscriptions >= 2 && received.length >= 2);
    expect(events).toEqual([]);
    expect(agents.health()[0]!.state).toBe("ok");
  });

  it("are not needed: an agent without them is polled", async () => {
    const agent = await fakeAgent();
    agent.answer(json(() => snapshot([])));
    const { agents, received } = follow(agent.url);
    await waitUntil(() => received.length >= 3);
    expect(failures(agents)).toEqual({});
  });
});
