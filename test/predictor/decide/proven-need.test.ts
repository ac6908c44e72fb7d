import { neededCores } from "@tradewind/predictor/decide/cost/prepare/sizing.ts";
import { meetProvenNeed } from "@tradewind/predictor/decide/cost/solve/proven-need.ts";
import type { Size } from "@tradewind/predictor/decide/facts/size.ts";
import { describe, expect, it } from "vitest";
import { windowSet } from "../measurements.ts";
import { modelledWindow } from "./modelled.ts";
import { made } from "./decisions.ts";
import type { ModelledService } from "./modelled.ts";
import { SETTINGS, seen } from "./given.ts";
import { chain, service, size } from "./priced.ts";

/** What becomes of a planned size, for containers that run with a core each and a load to come of which no model says anything. */
function met(planned: Size, stepCpuCores: number, measured: Partial<ModelledService>, ratio = 1): Size {
  const { observations } = seen(windowSet([modelledWindow(made("a", measured))]));
  const need = { cores: 0, ratio, grownCores: 0, isBehindFailures: false };
  const demand = {
    cores: 0,
    neededCores: neededCores(observations[0]!, need, SETTINGS),
    roomyReplicas: 1,
    isUnlimited: false,
  };
  const cost = chain([service("a", { runningCores: 1, stepCpuCores, base: planned, demand })]);
  cost.set(0, planned);
  meetProvenNeed(cost, {});
  return cost.sizeOf(0);
}

describe("CPU that use proves necessary", () => {
  /** Of two containers with a core each 0.9 are in use: 1.125 cores are needed for each. */
  const full = { replicas: 2, requestsPerSecond: 90 };

  it("is first of all what containers run with, then of more pods (retry-storm: 17 starts in place of 27)", () => {
    expect(met(size(2, 0.2), 0.2, full)).toEqual(size(3, 1));
  });

  it("is of more pods alone where sizes stay", () => {
    expect(met(size(2, 1), 0, full)).toEqual(size(3, 1));
  });

  it("is what requests took in the window at the load to come, whatever a model believes of one (podinfo)", () => {
    // Two containers of a core use 0.5 each: for 2.2 times the load 2.2 cores.
    expect(met(size(2, 1), 0, { replicas: 2, requestsPerSecond: 50 }, 2.2)).toEqual(size(3, 1));
  });
});

describe("CPU that use proves necessary where nodes are called for apart from it", () => {
  const full = (name: string) =>
    service(name, {
      base: size(1),
      ceiling: size(4),
      demand: { cores: 2, neededCores: 2, roomyReplicas: 0, isUnlimited: false },
    });
  const sizesWithin = (isBound: boolean) => {
    const cost = chain([full("a"), full("b")]);
    const isEnough = meetProvenNeed(cost, { cpuCores: 2 }, isBound);
    return { isEnough, replicas: [0, 1].map((number) => cost.sizeOf(number).replicas) };
  };

  it("ends at what today's nodes hold, and says so; without that it calls for a node", () => {
    expect(sizesWithin(true)).toEqual({ isEnough: false, replicas: [1, 1] });
    expect(sizesWithin(false)).toEqual({ isEnough: true, replicas: [2, 2] });
  });

  it("goes to the fullest service first, whatever their order: it holds up all others (full-for-long, seed 97302)", () => {
    const needing = (name: string, neededCores: number) =>
      service(name, {
        base: size(1),
        ceiling: size(4),
        demand: { cores: neededCores, neededCores, roomyReplicas: 0, isUnlimited: false },
      });
    const cost = chain([needing("a", 1.2), needing("b", 1.6)]);
    meetProvenNeed(cost, { cpuCores: 3 }, true);
    expect([0, 1].map((number) => cost.sizeOf(number).replicas)).toEqual([1, 2]);
  });
});
