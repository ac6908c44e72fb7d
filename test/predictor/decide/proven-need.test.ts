import { meetProvenNeed } from "@tradewind/predictor/decide/cost/search/proven-need.ts";
import type { Size } from "@tradewind/predictor/decide/facts/size.ts";
import { describe, expect, it } from "vitest";
import { windowSet } from "../measurements.ts";
import { modelledWindow } from "./modelled.ts";
import { made } from "./decisions.ts";
import { SETTINGS, seen } from "./given.ts";
import { chain, service, size } from "./priced.ts";

/** What becomes of a plan for containers that run with a core each, of which 0.9 are in use: 1.125 cores are needed for each. */
function met(planned: Size, stepCpuCores: number): Size {
  const full = made("a", { replicas: planned.replicas, requestsPerSecond: 45 * planned.replicas });
  const { observations } = seen(windowSet([modelledWindow(full)]));
  const cost = chain([service("a", { runningCores: 1, stepCpuCores, base: planned })]);
  cost.set(0, planned);
  const known = {
    awaited: new Set<string>(),
    grownCores: new Map(),
    loads: new Map(),
    models: new Map(),
    outlook: { ratio: 1 },
  };
  meetProvenNeed(cost, observations, {}, { settings: SETTINGS }, known);
  return cost.sizeOf(0);
}

describe("CPU that use proves necessary", () => {
  it("is first of all what containers run with, then of more pods (retry-storm: 17 starts in place of 27)", () => {
    expect(met(size(2, 0.2), 0.2)).toEqual(size(3, 1));
  });

  it("is of more pods alone where sizes stay", () => {
    expect(met(size(2, 1), 0)).toEqual(size(3, 1));
  });

  it("is what requests took in the window at the load to come, whatever a model believes of one (podinfo)", () => {
    // Two containers of a core use 0.5 each: for 2.2 times the load 2.2 cores.
    const half = made("a", { replicas: 2, requestsPerSecond: 50 });
    const { observations } = seen(windowSet([modelledWindow(half)]));
    const cost = chain([service("a", { base: size(2, 1) })]);
    cost.set(0, size(2, 1));
    const known = { awaited: new Set<string>(), grownCores: new Map(), loads: new Map(), models: new Map() };
    meetProvenNeed(cost, observations, {}, { settings: SETTINGS }, { ...known, outlook: { ratio: 2.2 } });
    expect(cost.sizeOf(0)).toEqual(size(3, 1));
  });
});
