import { describe, expect, it } from "vitest";
import { BACKEND, calmState, chained, FRONTEND, planned, wishOf } from "./planned.ts";
import type { PolicyInputs, PolicyOutcome } from "@tradewind/predictor/policy/inputs.ts";
import { emptyState } from "@tradewind/predictor/policy/state.ts";

/** Half of the backend's CPU is in use: at ease as long as load stays as it is. */
const AT_EASE = [FRONTEND, { ...BACKEND, cores: 1.7 }];

/** The frontend asks the backend once for each of its requests. */
function decided(services: typeof AT_EASE, overrides: Partial<PolicyInputs> = {}): PolicyOutcome {
  const set = chained(services);
  const [{ requestsPerSecond: callsPerSecond }] = services as [typeof FRONTEND];
  const frontend = set.windows.find(({ service }) => service === "frontend")!;
  frontend.callees = [{ callee: "backend", callsPerSecond, parallelRatio: 0 }];
  return planned(services, overrides, set);
}

/** Cores of all its containers; where no size is wished they keep what they have. */
const backendCores = (outcome: PolicyOutcome, each: number): number => {
  const { cpuCores = each, replicas } = wishOf(outcome, "backend").allocation;
  return replicas * cpuCores;
};

describe("a window that is decided on once more for a surge", () => {
  it("gives what the load since then needs, though the window itself was at ease", () => {
    const before = decided(AT_EASE);
    expect(backendCores(before, 1.7)).toBeCloseTo(3.4, 9);
    const again = decided(AT_EASE, { surgeRatio: 2 });
    // 40 requests a second of 85 ms each need 3.4 cores, at no more than three quarters in use.
    expect(backendCores(again, 1.7)).toBeGreaterThan(3.4 / 0.75 - 1e-9);
    expect(again.plan.policyReason).toMatch(/requests have begun 2\.0 times as fast since: gives /);
    for (const { reason } of again.plan.wishes) {
      expect(reason).toMatch(/is met .* and requests have begun 2\.0 times as fast since: .* cores each/);
    }
  });

  it("believes a surge up to the limit of growth", () => {
    const most = decided(AT_EASE, { surgeRatio: 3 });
    const wild = decided(AT_EASE, { surgeRatio: 500 });
    expect(backendCores(wild, 1.7)).toBeCloseTo(backendCores(most, 1.7), 9);
  });

  it("takes nothing back, however calm it was", () => {
    const idle = [FRONTEND, { ...BACKEND, replicas: 4, cores: 2 }];
    const state = calmState(emptyState("hotel", "default"), 9);
    const calmly = decided(idle, { state });
    expect(backendCores(calmly, 2)).toBeLessThan(8);
    const again = decided(idle, { state, surgeRatio: 1.4 });
    expect(backendCores(again, 2)).toBeCloseTo(8, 9);
  });

  it("remembers the load that came, so that the next window does not take it for a rise", () => {
    const again = decided(AT_EASE, { surgeRatio: 2 });
    expect(again.state.requestsPerSecond).toBeCloseTo(40, 9);
  });

  it("is told apart from the first decision by its hash", () => {
    const hashOf = (surgeRatio?: number): string =>
      wishOf(decided(AT_EASE, surgeRatio === undefined ? {} : { surgeRatio }), "backend").inputs.windowHash;
    expect(new Set([hashOf(), hashOf(2), hashOf(3)]).size).toBe(3);
  });
});
