import { describe, expect, it } from "vitest";
import type { PolicyOutcome } from "@tradewind/predictor/policy/inputs.ts";
import { decide } from "@tradewind/predictor/policy/ladder.ts";
import { emptyState } from "@tradewind/predictor/policy/state.ts";
import { application, inputs, START_MS } from "../../measurements.ts";
import {
  BACKEND,
  BUSY,
  chained,
  flat,
  FRONTEND,
  modelledEvidence,
  planned,
  RESIZABLE,
  wishOf,
} from "./planned.ts";

describe("the planner's growth by queues", () => {
  it("neither tells nor remembers growth by queues that a plan with a cure has no use for", () => {
    const outcome = planned(BUSY);
    expect(outcome.plan.policyReason).not.toContain("by queues");
    expect(outcome.state.growth).toBeUndefined();
  });

  it("grows as fast as queue balancing would, though the profiles see no cure", () => {
    // The time is spent where no profile says so: predicted within the objective, measured far outside.
    const still = BUSY.map((each) => modelledEvidence(each, { prior: flat(each) }));
    const byQueues = decide(inputs(chained(BUSY), { choice: "queue", application: RESIZABLE }));
    const outcome = planned(BUSY, { profiles: still });
    expect(outcome.plan.policy).toBe("planner-prior");
    for (const { service, allocation } of byQueues.plan.wishes) {
      const mine = wishOf(outcome, service).allocation;
      expect(mine.replicas * (mine.cpuCores ?? 1)).toBeGreaterThanOrEqual(allocation.replicas);
    }
    // Its CPU is what is short: the two containers grow, which is done at once.
    expect(wishOf(outcome, "backend")).toMatchObject({ policy: "queue", allocation: { replicas: 2 } });
  });

  it.each([
    {
      maxCores: 1.5,
      size: { replicas: 3, cpuCores: 1.4 },
      why: "shares what is over the largest container out evenly",
    },
    {
      maxCores: 1.98,
      size: { replicas: 2, cpuCores: 1.98 },
      why: "adds no replica that would hardly be used",
    },
  ])("$why when queues double the CPU of two containers of one core", ({ maxCores, size }) => {
    const profiles = BUSY.map((each) => modelledEvidence(each, { prior: flat(each) }));
    const services = [{ name: "backend", cpu: { maxCores } }];
    const outcome = planned(BUSY, { profiles, application: application({ resize: "limits", services }) });
    const { allocation, policy } = wishOf(outcome, "backend");
    expect(policy).toBe("queue");
    expect(allocation.replicas).toBe(size.replicas);
    expect(allocation.cpuCores).toBeCloseTo(size.cpuCores, 9);
  });

  it("adds nothing by queues for CPU that others take on the only node, but does where there are more nodes", () => {
    const halfUsed = [FRONTEND, { ...BACKEND, cpuSecondsPerRequest: 0.05 }];
    const profiles = halfUsed.map((each) => modelledEvidence(each, { prior: flat(each) }));
    const set = structuredClone(chained(halfUsed, START_MS, 5));
    for (const container of set.windows.flatMap(({ containers }) => containers)) {
      const unknown = { supported: false } as const;
      container.interference = {
        cpu: { supported: true, value: 0.9, source: "psi" },
        memoryCapacity: unknown,
        memoryBandwidth: unknown,
        network: unknown,
      };
    }
    const node = { cpuCores: 4, memoryBytes: 64e9 };
    const on = (allNodes: typeof node): PolicyOutcome =>
      planned(halfUsed, { profiles, largestContainer: node, allNodes }, set);
    const alone = on(node);
    expect(alone.plan.policyReason).toContain("2 services wait for CPU that others take on the only node");
    expect(wishOf(alone, "backend").allocation.replicas).toBe(2);
    const among = on({ cpuCores: 8, memoryBytes: 128e9 });
    expect(wishOf(among, "backend").allocation.replicas).toBeGreaterThan(2);
  });

  it("adds nothing to containers that are about to become larger, which no window has measured yet", () => {
    const profiles = BUSY.map((each) => modelledEvidence(each, { prior: flat(each) }));
    const wished = (cpuCores: number): PolicyOutcome => {
      const memory = { service: "backend", replicas: 2, seenAtMs: START_MS, cpuCores, platformCpuCores: 1 };
      const state = { ...emptyState("default", "default"), windowEndMs: START_MS, services: [memory] };
      return planned(BUSY, { profiles, state });
    };
    const backendCores = (outcome: PolicyOutcome): number => {
      const { cpuCores = 1, replicas } = wishOf(outcome, "backend").allocation;
      return replicas * cpuCores;
    };
    expect(backendCores(wished(1))).toBeGreaterThan(2);
    expect(backendCores(wished(3))).toBeCloseTo(6, 9);
  });

  it("grows by replicas as queue balancing would where containers cannot be resized", () => {
    const profiles = BUSY.map((each) => modelledEvidence(each, { prior: flat(each) }));
    const outcome = planned(BUSY, { profiles, application: application() });
    expect(wishOf(outcome, "backend").allocation.replicas).toBeGreaterThan(2);
  });

  it.each([
    { before: 9, grows: false, why: "waits while a miss is ending: what was given is at work" },
    { before: 1.7, grows: true, why: "does not wait for a miss that goes on" },
    { before: undefined, grows: true, why: "does not wait in the first window of a miss" },
  ])("$why", ({ before, grows }) => {
    const recentSeverities = before === undefined ? [] : [before];
    const planner = { rung: "planner-prior", cures: true, missedInSpite: 1, recentSeverities } as const;
    const state = { ...emptyState("default", "default"), windowEndMs: START_MS, missedWindows: 1, planner };
    // 300 ms instead of 200.
    const { plan } = planned(BUSY, { state }, chained(BUSY, START_MS, 0.3 / 0.6111));
    expect(plan.policyReason.includes("by queues")).toBe(grows);
  });
});
