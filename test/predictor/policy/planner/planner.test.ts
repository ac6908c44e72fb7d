import { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ServiceEvidence } from "@tradewind/predictor/policy/evidence.ts";
import { emptyState } from "@tradewind/predictor/policy/state.ts";
import { application, START_MS, WINDOW_MS } from "../../measurements.ts";
import {
  BACKEND,
  BUSY,
  CALM,
  calmState,
  chained,
  FRONTEND,
  flat,
  modelledEvidence,
  planned,
  wishOf,
} from "./planned.ts";
import type { ModelledService } from "./planned.ts";

const EMPTY = emptyState("default", "default");

describe("the planner, when the objective is missed", () => {
  it("gives CPU to the saturated service, at once, and says what that buys and costs", () => {
    const outcome = planned(BUSY);
    expect(outcome.plan.policy).toBe("planner-prior");
    const { allocation, steps = [], ...wish } = wishOf(outcome, "backend");
    expect(allocation.cpuCores).toBeGreaterThan(1.2);
    expect(wish.policy).toBe("planner-prior");
    expect(steps.length).toBeGreaterThan(0);
    for (const step of steps) {
      expect(step).toMatchObject({ resource: "cpu", direction: "up" });
      expect(step.tailAfterSeconds).toBeLessThan(step.tailBeforeSeconds);
      expect(step.costPerHour).toBeGreaterThan(0);
    }
    expect(wish.latencyBeforeSeconds).toBeCloseTo(0.6111, 3);
    expect(wish.latencyAfterSeconds).toBeLessThanOrEqual(0.85 * 0.2);
    expect(wishOf(outcome, "frontend").allocation).toEqual({ replicas: 1 });
  });

  it("comes to the numbers of the worked example in docs/planning.md", () => {
    const { steps = [], ...wish } = wishOf(planned(BUSY), "backend");
    expect(wish.evidence["cpuDemandCores"]).toBeCloseTo(1.7, 2);
    expect(steps.map(({ to }) => Math.round(10 * to) / 10)).toEqual([1.4, 1.6, 1.8, 2]);
    expect(steps.map((step) => Math.round(1e3 * step.tailBeforeSeconds))).toEqual([317, 237, 200, 178]);
    expect(steps.map((step) => Math.round(1e3 * step.tailAfterSeconds))).toEqual([237, 200, 178, 164]);
    for (const { costPerHour } of steps) expect(costPerHour).toBeCloseTo(2 * 0.2 * 0.031, 6);
    expect(wish.allocation).toEqual({ replicas: 2, cpuCores: 2 });
    expect(wish.reason).toBe(
      "the objective is missed (tail at 306 % of it): 1 to 2 cores each, 1.2 of them for CPU demand alone; " +
        "the rest: 153 ms less of the tail, 0.0496 more per hour",
    );
    expect(wish.latencyAfterSeconds).toBeCloseTo(0.164, 3);
    expect(wish.confidence).toBeCloseTo(300 / 320 / (1 + Math.log(1.25 / 0.8)), 6);
  });

  it("only adds replicas where containers keep their size", () => {
    const outcome = planned(BUSY, { application: application() });
    const { allocation, steps = [] } = wishOf(outcome, "backend");
    expect(allocation.cpuCores).toBeUndefined();
    expect(allocation.replicas).toBeGreaterThan(2);
    expect(new Set(steps.map(({ resource }) => resource))).toEqual(new Set(["replicas"]));
  });

  it("leaves requests alone that stand under a limit", () => {
    const outcome = planned(BUSY, { application: application({ resize: "requests" }) });
    expect(wishOf(outcome, "backend").allocation.cpuCores).toBeUndefined();
  });

  it("waits for a second window when the miss is slight", () => {
    const slow = [FRONTEND, { ...BACKEND, cpuSecondsPerRequest: 0.06 }];
    const set = chained(slow, START_MS, 0.92);
    const outcome = planned(slow, {}, set);
    expect(outcome.plan.policyReason).toContain("a slight miss: waits for a second window");
    const again = planned(slow, { state: { ...EMPTY, windowEndMs: START_MS, missedWindows: 1 } }, set);
    expect(wishOf(again, "backend").steps!.length).toBeGreaterThan(0);
  });

  it("says that an objective is out of reach, and gives what can be reached", () => {
    const outcome = planned(BUSY, {
      application: application({ resize: "limits", objective: { milliseconds: 50, windowSeconds: 45 } }),
    });
    expect(outcome.plan.policyReason).toContain("out of reach within the bounds");
    const { allocation, latencyAfterSeconds } = wishOf(outcome, "backend");
    expect(latencyAfterSeconds).toBeGreaterThan(0.05);
    expect(latencyAfterSeconds).toBeLessThan(0.2);
    expect(allocation.replicas * allocation.cpuCores!).toBeLessThanOrEqual(3 * 2 + 1e-9);
  });

  it("gives a throttled container what one request needs within a period of the quota, which no queueing prior asks for", () => {
    const rare = { ...BACKEND, replicas: 1, cores: 0.4, requestsPerSecond: 1 };
    const services = [FRONTEND, rare];
    const profiles = services.map((each) =>
      modelledEvidence(each, { prior: each === rare ? needy : flat(each) }),
    );
    const wished = (throttled: number): number | undefined => {
      const set = chained(services, START_MS, 10);
      for (const container of set.windows[1]!.containers) container.cpuThrottledRatio = throttled;
      return wishOf(planned(services, { profiles }, set), "backend").allocation.cpuCores;
    };
    // Twice 85 ms of CPU in 100 ms.
    expect(wished(0.5)).toBeGreaterThanOrEqual(1.7);
    expect(wished(0.1) ?? 0.4).toBeLessThan(1.7);
  });

  it("never goes under what CPU demand needs, whatever the profile says", () => {
    const blind = BUSY.map((each) => modelledEvidence(each, { prior: flat(each) }));
    const set = chained(BUSY, START_MS, 0.01);
    const { allocation } = wishOf(planned(BUSY, { profiles: blind }, set), "backend");
    const demand = BACKEND.requestsPerSecond * BACKEND.cpuSecondsPerRequest;
    expect(allocation.replicas * allocation.cpuCores!).toBeGreaterThanOrEqual(demand / 0.75);
  });
});

