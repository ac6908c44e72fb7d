import { tradeable, withCalls } from "@tradewind/predictor/decide/cost/solve/waiting-pods.ts";
import type { ServiceToSize } from "@tradewind/predictor/decide/cost/price/cost-inputs.ts";
import { describe, expect, it } from "vitest";
import { chain, service, size } from "./priced.ts";

const NOBODY = new Map<string, { scheduled: number; waiting: number }>();

/** One service of which half a core runs in each pod, and the replicas that stay asked for. */
function waiting(leftCores: number, cpuCores = 0.5, overrides: Partial<ServiceToSize> = {}): number {
  const one = service("a", {
    runningCores: 0.5,
    pods: { taken: 1, requestRatio: 1, sidecarCores: 0 },
    ...overrides,
  });
  const [serving, whole] = [chain([one]), chain([one])];
  serving.set(0, size(1, cpuCores));
  whole.set(0, size(3, cpuCores));
  const nodes = [
    { name: "n0", leftCores, takesPods: true, pods: [] },
    { name: "n1", leftCores: 8, takesPods: false, pods: [] },
    { name: "n2", leftCores: 8, takesPods: true, refuses: ["a"], pods: [] },
  ];
  return withCalls(NOBODY, serving, whole, { nodes }).get("a")?.waiting ?? 0;
}

describe("replicas that would be worth their price if nodes came", () => {
  it("are asked for where no node has room, so that whoever adds nodes sees them", () => {
    expect(waiting(0.4)).toBe(1);
  });

  it("are as many as use proves necessary, and beyond that one at a time (autoscaled-60, seed 61001)", () => {
    expect(waiting(0.4, 0.5, { floor: size(3) })).toBe(2);
    expect(waiting(0.4, 0.5, { floor: size(8) })).toBe(2);
    expect(waiting(0.4, 0.5, { floor: size(2) })).toBe(1);
  });

  it("are not asked for where a node has room now, which is for something that is worth more", () => {
    expect(waiting(0.5)).toBe(0);
  });

  it("start at the size of those that run: a larger one is given to them later (full-cluster, seed 47001)", () => {
    expect(waiting(0.6, 1.4)).toBe(0);
    expect(waiting(0.4, 1.4)).toBe(1);
  });

  it("are not asked for before what fits has its room, where nodes are known by their sum alone (full-cluster, seed 99000)", () => {
    const one = service("a", { pods: { taken: 1, requestRatio: 1, sidecarCores: 0 } });
    const [serving, whole] = [chain([one]), chain([one])];
    serving.set(0, size(1, 1));
    whole.set(0, size(3, 1));
    const called = (cpuCores: number) =>
      withCalls(NOBODY, serving, whole, { cpuCores }).get("a")?.waiting ?? 0;
    expect(called(2)).toBe(0);
    expect(called(1.5)).toBe(1);
  });

  it("count with what sidecars request", () => {
    expect(waiting(0.6, 0.5, { pods: { taken: 1, requestRatio: 1, sidecarCores: 0.2 } })).toBe(1);
  });
});

describe("a service that was asked to give up pods for others", () => {
  const running = (taken: number, replicas: number, floorReplicas = 1): ServiceToSize =>
    tradeable(
      service("a", {
        base: size(replicas),
        floor: size(floorReplicas),
        ceiling: size(6),
        pods: { taken, requestRatio: 1, sidecarCores: 0 },
      }),
      NOBODY,
    );

  it("goes on giving them up while they still run, so that the autoscaler carries it out (full-for-long, seed 99000)", () => {
    expect(running(3, 2).ceiling.replicas).toBe(2);
  });

  it("has again what its load needs", () => {
    expect(running(3, 2, 3).ceiling.replicas).toBe(3);
  });

  it("may have more once they are gone", () => {
    expect(running(2, 2).ceiling.replicas).toBe(6);
  });
});
