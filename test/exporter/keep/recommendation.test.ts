import type { GuardLimits } from "@tradewind/core/contract/recommendation.ts";
import type { Wish } from "@tradewind/core/contract/plan.ts";
import { decideWish } from "../decide-wish.ts";
import { answeredReplicas, recommendationOf } from "@tradewind/exporter/keep/recommendation.ts";
import { describe, expect, it } from "vitest";
import { NO_LIMITS, wishOf } from "../wish.ts";

const recommended = (changes: Partial<Wish>, limits?: GuardLimits) =>
  recommendationOf(decided(changes, limits));

function decided(changes: Partial<Wish>, limits: GuardLimits = NO_LIMITS) {
  const plan = { application: "hotel", sequence: 1, predictorStartedAtMs: 0, plannedAtMs: 1_000_000 };
  const rules = {
    exporterStartedAtMs: 0,
    staleAfterSeconds: 300,
    restartGraceSeconds: 0,
    limitsOf: () => limits,
  };
  const decision = decideWish(wishOf(changes), plan, { exporterStartedAtMs: 0 }, rules);
  if ("refusal" in decision) throw new Error(decision.refusal.reason.code);
  return decision.record;
}

describe("a service whose ScaledObject is paused", () => {
  const replicasFor = (scalingPaused: { scalingPaused?: true }) => {
    const { observed } = wishOf();
    return answeredReplicas(
      decided({ allocation: { replicas: 5 }, observed: { ...observed, ...scalingPaused } }),
    );
  };

  it("is in mode observe: KEDA is answered what runs", () => {
    expect(replicasFor({})).toBe(5);
    expect(replicasFor({ scalingPaused: true })).toBe(3);
  });
});

const advice = { cpuCores: 0.25, memoryBytes: 130e6 };

describe("a size that the plan advises", () => {
  it("is recommended, and marked as one that nothing counts on", () => {
    expect(recommended({ allocation: { replicas: 5 }, advice })).toMatchObject({
      replicas: 5,
      ...advice,
      advised: ["cpu", "memory"],
    });
  });

  it("gives way to one that is decided", () => {
    const both = recommended({ allocation: { replicas: 5, cpuCores: 0.6 }, advice });
    expect(both).toMatchObject({ cpuCores: 0.6, memoryBytes: 130e6, advised: ["memory"] });
    expect(recommended({}).advised).toBeUndefined();
  });

  it("keeps to the bounds of the plan, and to the exporter's own before them", () => {
    const high = { cpuCores: 100, memoryBytes: 1e12 };
    expect(recommended({ allocation: { replicas: 5 }, advice: high })).toMatchObject({
      cpuCores: 4,
      memoryBytes: 4e9,
    });
    const container = { cpuMinCores: 0.1, cpuMaxCores: 2, memoryMinBytes: 64e6, memoryMaxBytes: 1e9 };
    expect(
      recommended({ allocation: { replicas: 5 }, advice: high }, { ...NO_LIMITS, container }),
    ).toMatchObject({ cpuCores: 2, memoryBytes: 1e9 });
  });
});