/** A prior that knows what a request takes, and nothing of queueing. */
const needy: ServiceEvidence["prior"] = {
  state: { cpuSecondsPerRequest: 0.085, baseSeconds: 1e-4 },
  errors: { windows: 10, meanAbsoluteRatio: 0.2 },
};

describe("the planner, whatever happens", () => {
  it("plans around a service that vanished, and keeps its wish", () => {
    const first = planned(CALM);
    const set = chained(CALM, START_MS + WINDOW_MS);
    set.windows.pop();
    const outcome = planned(CALM, { state: first.state }, set);
    expect(wishOf(outcome, "backend").allocation.replicas).toBe(4);
    expect(Plan.shape.wishes.parse(outcome.plan.wishes)).toHaveLength(2);
  });

  it("goes on with the prior when a model that the evidence names is not there", () => {
    const profiles = BUSY.map((each) => modelledEvidence(each, { trained: absentModel(each) }));
    const outcome = planned(BUSY, { profiles });
    expect(outcome.plan.policy).toBe("planner-prior");
    expect(wishOf(outcome, "backend").steps!.length).toBeGreaterThan(0);
  });

  it("gives the size once wished to whichever rung decides next", () => {
    const first = planned(BUSY);
    const { cpuCores } = wishOf(first, "backend").allocation;
    const dark = chained(BUSY, START_MS + WINDOW_MS);
    dark.flows = [];
    const outcome = planned(BUSY, { state: first.state }, dark);
    expect(outcome.plan.policy).toBe("reactive");
    expect(wishOf(outcome, "backend").allocation.cpuCores).toBe(cpuCores);
  });

  it("states sizes only where the platform can change them", () => {
    const outcome = planned(BUSY, { application: application({ resize: "off" }) });
    for (const { allocation } of outcome.plan.wishes) expect(Object.keys(allocation)).toEqual(["replicas"]);
  });

  it("shares a pod budget out by queues where only replicas can move", () => {
    const outcome = planned(BUSY, { application: application({ budget: { pods: 6 } }) });
    expect(outcome.plan.policy).toBe("queue");
    expect(outcome.plan.policyReason).toContain("a budget of pods is shared out by queues");
  });

  it("grows containers within a pod budget where they can be resized", () => {
    const outcome = planned(BUSY, { application: application({ resize: "limits", budget: { pods: 3 } }) });
    expect(outcome.plan.policy).toBe("planner-prior");
    const { allocation } = wishOf(outcome, "backend");
    expect(allocation.replicas).toBe(2);
    expect(allocation.cpuCores).toBeGreaterThan(1.2);
  });

  it("leaves it to queue balancing to share out a budget that its plan does not fit into", () => {
    const small = { name: "backend", cpu: { maxCores: 1 } };
    const tight = application({ resize: "limits", budget: { pods: 3 }, services: [small] });
    const outcome = planned(BUSY, { application: tight });
    expect(outcome.plan.policy).toBe("queue");
    expect(outcome.plan.policyReason).toContain("does not fit into the budget of pods");
    const pods = outcome.plan.wishes.reduce((sum, { allocation }) => sum + allocation.replicas, 0);
    expect(pods).toBeLessThanOrEqual(3);
  });

  it("fills the contract with finite numbers, and keeps bounds and whole steps, for any measurements at all", () => {
    const number = fc.oneof(fc.constantFrom(0, 1e-12, 1e9), fc.double({ min: 0, max: 50, noNaN: true }));
    const service = fc.record({
      replicas: fc.integer({ min: 0, max: 20 }),
      cores: fc.double({ min: 0.01, max: 10, noNaN: true }),
      cpuSecondsPerRequest: fc.double({ min: 1e-6, max: 1, noNaN: true }),
      baseSeconds: fc.double({ min: 1e-6, max: 2, noNaN: true }),
      requestsPerSecond: number,
      memoryBytes: fc.constantFrom(undefined, 1e8, 4e9),
      usedBytes: fc.constantFrom(undefined, 1e6, 3e9),
      error: fc.double({ min: 0, max: 1, noNaN: true }),
      peak: fc.constantFrom(undefined, 2e8),
    });
    const hole = fc.constantFrom(
      "none",
      "ownLatency",
      "replicasReady",
      "requestsPerSecond",
      "replicasWanted",
    );
    fc.assert(
      fc.property(
        fc.array(service, { minLength: 1, maxLength: 5 }),
        fc.double({ min: 0.01, max: 5, noNaN: true }),
        fc.integer({ min: 0, max: 20 }),
        hole,
        (made, tailFactor, calm, gap) => {
          const services = made.map(({ memoryBytes, usedBytes, ...each }, at): ModelledService => ({
            ...each,
            service: at === 0 ? "frontend" : `s${at}`,
            ...(memoryBytes !== undefined && { memoryBytes }),
            ...(usedBytes !== undefined && { usedBytes }),
          }));
          const set = chained(services, START_MS, tailFactor);
          if (gap !== "none") delete (set.windows.at(-1) as unknown as Record<string, unknown>)[gap];
          const profiles = services.map((each, at) =>
            modelledEvidence(each, {
              prior: {
                state: { cpuSecondsPerRequest: each.cpuSecondsPerRequest, baseSeconds: each.baseSeconds },
                errors: { windows: 20, meanAbsoluteRatio: made[at]!.error },
              },
              ...(made[at]!.peak !== undefined && { memoryPeakBytes: made[at]!.peak }),
            }),
          );
          const { plan } = planned(services, { profiles, state: calmState(EMPTY, calm) }, set);
          for (const wish of plan.wishes) {
            expect(Wish.parse(wish)).toEqual(wish);
            const { allocation, bounds, steps = [] } = wish;
            expect(allocation.replicas).toBeLessThanOrEqual(bounds.maxReplicas);
            const { cpuCores = bounds.cpuMaxCores } = allocation;
            const whole = cpuCores / bounds.cpuStepCores!;
            const atEdge = [bounds.cpuMinCores, bounds.cpuMaxCores].includes(cpuCores);
            expect(atEdge || Math.abs(whole - Math.round(whole)) < 1e-6).toBe(true);
            expect(new Set(steps.map(({ direction }) => direction)).size).toBeLessThanOrEqual(1);
          }
          const directions = plan.wishes.flatMap(({ steps = [] }) => steps.map(({ direction }) => direction));
          expect(new Set(directions).size).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 150 },
    );
  });
});

function absentModel({ cpuSecondsPerRequest, baseSeconds }: ModelledService): ServiceEvidence["trained"] {
  return {
    hash: "0123456789abcdef",
    version: 1,
    state: { cpuSecondsPerRequest, baseSeconds },
    interval: { low: -1, high: 1 },
    trainingRatio: 0.05,
  };
}
