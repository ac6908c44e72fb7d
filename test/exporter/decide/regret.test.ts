import type { Recommendation } from "@tradewind/core/contract/recommendation.ts";
import { billOf, lookAt, Regret } from "@tradewind/exporter/decide/regret.ts";
import type { Look } from "@tradewind/exporter/decide/regret.ts";
import { DecisionBook } from "@tradewind/exporter/keep/book.ts";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { planOf } from "../wish.ts";

const PRICES = { cpuCoreHour: 0.1, memoryGigabyteHour: 0.01 };

/** 4 replicas of 0.5 cores and 1 GB run: 0.24 an hour. */
const recommendation = (changes: Partial<Recommendation> = {}): Recommendation => ({
  namespace: "shop",
  application: "hotel",
  service: "search",
  replicas: 4,
  replicasReady: 4,
  runningCpuCores: 0.5,
  runningMemoryBytes: 1e9,
  policy: "planner",
  confidence: 1,
  reason: "",
  decidedAtMs: 0,
  validUntilMs: 1,
  decisionId: "a",
  ...changes,
});

const look = (plannedAtMs: number, changes: Partial<Look> = {}): Look => ({
  application: "hotel",
  namespace: "shop",
  isOnly: true,
  mode: "observe",
  plannedAtMs,
  isMissed: false,
  prices: PRICES,
  recommendations: [recommendation()],
  ...changes,
});

/** Values of the counters and gauges after these looks, by name and labels. */
async function after(looks: readonly Look[]): Promise<Record<string, number>> {
  const registry = new Registry();
  const regret = new Regret(registry);
  for (const each of looks) regret.look(each);
  const lines = (await registry.metrics()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => {
      const end = line.lastIndexOf(" ");
      return [
        line.slice("tradewind_".length, end).replace('namespace="shop",application="hotel",', ""),
        Number(line.slice(end)),
      ];
    }),
  );
}

const HOTEL = { application: "hotel", namespace: "shop" };
const fewer = [recommendation({ replicas: 2 })];
const more = [recommendation({ replicas: 6, cpuCores: 1 })];
const SAVED = 'regret_cost_total{direction="saved"}';
const ADDED = 'regret_cost_total{direction="added"}';
const MISSED = 'regret_missed_seconds_total{namespace="shop",application="hotel"}';

describe("what an application in mode observe forgoes", () => {
  it("is the price that fewer replicas would have saved, over the time between plans", async () => {
    const told = await after([0, 60_000, 120_000].map((ms) => look(ms, { recommendations: fewer })));
    expect(told[SAVED]).toBeCloseTo((0.12 * 120) / 3_600, 9);
    expect(told[ADDED]).toBe(0);
    const { prices } = look(0, {});
    expect(billOf(fewer, prices).running).toBeCloseTo(0.24, 9);
    expect(billOf(fewer, prices).recommended).toBeCloseTo(0.12, 9);
  });

  it("is the price of more, and the time in which that and the objective were missed", async () => {
    const missed = [0, 60_000].map((ms) => look(ms, { recommendations: more, isMissed: true }));
    const told = await after([...missed, look(90_000, { recommendations: more })]);
    expect(told[ADDED]).toBeCloseTo(((6 * 0.11 - 0.24) * 90) / 3_600, 9);
    expect(told[MISSED]).toBe(60);
  });

  it("is reported in sums since the first plan, and no more once the mode is act", () => {
    const regret = new Regret(new Registry());
    for (const ms of [30_000, 90_000]) regret.look(look(ms, { recommendations: fewer }));
    regret.look(look(120_000, { recommendations: more, isMissed: true }));
    expect(regret.report(HOTEL)).toEqual({
      sinceMs: 30_000,
      savedCost: expect.closeTo((0.12 * 60) / 3_600, 9) as number,
      addedCost: expect.closeTo(((6 * 0.11 - 0.24) * 30) / 3_600, 9) as number,
      missedSeconds: 30,
      observedSeconds: 90,
    });
    regret.look(look(150_000, { mode: "act" }));
    expect(regret.report(HOTEL)).toBeUndefined();
  });

  it("is no time of a miss for which no more was recommended", async () => {
    const told = await after([0, 60_000].map((ms) => look(ms, { isMissed: true })));
    expect([told[MISSED], told[SAVED], told[ADDED]]).toEqual([0, 0, 0]);
  });

  it("is nothing of sizes that are only advised, nor in mode act, nor of the time without plans", async () => {
    const advised = [recommendation({ cpuCores: 0.1, memoryBytes: 1e8, advised: ["cpu", "memory"] })];
    expect((await after([0, 60_000].map((ms) => look(ms, { recommendations: advised }))))[SAVED]).toBe(0);
    const acting = [0, 60_000].map((ms) => look(ms, { mode: "act", recommendations: fewer }));
    expect((await after(acting))[SAVED]).toBe(0);
    const apart = [0, 86_400_000].map((ms) => look(ms, { recommendations: fewer }));
    expect((await after(apart))[SAVED]).toBeCloseTo((0.12 * 300) / 3_600, 9);
  });
});

it("leaves no series of an application of several that is gone", async () => {
  const registry = new Registry();
  const regret = new Regret(registry);
  for (const namespace of ["pr-1", "pr-2"]) regret.look(look(0, { namespace, isOnly: false }));
  regret.forget({ application: "hotel", namespace: "pr-1" });
  const text = await registry.metrics();
  expect(text).not.toContain("pr-1");
  expect(text).toContain('tradewind_regret_cost_total{namespace="pr-2"');
});

it("counts a window in which requests fail fast as one that misses the objective", () => {
  const { wishes: _, ...header } = planOf([], { measuredLatencySeconds: 0.01, failedRatio: 0.4 });
  expect(lookAt(header, new DecisionBook(), undefined).isMissed).toBe(true);
  expect(lookAt({ ...header, failedRatio: undefined }, new DecisionBook(), undefined).isMissed).toBe(false);
});
