import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { createBalancer } from "@tradewind/local/application/balance.ts";
import { createHttpClient } from "@tradewind/local/application/call.ts";
import type { Arrival } from "@tradewind/local/load/arrivals.ts";
import { startLoad } from "@tradewind/local/load/generator.ts";
import type { Outcome } from "@tradewind/local/load/generator.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function listen(handler: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The given times, then never again. */
function* at(...seconds: number[]): Generator<Arrival, never> {
  for (const atSeconds of seconds) yield { atSeconds, route: "GET /", demandSeed: 1 };
  for (;;) yield { atSeconds: 1e6, route: "GET /", demandSeed: 1 };
}

async function outcomesOf(
  endpoints: readonly string[],
  times: readonly number[],
): Promise<readonly Outcome[]> {
  const balancer = createBalancer();
  balancer.setEndpoints(endpoints);
  const client = createHttpClient();
  const outcomes: Outcome[] = [];
  const done = Promise.withResolvers<void>();
  const load = startLoad({
    arrivals: at(...times),
    balancer,
    client,
    clock: systemClock,
    onOutcome(outcome) {
      outcomes.push(outcome);
      if (outcomes.length === times.length) done.resolve();
    },
  });
  await done.promise;
  await load.stop();
  client.close();
  return outcomes;
}

describe("startLoad", () => {
  it("counts the wait of requests that were due while everything stood still", async () => {
    const endpoint = await listen((_request, response) => response.end("ok"));
    const balancer = createBalancer();
    balancer.setEndpoints([endpoint]);
    const client = createHttpClient();
    const outcomes: Outcome[] = [];
    const done = Promise.withResolvers<void>();
    const load = startLoad({
      arrivals: at(0.01, 0.02, 0.03),
      balancer,
      client,
      clock: systemClock,
      onOutcome(outcome) {
        outcomes.push(outcome);
        if (outcomes.length === 3) done.resolve();
      },
    });
    // The whole process stalls for 200 ms, as a paused virtual machine would.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    await done.promise;
    await load.stop();
    client.close();
    for (const { dueSeconds, latencySeconds } of outcomes) {
      expect(dueSeconds + latencySeconds).toBeGreaterThan(0.19);
    }
  });

  it("does not wait for an answer before it sends the next request", async () => {
    let open = 0;
    let mostOpen = 0;
    const endpoint = await listen((_request, response) => {
      open += 1;
      mostOpen = Math.max(mostOpen, open);
      if (open === 3) for (const each of waiting) each();
      waiting.push(() => response.end());
      if (open === 3) for (const each of waiting) each();
    });
    const waiting: (() => void)[] = [];
    const outcomes = await outcomesOf([endpoint], [0, 0.01, 0.02]);
    expect(mostOpen).toBe(3);
    expect(outcomes.every(({ failed }) => !failed)).toBe(true);
  });

  it("counts refusals, broken connections and missing replicas as failed, with at least the time-out", async () => {
    const full = await listen((_request, response) => response.writeHead(503).end());
    const broken = await listen((request) => request.socket.destroy());
    for (const { endpoints, failure } of [
      { endpoints: [full], failure: "refused" },
      { endpoints: [broken], failure: "broken" },
      { endpoints: [], failure: "unsent" },
    ]) {
      const [outcome] = await outcomesOf(endpoints, [0]);
      expect(outcome).toMatchObject({ failed: true, failure });
      expect(outcome!.latencySeconds).toBeGreaterThanOrEqual(2);
    }
  });

  it("gives up 2 s after a request was due", async () => {
    const silent = await listen(() => undefined);
    const [outcome] = await outcomesOf([silent], [0]);
    expect(outcome).toMatchObject({ failed: true, failure: "late" });
    expect(outcome!.latencySeconds).toBeGreaterThanOrEqual(2);
    expect(outcome!.latencySeconds).toBeLessThan(4);
  });

  it("sends nothing that is due at the end of the run or later (load-after-the-end)", async () => {
    const endpoint = await listen((_request, response) => response.end("ok"));
    const balancer = createBalancer();
    balancer.setEndpoints([endpoint]);
    const client = createHttpClient();
    const due: number[] = [];
    const passed = { ms: 0 };
    // Everything is due by the time that it starts.
    const clock = { nowMs: () => 0, monotonicMs: () => (passed.ms += 100_000) };
    const load = startLoad({
      arrivals: at(10, 20, 30, 40),
      balancer,
      client,
      clock,
      untilSeconds: 30,
      onOutcome: ({ dueSeconds }) => due.push(dueSeconds),
    });
    await load.stop();
    client.close();
    expect(due).toEqual([10, 20]);
  });
});
