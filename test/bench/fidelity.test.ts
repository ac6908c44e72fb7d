import { describe, expect, it } from "vitest";
import { kendallTau, mixedQuantile } from "../../bench/fidelity/statistics.ts";
import { costBetween, localModel } from "../../bench/fidelity/local-plant.ts";
import { applicationOf } from "@tradewind/local/application/applications.ts";

/** Exponential latencies with this mean. */
const exponential = (count: number, meanSeconds: number) => ({
  count,
  quantileSeconds: (quantile: number) => -Math.log1p(-Math.min(quantile, 1 - 1e-9)) * meanSeconds,
});

describe("mixedQuantile", () => {
  it("is the quantile of one group alone", () => {
    expect(mixedQuantile([exponential(10, 1)], 0.5)).toBeCloseTo(Math.LN2, 2);
  });

  it("lies where the groups together have the share below", () => {
    const both = [exponential(100, 1), exponential(300, 0.1)];
    const at = mixedQuantile(both, 0.95);
    const share = 0.25 * (1 - Math.exp(-at)) + 0.75 * (1 - Math.exp(-at / 0.1));
    expect(share).toBeCloseTo(0.95, 2);
  });

  it("is 0 without requests", () => {
    expect(mixedQuantile([exponential(0, 1)], 0.5)).toBe(0);
  });
});

describe("kendallTau", () => {
  it("tells the same order from the opposite one", () => {
    expect(kendallTau([1, 2, 3, 4], [10, 20, 30, 40])).toBe(1);
    expect(kendallTau([1, 2, 3, 4], [4, 3, 2, 1])).toBe(-1);
  });

  it("counts one pair in another order: (5 - 1) / 6", () => {
    expect(kendallTau([1, 2, 3, 4], [1, 2, 4, 3])).toBeCloseTo(4 / 6, 12);
  });

  it("has no opinion where everything is tied", () => {
    expect(kendallTau([1, 1], [1, 2])).toBe(0);
  });
});

describe("CPU a request", () => {
  const at = (cpuCores: number, perSecond: number) => new Map([["cart", { cpuCores, perSecond }]]);

  it("is what one more request takes, without what a process uses beside requests", () => {
    expect(costBetween(at(0.08, 30), at(0.2, 90)).get("cart")).toBeCloseTo(0.002, 12);
  });

  it("is all CPU over all requests where two rates do not tell", () => {
    expect(costBetween(new Map(), at(0.2, 100)).get("cart")).toBe(0.002);
    expect(costBetween(at(0.3, 30), at(0.2, 100)).get("cart")).toBe(0.002);
    expect(costBetween(at(0.01, 30), at(0.2, 100)).get("cart")).toBe(0.002);
    expect(costBetween(at(0.1, 100), at(0.2, 100)).get("cart")).toBe(0.002);
  });
});

describe("the simulated copy of a local application", () => {
  it("has its services, calls and routes, with the CPU that was measured for each request", () => {
    const topology = applicationOf("shop");
    const model = localModel(topology, new Map([["payment", 0.006]]));
    expect(model.services.map(({ name }) => name)).toEqual(topology.services.map(({ name }) => name));
    expect(model.routes.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 12);
    const steps = model.services.find(({ name }) => name === "payment")!.operations["POST /charge"]!;
    const work = steps.flatMap((step) => (step.kind === "cpu" ? [step.time] : []));
    expect(work.reduce((sum, time) => sum + ("mean" in time ? time.mean : 0), 0)).toBeCloseTo(6, 9);
  });
});
