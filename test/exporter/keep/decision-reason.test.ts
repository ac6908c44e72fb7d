import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import { DecisionReason } from "@tradewind/core/contract/reason.ts";
import type { Allocation, Wish } from "@tradewind/core/contract/plan.ts";
import { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { reasonOf } from "@tradewind/exporter/keep/decision-reason.ts";
import { decideWish } from "../decide-wish.ts";
import { NO_LIMITS, wishOf } from "../wish.ts";

const MEASURED: Extract<Reason, { code: "measured" }> = {
  code: "measured",
  percentile: 0.95,
  latencySeconds: 0.603,
  objectiveSeconds: 0.2,
  requestsPerSecond: 31,
  overRatio: 0.12,
  windowSeconds: 15,
};

interface Situation {
  readonly asked: Allocation;
  readonly running: Allocation;
  readonly previous: Allocation | undefined;
  readonly growReplicas: number;
  readonly latencySeconds: number;
}

function decided({ asked, growReplicas, latencySeconds, previous, running }: Situation): DecisionRecord {
  const reasons: Reason[] = [
    { ...MEASURED, latencySeconds },
    { code: "replicas", fromReplicas: running.replicas, toReplicas: asked.replicas },
    {
      code: "expected",
      percentile: 0.95,
      expectedSeconds: 0.185,
      expectedLowSeconds: 0.12,
      expectedHighSeconds: 0.26,
      costPerHour: 0.012,
    },
  ];
  const wish: Wish = wishOf({
    allocation: asked,
    reasons,
    observed: { replicasReady: running.replicas, replicasWanted: running.replicas, complete: true },
    evidence: { runningCpuCores: running.cpuCores ?? 1, baseMemoryBytes: running.memoryBytes ?? 1e9 },
  });
  const plan = { application: "hotel", sequence: 1, predictorStartedAtMs: 0, plannedAtMs: 1_000_000 };
  const rules = {
    exporterStartedAtMs: 0,
    staleAfterSeconds: 300,
    restartGraceSeconds: 0,
    limitsOf: () => ({ ...NO_LIMITS, growRatio: 1, growReplicas }),
  };
  const past = {
    exporterStartedAtMs: 0,
    ...(previous && { previous: { final: previous, decidedAtMs: 985_000 } }),
  };
  const decision = decideWish(wish, plan, past, rules);
  if ("refusal" in decision) throw new Error(decision.refusal.reason.code);
  return decision.record;
}

const sizes: fc.Arbitrary<Allocation> = fc.record({
  replicas: fc.integer({ min: 1, max: 20 }),
  cpuCores: fc.integer({ min: 1, max: 40 }).map((tenths) => tenths / 10),
  memoryBytes: fc.integer({ min: 1, max: 64 }).map((times) => times * 2 ** 26),
});
const situation: fc.Arbitrary<Situation> = fc.record({
  asked: sizes,
  running: sizes,
  previous: fc.option(sizes, { nil: undefined }),
  growReplicas: fc.integer({ min: 0, max: 8 }),
  latencySeconds: fc.double({ min: 0.01, max: 2, noNaN: true }),
});

const numbersIn = (values: readonly unknown[]): number[] =>
  values.filter((value) => typeof value === "number");

/** Replicas from and to by every arrow of a text. */
const arrows = (text: string): number[][] =>
  [...text.matchAll(/(\d+) → (\d+) replica/g)].map(([, from, to]) => [Number(from), Number(to)]);

describe("the reason of a decision", () => {
  it("has the arrow of the change and no other, whatever was proposed and whatever the guard made of it", () => {
    fc.assert(
      fc.property(situation, fc.option(sizes, { nil: undefined }), (given, line) => {
        const record = decided(given);
        const before = line ?? given.previous ?? given.running;
        const { code, facts, text } = reasonOf(record, before);
        const { replicas } = record.final;
        expect(arrows(text)).toEqual(before.replicas === replicas ? [] : [[before.replicas, replicas]]);
        expect(text.includes(`keep ${replicas} replica`)).toBe(before.replicas === replicas);
        expect(facts).toMatchObject({ fromReplicas: before.replicas, toReplicas: replicas });
        const change = growth(before, record.final);
        expect(code.startsWith("grow") && change <= 0).toBe(false);
        expect(code.startsWith("shrink") && change >= 0).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it("carries at least three numbers in its facts and in its text", () => {
    fc.assert(
      fc.property(situation, (given) => {
        const { facts, text } = reasonOf(decided(given));
        expect(numbersIn(Object.values(facts)).length).toBeGreaterThanOrEqual(3);
        expect(text.match(/\d+/g)?.length ?? 0).toBeGreaterThanOrEqual(3);
      }),
    );
  });

  it("names the guard step and what was proposed where the step changed it", () => {
    const size = { replicas: 2, cpuCores: 1, memoryBytes: 2 ** 30 };
    const asked = { ...size, replicas: 9 };
    const { code, facts, text } = reasonOf(
      decided({ asked, running: size, previous: size, growReplicas: 2, latencySeconds: 0.603 }),
    );
    expect(code).toBe("change-limit");
    expect(facts).toMatchObject({ step: "change-limit", proposedReplicas: 9, toReplicas: 4 });
    expect(text).toContain(": 2 → 4 replicas; by guard step change-limit; proposed: 9 replicas");
  });

  it.each([
    [{ replicas: 4 }, 0.603, "grow-missed"],
    [{ replicas: 4 }, 0.1, "grow-met"],
    [{ replicas: 1 }, 0.1, "shrink-met"],
    [{ replicas: 2 }, 0.603, "keep-missed"],
    [{ replicas: 4, cpuCores: 0.5 }, 0.1, "trade-met"],
  ])("of %o at a latency of %d s has the code %s", (changed, latencySeconds, code) => {
    const size = { replicas: 2, cpuCores: 1, memoryBytes: 2 ** 30 };
    const asked = { ...size, ...changed };
    const given = { asked, running: size, previous: undefined, growReplicas: 8, latencySeconds };
    expect(reasonOf(decided(given)).code).toBe(code);
  });
});

describe("a record of a release without facts", () => {
  const old = (reasons: unknown): DecisionRecord =>
    DecisionRecord.parse({
      ...decided({
        asked: { replicas: 3 },
        running: { replicas: 2 },
        previous: undefined,
        growReplicas: 8,
        latencySeconds: 0.1,
      }),
      wish: { ...wishOf({ reason: "cheapest: 2 → 3 replicas", evidence: {} }), reasons },
    });

  it.each([
    ["no reasons", undefined],
    ["a code that is gone", [{ code: "cheapest" }, { code: "replicas", fromReplicas: 2, toReplicas: 3 }]],
  ])("with %s is said in its own words, and in an object that can be read", (_what, reasons) => {
    const { code, facts, text } = reasonOf(old(reasons));
    expect(text).toContain("cheapest: 2 → 3 replicas");
    expect(DecisionReason.parse({ code, facts, text })).toEqual({ code, facts, text });
  });
});

/** Above 0 where something grows and nothing shrinks. */
function growth(before: Allocation, after: Allocation): number {
  const signs = (["replicas", "cpuCores", "memoryBytes"] as const).map((size) =>
    Math.sign((after[size] ?? 0) - (before[size] ?? 0)),
  );
  if (signs.includes(1) && signs.includes(-1)) return 0;
  return Math.max(...signs) + Math.min(...signs);
}
