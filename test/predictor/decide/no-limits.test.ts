import { describe, expect, it } from "vitest";
import { RESIZABLE } from "./modelled.ts";
import { course, FRONTEND, last, made, replicasOf, wishOf } from "./decisions.ts";
import type { Change } from "./decisions.ts";

/** CPU requests of what the containers have, and no limit above them. */
const unlimited: Change = (set) => ({
  ...set,
  windows: set.windows.map((each) => ({
    ...each,
    containers: each.containers.map(({ cpuLimitCores, ...one }) => ({
      ...one,
      cpuRequestCores: cpuLimitCores,
    })),
  })),
});

describe("containers without a CPU limit", () => {
  const decided = (requestsPerSecond: number) => {
    const services = [FRONTEND, made("backend", { replicas: 1, cores: 4, requestsPerSecond })];
    return wishOf(last(course(40, services, unlimited, { application: RESIZABLE })), "backend").allocation;
  };

  it.each([10, 30])("request what %i requests of 20 ms a second ask for", (requestsPerSecond) => {
    const { cpuCores = 0, replicas } = decided(requestsPerSecond);
    const asked = 0.02 * requestsPerSecond;
    expect(replicas * cpuCores).toBeGreaterThanOrEqual(asked / 0.95 - 1e-9);
    expect(replicas * cpuCores).toBeLessThan(2 * asked + 0.2);
  });

  it("are believed in where they use three times what they request, which holds nobody up", () => {
    const small: Change = (set, at) => {
      const { windows, ...rest } = unlimited(set, at);
      return {
        ...rest,
        windows: windows.map((each) => ({
          ...each,
          containers: each.containers.map((one) => ({ ...one, cpuRequestCores: 0.2 })),
        })),
      };
    };
    const services = [FRONTEND, made("backend", { replicas: 1, cores: 4, requestsPerSecond: 30 })];
    const { plan } = last(course(40, services, small, { application: RESIZABLE }));
    expect(plan.policyReason).toMatch(/^expects [0-5] % of the requests over/);
    expect(plan.wishes.find(({ service }) => service === "backend")?.confidence).toBeGreaterThan(0.5);
  });

  it("request more in place of starting pods, which would serve no faster", () => {
    const { cpuCores = 0, replicas } = decided(50);
    expect(replicas).toBe(1);
    expect(cpuCores).toBeGreaterThanOrEqual(1 / 0.95);
  });
});

it.each([
  ["replicas", {}],
  ["sizes", { application: RESIZABLE }],
])(
  "containers that request zero cores and have no limit keep their replicas where %s move",
  (_, overrides) => {
    const zero: Change = (set) => ({
      ...set,
      windows: set.windows.map((each) => ({
        ...each,
        containers: each.containers.map(({ cpuLimitCores, ...one }) => ({
          ...one,
          ...(each.service === "backend" ? { cpuRequestCores: 0 } : { cpuLimitCores }),
        })),
      })),
    });
    const services = [FRONTEND, made("backend", { replicas: 2, requestsPerSecond: 10 })];
    const outcome = last(course(8, services, zero, overrides));
    expect(outcome.plan.policy).toBe("planner-prior");
    expect(replicasOf(outcome)).toBe(2);
  },
);
