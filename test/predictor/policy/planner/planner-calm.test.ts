import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { describe, expect, it } from "vitest";
import type { ServiceEvidence } from "@tradewind/predictor/policy/evidence.ts";
import type { PolicyOutcome } from "@tradewind/predictor/policy/inputs.ts";
import { emptyState } from "@tradewind/predictor/policy/state.ts";
import { START_MS, WINDOW_MS } from "../../measurements.ts";
import {
  BACKEND,
  BUSY,
  CALM,
  calmState,
  chained,
  FRONTEND,
  modelledEvidence,
  planned,
  utilisationOf,
  wishOf,
} from "./planned.ts";
import type { ModelledService } from "./planned.ts";

const EMPTY = emptyState("default", "default");

describe("the planner, when it is calm", () => {
  const state = calmState(EMPTY, 5);

  it("takes back several steps at once, as far as demand, profile and proof allow", () => {
    const outcome = planned(CALM, { state });
    const { allocation, steps = [], policy } = wishOf(outcome, "backend");
    expect(policy).toBe("planner-prior");
    expect(steps.length).toBeGreaterThan(1);
    expect(steps.every(({ direction, costPerHour }) => direction === "down" && costPerHour < 0)).toBe(true);
    const left = allocation.replicas * (allocation.cpuCores ?? 2);
    expect(left).toBeLessThan(8);
    expect(left).toBeGreaterThanOrEqual(0.6 * 8 - 1e-9);
    expect(outcome.state.calmWindows).toBeLessThan(5);
    expect(outcome.state.shrunkAtMs).toBeDefined();
  });

  it("takes back nothing before the calm has lasted as long as the objective is judged over", () => {
    const outcome = planned(CALM, { state: calmState(EMPTY, 1) });
    expect(outcome.plan.policyReason).toContain("calm for 2 of 3 windows");
    expect(wishOf(outcome, "backend").steps).toEqual([]);
  });

  it("gives nothing for what is only predicted to miss", () => {
    // Measured at 61 % of the objective; earlier windows have shown three times what the profiles say.
    const flowCorrections = [{ flow: "GET /", correction: 3 }];
    const planner = { missedInSpite: 0, recentSeverities: [], flowCorrections };
    const set = chained(BUSY, START_MS, 0.2);
    set.flows[0]!.latency.count = 20;
    const outcome = planned(BUSY, { state: { ...EMPTY, windowEndMs: START_MS, planner } }, set);
    expect(outcome.plan.policyReason).toMatch(
      /is met .*: gives what CPU demand needs, tail predicted at \d{3} %/,
    );
    for (const { steps = [] } of outcome.plan.wishes) expect(steps).toEqual([]);
  });

  it("takes back nothing in its first windows, which may still tell of an idle time before", () => {
    const young = { missedInSpite: 0, recentSeverities: Array.from({ length: 6 }, () => 0) };
    const steps = (recentSeverities: readonly number[]): number => {
      const planner = { ...young, recentSeverities: [...recentSeverities] };
      return wishOf(planned(CALM, { state: { ...state, planner } }), "backend").steps!.length;
    };
    expect(steps(young.recentSeverities)).toBe(0);
    expect(steps([...young.recentSeverities, 0])).toBeGreaterThan(0);
  });

  it("judges by no tail of before a gap: neither to take back, nor to tell that a miss is ending", () => {
    const before = { ...state, windowEndMs: START_MS - 10 * WINDOW_MS };
    const outcome = planned(CALM, { state: before });
    expect(outcome.state.planner?.recentSeverities).toHaveLength(1);
    expect(wishOf(outcome, "backend").steps).toEqual([]);
  });

  it("does not judge by one lucky window", () => {
    const lucky = { missedInSpite: 0, recentSeverities: Array.from({ length: 8 }, () => 0.76) };
    const outcome = planned(CALM, { state: { ...state, planner: lucky } });
    const bold = planned(CALM, { state });
    const left = (made: PolicyOutcome): number =>
      made.plan.wishes.reduce((sum, { steps = [] }) => sum + steps.length, 0);
    expect(left(outcome)).toBeLessThan(left(bold));
  });

  it("does not judge by one unlucky window either", () => {
    const stepsAfter = (recentSeverities: number[]): number => {
      const outcome = planned(CALM, { state: { ...state, planner: { missedInSpite: 0, recentSeverities } } });
      return outcome.plan.wishes.reduce((sum, { steps = [] }) => sum + steps.length, 0);
    };
    const unlucky = [0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 1.05, 0.3];
    const restless = [0.3, 0.3, 0.3, 0.3, 0.3, 1.05, 1.05, 1.05];
    expect(stepsAfter(unlucky)).toBeGreaterThan(stepsAfter(restless));
  });

  it("never gives and takes in one plan", () => {
    const needy = { ...FRONTEND, cpuSecondsPerRequest: 0.045 };
    expect(utilisationOf(needy)).toBeGreaterThan(0.65);
    const outcome = planned([needy, CALM[1]!], { state }, chained([needy, CALM[1]!], START_MS, 0.5));
    expect(wishOf(outcome, "frontend").allocation.cpuCores).toBeGreaterThan(1);
    expect(wishOf(outcome, "backend").steps).toEqual([]);
  });

  it.each<{ missing: string; without: (set: WindowSet) => void }>([
    {
      missing: "the CPU use of one pod",
      without: (set) => delete set.windows[1]!.containers[0]!.cpuUsageCores,
    },
    { missing: "what the platform wants", without: (set) => delete set.windows[1]!.replicasWanted },
    { missing: "the latency of the service", without: (set) => delete set.windows[1]!.ownLatency },
    { missing: "its load", without: (set) => delete set.windows[1]!.requestsPerSecond },
    { missing: "the replicas that serve", without: (set) => delete set.windows[1]!.replicasReady },
  ])("takes nothing back from a service without $missing", ({ without }) => {
    const set = chained(CALM);
    without(set);
    const { allocation, steps = [] } = wishOf(planned(CALM, { state }, set), "backend");
    expect(steps.filter(({ direction }) => direction === "down")).toEqual([]);
    expect(allocation.replicas).toBeGreaterThanOrEqual(4);
  });

  it("takes no CPU from containers that their quota holds up", () => {
    const set = chained(CALM);
    for (const container of set.windows[1]!.containers) container.cpuThrottledRatio = 0.4;
    expect(wishOf(planned(CALM, { state }, set), "backend").steps).toEqual([]);
  });

  it("leaves a container what one request needs within a period of the quota, as long as it only has a prior", () => {
    const slow: ModelledService = { ...BACKEND, replicas: 1, cores: 2, requestsPerSecond: 0.5 };
    const outcome = planned([{ ...FRONTEND, requestsPerSecond: 0.5 }, slow], { state });
    expect(wishOf(outcome, "backend").allocation.cpuCores ?? 2).toBeGreaterThanOrEqual(0.85);
  });

  it("takes memory back down to a third over its peak, and only when the peak is known", () => {
    const roomy = [FRONTEND, { ...CALM[1]!, memoryBytes: 2e9, usedBytes: 3e8 }];
    const evidence = (peak?: number): ServiceEvidence[] =>
      roomy.map((each) => modelledEvidence(each, peak === undefined ? {} : { memoryPeakBytes: peak }));
    const known = wishOf(planned(roomy, { state, profiles: evidence(5e8) }), "backend").allocation;
    expect(known.memoryBytes).toBeGreaterThanOrEqual(1.3 * 5e8);
    expect(known.memoryBytes).toBeLessThan(2e9);
  });

  it("gives memory back to a container that has nearly filled it", () => {
    const full = [FRONTEND, { ...CALM[1]!, memoryBytes: 4e8, usedBytes: 3.9e8 }];
    const { allocation, policy } = wishOf(planned(full), "backend");
    expect(allocation.memoryBytes).toBe(6e8);
    expect(policy).toBe("reactive");
  });

  it("starts the next plan from the sizes it wished, though the platform has not followed yet", () => {
    const first = planned(CALM, { state });
    const wished = wishOf(first, "backend").allocation;
    const next = planned(CALM, { state: first.state }, chained(CALM, START_MS + WINDOW_MS));
    expect(wishOf(next, "backend").allocation).toEqual(wished);
  });

  it("starts from what runs when somebody else has changed a size", () => {
    const first = planned(CALM, { state });
    const followed = [FRONTEND, { ...CALM[1]!, ...sizeOf(first) }];
    const second = planned(followed, { state: first.state }, chained(followed, START_MS + WINDOW_MS));
    const changed = [FRONTEND, { ...followed[1]!, cores: 3 }];
    const third = planned(changed, { state: second.state }, chained(changed, START_MS + 2 * WINDOW_MS));
    expect(wishOf(third, "backend").evidence["baseCpuCores"]).toBe(3);
  });
});

function sizeOf(outcome: PolicyOutcome): { readonly replicas: number; readonly cores: number } {
  const { replicas, cpuCores = 2 } = wishOf(outcome, "backend").allocation;
  return { replicas, cores: cpuCores };
}
