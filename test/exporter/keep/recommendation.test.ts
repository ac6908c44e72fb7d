import type { GuardLimits } from "@tradewind/core/contract/recommendation.ts";
import type { Wish } from "@tradewind/core/contract/plan.ts";
import { decideWish } from "../decide-wish.ts";
import { answeredReplicas, recommendationOf } from "@tradewind/exporter/keep/recommendation.ts";
import { rowOf } from "@tradewind/exporter/decide/served-rows.ts";
import { bookEntry } from "@tradewind/exporter/keep/book-entry.ts";
import { answer } from "@tradewind/exporter/serve/keda/answer.ts";
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

type Held = Pick<Wish["observed"], "scalingPaused">;

/** Five replicas are wished where three run. */
const heldBy = (held: Held, replicas = 5) =>
  decided({ allocation: { replicas }, observed: { ...wishOf().observed, ...held } });

describe("a service whose ScaledObject is paused", () => {
  it("is in mode observe: KEDA gets the current replica count", () => {
    expect(answeredReplicas(heldBy({}))).toBe(5);
    expect(answeredReplicas(heldBy({ scalingPaused: true }))).toBe(3);
  });

  it("says so", () => {
    expect(recommendationOf(heldBy({ scalingPaused: true })).reasons).toContainEqual({
      code: "scaling-paused",
    });
  });
});

describe("a service whose HPA multiplies by its ready pods (metricType: Value)", () => {
  /** As the HPA controller decides on an external metric with a target of type Value, `value / 1` here. */
  const synced = (answer: number | undefined, running: number, most = 20): number => {
    if (answer === undefined || answer === 1) return running;
    return Math.min(most, Math.ceil(answer * running));
  };
  const after = (syncs: number, held: Held): number => {
    let running = 3;
    for (let sync = 0; sync < syncs; sync += 1) running = synced(answeredReplicas(heldBy(held, 2)), running);
    return running;
  };

  it("would run to its maximum with a number, and stays as it is without one", () => {
    expect(after(4, {})).toBe(20);
    expect(after(4, { scalingPaused: "multiplied" })).toBe(3);
  });

  it("is answered UNAVAILABLE, with what to do", () => {
    const row = rowOf(bookEntry(heldBy({ scalingPaused: "multiplied" }), 0), undefined);
    const table = { find: () => row, predictorProblem: undefined };
    const metadata = new Map([["service", row.service]] as const);
    const request = { name: "search", namespace: row.namespace, metadata, metricName: "" };
    expect(answer(request, table, 1)).toEqual({
      problem: "unavailable",
      message: expect.stringMatching(/remove 'metricType: Value' from Tradewind's trigger/) as string,
    });
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
