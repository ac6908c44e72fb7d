import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { LeaderElector } from "@tradewind/kubernetes/election/elector.ts";
import { LEASE_NAME, rulesFor } from "@tradewind/kubernetes/client/rights.ts";
import { waitUntil } from "../../wait-until.ts";
import { FakeApiServer } from "../fake-api-server.ts";
import { silentLog } from "../silent-log.ts";

const TIMINGS = { leaseSeconds: 1, renewDeadlineMs: 400, retryMs: 30 };

async function server(): Promise<FakeApiServer> {
  const fake = await FakeApiServer.start();
  fake.addUser("scaler", "scaler-token", [
    { namespace: "tradewind", rules: rulesFor("scaler", "own", ["leader"]) },
  ]);
  return fake;
}

function candidate(fake: FakeApiServer, identity: string, clock = systemClock) {
  const work: string[] = [];
  const client = new ApiClient(fake.connection("scaler-token"), {
    retryDelays: { firstMs: 1, maxMs: 5 },
    deadlineMs: 300,
  });
  const elector = new LeaderElector({
    client,
    namespace: "tradewind",
    name: LEASE_NAME,
    identity,
    clock,
    rng: Math.random,
    log: silentLog,
    timings: TIMINGS,
    lead: async (signal) => {
      work.push("began");
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
      work.push("ended");
    },
  });
  onTestFinished(async () => {
    await elector.stop();
    await client.close();
  });
  elector.start();
  return { elector, client, work };
}

const lease = (fake: FakeApiServer) =>
  fake.find(RESOURCES.leases, "tradewind", LEASE_NAME)?.spec as
    | {
        holderIdentity: string;
        leaseTransitions: number;
        leaseDurationSeconds: number;
        acquireTime: string;
        renewTime: string;
      }
    | undefined;

describe("leader election", () => {
  it("has exactly one leader, with the rights of the table and no more", async () => {
    const fake = await server();
    const all = ["a", "b", "c"].map((identity) => candidate(fake, identity));
    await waitUntil(() => all.some(({ elector }) => elector.isLeader));
    const renewed = lease(fake)!.renewTime;
    await waitUntil(() => lease(fake)!.renewTime > renewed);
    await waitUntil(() => all.every(({ elector }) => elector.leader === lease(fake)!.holderIdentity));
    expect(all.filter(({ elector }) => elector.isLeader)).toHaveLength(1);
    expect(all.flatMap(({ work }) => work)).toEqual(["began"]);
    expect(fake.refused).toEqual([]);
  });

  it("passes on at once when the leader stops, whose work has ended before", async () => {
    const fake = await server();
    const a = candidate(fake, "a");
    await waitUntil(() => a.elector.isLeader);
    const b = candidate(fake, "b");
    const startedMs = performance.now();
    await a.elector.stop();
    expect(a.work).toEqual(["began", "ended"]);
    await waitUntil(() => b.elector.isLeader);
    expect(performance.now() - startedMs).toBeLessThan(900);
    expect(lease(fake)).toMatchObject({ holderIdentity: "b", leaseTransitions: 1 });
  });

  it("passes on when the leader dies, but not before its lease has run out", async () => {
    const fake = await server();
    const a = candidate(fake, "a");
    await waitUntil(() => a.elector.isLeader);
    let dead = false;
    fake.fault((call, response) => {
      const isLeaders =
        (call.body as { spec?: { holderIdentity?: string } } | undefined)?.spec?.holderIdentity === "a";
      if (dead && isLeaders) response.destroy();
      return dead && isLeaders;
    });
    const b = candidate(fake, "b");
    dead = true;
    const diedMs = performance.now();
    await waitUntil(() => b.elector.isLeader);
    expect(performance.now() - diedMs).toBeGreaterThan(900);
    expect(a.elector.isLeader).toBe(false);
    expect(a.work).toEqual(["began", "ended"]);
  });

  it("a leader that cannot renew stops before anybody else may begin", async () => {
    const fake = await server();
    const a = candidate(fake, "a");
    await waitUntil(() => a.elector.isLeader);
    fake.fault(() => true);
    const silentMs = performance.now();
    await waitUntil(() => !a.elector.isLeader);
    expect(performance.now() - silentMs).toBeLessThan(TIMINGS.leaseSeconds * 1_000);
  });

  it("a leader whose lease was written long before the answer came does not count from the answer", async () => {
    const fake = await server();
    let lateMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + lateMs };
    fake.fault(({ verb }) => {
      if (verb === "create") lateMs = 2 * TIMINGS.renewDeadlineMs;
      return false;
    });
    const { work } = candidate(fake, "a", clock);
    await waitUntil(() => work.includes("ended"));
  });

  it("a leader whose lease another took stops at its next renewal", async () => {
    const fake = await server();
    const a = candidate(fake, "a");
    await waitUntil(() => a.elector.isLeader);
    const object = fake.find(RESOURCES.leases, "tradewind", LEASE_NAME)!;
    fake.put(RESOURCES.leases, { ...object, spec: { ...(object.spec as object), holderIdentity: "thief" } });
    await waitUntil(() => a.elector.leader === "thief");
    expect(a.elector.isLeader).toBe(false);
  });

  it("does not mind clocks: a lease with a time of last year counts from when it was first seen", async () => {
    const fake = await server();
    fake.put(RESOURCES.leases, {
      metadata: { name: LEASE_NAME, namespace: "tradewind" },
      spec: {
        holderIdentity: "gone",
        leaseDurationSeconds: 1,
        renewTime: "2020-01-01T00:00:00.000000Z",
        leaseTransitions: 4,
      },
    });
    const a = candidate(fake, "a");
    const startedMs = performance.now();
    await waitUntil(() => a.elector.isLeader);
    expect(performance.now() - startedMs).toBeGreaterThan(900);
    expect(lease(fake)).toMatchObject({ holderIdentity: "a", leaseTransitions: 5 });
  });

  it("does without a leader while the lease may not be written", async () => {
    const fake = await server();
    fake.addUser("scaler", "scaler-token", []);
    const a = candidate(fake, "a");
    await waitUntil(() => fake.refused.length >= 3);
    expect(a.elector.isLeader).toBe(false);
    fake.addUser("scaler", "scaler-token", [
      { namespace: "tradewind", rules: rulesFor("scaler", "own", ["leader"]) },
    ]);
    await waitUntil(() => a.elector.isLeader);
  });
});
