import { describe, expect, it, onTestFinished } from "vitest";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { rulesFor } from "@tradewind/kubernetes/client/rights.ts";
import { EventRecorder } from "@tradewind/kubernetes/write/events.ts";
import type { EventFacts, EventResult } from "@tradewind/kubernetes/write/events.ts";
import { TokenBucket } from "@tradewind/kubernetes/write/token-bucket.ts";
import { FakeApiServer } from "../fake-api-server.ts";
import { silentLog } from "../silent-log.ts";

const facts = (changes: Partial<EventFacts> = {}, uid = "uid-1"): EventFacts => ({
  regarding: { apiVersion: "apps/v1", kind: "Deployment", namespace: "shop", name: "cart", uid },
  type: "Normal",
  reason: "ReplicasRecommended",
  action: "Recommend",
  note: "3 → 5 replicas",
  ...changes,
});

async function recorder() {
  const fake = await FakeApiServer.start();
  fake.addUser("scaler", "scaler-token", [
    { namespace: "shop", rules: rulesFor("scaler", "watched", ["events"]) },
  ]);
  const client = new ApiClient(fake.connection("scaler-token"), { retryDelays: { firstMs: 1, maxMs: 5 } });
  onTestFinished(async () => client.close());
  const results: EventResult[] = [];
  let nowMs = 0;
  const clock = { nowMs: () => Date.parse("2026-01-02T03:04:05.678Z") + nowMs, monotonicMs: () => nowMs };
  const made = new EventRecorder({
    client,
    controller: "tradewind.dev/exporter",
    instance: "tradewind-scaler-0",
    clock,
    log: silentLog,
    onResult: (result) => results.push(result),
  });
  const advance = (ms: number) => {
    nowMs += ms;
  };
  return { fake, recorder: made, results, advance, events: () => fake.list(RESOURCES.events) };
}

describe("events", () => {
  it("carry what kubectl describe shows", async () => {
    const { recorder: made, events } = await recorder();
    await made.record(facts());
    expect(events()).toMatchObject([
      {
        metadata: { namespace: "shop", name: expect.stringMatching(/^cart\.[0-9a-f]{16}$/) as string },
        eventTime: "2026-01-02T03:04:05.678000Z",
        reportingController: "tradewind.dev/exporter",
        reportingInstance: "tradewind-scaler-0",
        type: "Normal",
        reason: "ReplicasRecommended",
        action: "Recommend",
        note: "3 → 5 replicas",
        regarding: { kind: "Deployment", name: "cart", uid: "uid-1" },
      },
    ]);
  });

  it("said again are one event with a count, until it was long ago or the server has dropped it", async () => {
    const { advance, events, fake, recorder: made, results } = await recorder();
    await made.record(facts());
    advance(60_000);
    await made.record(facts());
    await made.record(facts({ note: "5 → 6 replicas" }));
    expect(events()).toMatchObject([{ series: { count: 2 } }, { note: "5 → 6 replicas" }]);
    advance(11 * 60_000);
    await made.record(facts());
    expect(events()).toHaveLength(3);
    for (const { metadata } of events()) fake.remove(RESOURCES.events, "shop", metadata.name);
    await made.record(facts());
    expect(events()).toHaveLength(1);
    expect(results).toEqual(["created", "repeated", "created", "created", "created"]);
  });

  it("never flood: one object has few, and all together a bounded rate", async () => {
    const { advance, events, recorder: made, results } = await recorder();
    for (let index = 0; index < 30; index += 1) await made.record(facts({ note: `note ${index}` }));
    expect(events()).toHaveLength(10);
    for (let index = 0; index < 60; index += 1) await made.record(facts({}, `uid-${index + 10}`));
    expect(events()).toHaveLength(50);
    advance(60_000);
    await made.record(facts({ note: "later" }));
    expect(results.at(-1)).toBe("created");
    expect(results.filter((result) => result === "dropped")).toHaveLength(40);
  });

  it("that cannot be written are counted and hold up nothing", async () => {
    const { fake, recorder: made, results } = await recorder();
    fake.addUser("scaler", "scaler-token", []);
    await made.record(facts());
    expect(results).toEqual(["failed"]);
  });
});

describe("a token bucket", () => {
  it("gives its burst at once and then its rate", () => {
    const bucket = new TokenBucket({ burst: 3, perSecond: 2 });
    const taken = (nowMs: number): number => {
      let count = 0;
      while (bucket.take(nowMs)) count += 1;
      return count;
    };
    expect([taken(0), taken(500), taken(2_000), taken(60_000)]).toEqual([3, 1, 3, 3]);
  });
});
