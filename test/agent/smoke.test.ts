import { afterAll, beforeAll, expect, test } from "vitest";
import { Snapshot } from "@tradewind/core/contract/snapshot.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { startAgent } from "@tradewind/agent/agent.ts";
import { AgentOptions } from "@tradewind/agent/options.ts";
import { waitUntil } from "../wait-until.ts";

let agent: Running;
beforeAll(async () => {
  agent = await startAgent(AgentOptions.parse({ listen: "127.0.0.1:0", logLevel: "silent" }));
  await waitUntil(async () => (await fetch(`${agent.addresses["http"]}/readyz`)).ok, 9_000);
});
afterAll(async () => agent.stop());

test("a started agent serves a snapshot that keeps the contract", async () => {
  const response = await fetch(`${agent.addresses["http"]}/v1/snapshot`);
  const snapshot = Snapshot.parse(await response.json());
  expect(snapshot.capacity.cpuCores).toBeGreaterThan(0);
  expect(snapshot.interference.cpu.supported).toBe(true);
});

test("a started agent is healthy and ready", async () => {
  expect((await fetch(`${agent.addresses["http"]}/healthz`)).status).toBe(200);
  expect((await fetch(`${agent.addresses["http"]}/readyz`)).status).toBe(200);
});

test("an unknown path is answered 404 and another method 405", async () => {
  expect((await fetch(`${agent.addresses["http"]}/nothing`)).status).toBe(404);
  const posted = await fetch(`${agent.addresses["http"]}/metrics`, { method: "POST", body: "x" });
  expect(posted.status).toBe(405);
});
