import type { Elsewhere } from "@tradewind/predictor/decide/cost/price/cost-inputs.ts";
import { placementsOf } from "@tradewind/predictor/answers/placement/placements.ts";
import { describe, expect, it } from "vitest";
import { chain, options, queueing, service, size } from "../../decide/priced.ts";

const PRICES = options().prices;

/** Nodes on which a request takes so many times the CPU and, without load, the time. */
const where = (times: number, overrides: Partial<Elsewhere> = {}): Elsewhere => ({
  nodeClass: "fast",
  log: Math.log(times),
  own: queueing(0.03 * times, 0.02 * times),
  roomCores: 8,
  leastReplicas: 1,
  mix: new Map([["slow", 3]]),
  ...overrides,
});

/** 60 requests a second on three replicas of a core: 40 % used, a tail of 30 ms / 0.6. */
const gains = (elsewhere: readonly Elsewhere[]) =>
  placementsOf(chain([service("only", { base: size(3), elsewhere })]), PRICES);

describe("what a service would gain on other nodes", () => {
  it("is its tail with as many replicas there, and the fewest with which that is no longer than now", () => {
    const [gain] = gains([where(0.5)]);
    expect(gain).toMatchObject({ service: "only", nodeClass: "fast", cpuRatio: 0.5 });
    expect(gain!.latencySeconds.now).toBeCloseTo(0.05, 9);
    // 20 % used there: 15 ms / 0.8. With one replica 60 %: 15 ms / 0.4 = 37.5 ms.
    expect(gain!.latencySeconds.then).toBeCloseTo(0.01875, 9);
    expect(gain!.replicas).toEqual({ now: 3, then: 1 });
    expect(gain!.costPerHour).toEqual({ now: 3, then: 1 });
  });

  it("never goes below the fewest replicas that the service may have", () => {
    expect(gains([where(0.5, { leastReplicas: 2 })])[0]!.replicas.then).toBe(2);
  });

  it("is none on slower or equal nodes, without room, and off every route", () => {
    expect(gains([where(1.5)])).toEqual([]);
    expect(gains([where(1)])).toEqual([]);
    expect(gains([where(0.5, { roomCores: 2.9 })])).toEqual([]);
    const off = chain([service("only"), service("other", { elsewhere: [where(0.5)] })].slice(0, 1));
    expect(placementsOf(off, PRICES)).toEqual([]);
  });

  it("counts pods that are there already as having room", () => {
    const mix = new Map([
      ["fast", 1],
      ["slow", 2],
    ]);
    expect(gains([where(0.5, { roomCores: 2, mix })])).toHaveLength(1);
  });

  it("lists what saves most first", () => {
    const classes = gains([where(0.9, { nodeClass: "some" }), where(0.5, { nodeClass: "most" })]);
    expect(classes.map(({ nodeClass }) => nodeClass)).toEqual(["most", "some"]);
  });

  it("is cheaper nodes too where prices say so, with as many replicas as keep its tail", () => {
    const on = (times: number, nodeClasses: Record<string, number>) =>
      placementsOf(chain([service("only", { base: size(3), elsewhere: [where(times)] })]), {
        ...PRICES,
        nodeClasses,
      });
    expect(on(1, { fast: 0.5 })).toMatchObject([
      { replicas: { now: 3, then: 3 }, costPerHour: { now: 3, then: 1.5 } },
    ]);
    // A tenth slower: four replicas keep the tail.
    expect(on(1.1, { fast: 0.5 })).toMatchObject([
      { replicas: { now: 3, then: 4 }, costPerHour: { now: 3, then: 2 } },
    ]);
    expect(on(1.1, { fast: 0.9 })).toEqual([]);
    expect(on(1, { slow: 2 })[0]!.costPerHour).toEqual({ now: 6, then: 3 });
  });

  it("leaves the sizes of the models as they are", () => {
    const cost = chain([service("only", { base: size(3), elsewhere: [where(0.5)] })]);
    const before = cost.total();
    placementsOf(cost, PRICES);
    expect(cost.sizeOf(0)).toEqual(size(3));
    expect(cost.total()).toBe(before);
  });
});
