import { stepped } from "@tradewind/predictor/plan/plan-service.ts";
import type { PlanService } from "@tradewind/predictor/plan/plan-service.ts";
import { prepare } from "@tradewind/predictor/plan/prepare.ts";
import type { PlanOptions } from "@tradewind/predictor/plan/prepare.ts";
import { compileFlow, serviceIndex } from "@tradewind/predictor/endtoend/call-graph.ts";
import { describe, expect, it } from "vitest";
import { emptySet, flowOf } from "../endtoend/random-application.ts";
import { planService } from "./queueing-model.ts";

const quantum = { cpuCores: 0.2, memoryBytes: 100e6 };
const sized = (cpuCores: number, parts: Partial<PlanService> = {}): PlanService =>
  planService("s0", { quantum, size: { replicas: 3, cpuCores, memoryBytes: 250e6 }, ...parts });

describe("steps where a container's size is a whole number of them", () => {
  it.each<{ from: number; direction: "up" | "down"; to: number | undefined }>([
    { from: 0.6, direction: "up", to: 0.8 },
    { from: 0.6, direction: "down", to: 0.4 },
    { from: 0.5, direction: "up", to: 0.6 },
    { from: 0.5, direction: "down", to: 0.4 },
    { from: 0.6000000000000001, direction: "up", to: 0.8 },
    { from: 3.9, direction: "up", to: 4 },
    { from: 4, direction: "up", to: undefined },
    { from: 0.1, direction: "down", to: undefined },
  ])("$from cores go $direction to $to", ({ from, direction, to }) => {
    const service = sized(from);
    const next = stepped(service, service.size, "cpu", direction)?.cpuCores;
    expect(next === undefined ? next : Number(next.toPrecision(9))).toBe(to);
  });

  it("take a replica away by making the others larger, where the service would else have too little", () => {
    const service = sized(0.2, {
      size: { replicas: 2, cpuCores: 0.2, memoryBytes: 1e8 },
      leastCpuCores: 0.3,
    });
    expect(stepped(service, service.size, "replicas", "down")).toEqual({
      replicas: 1,
      cpuCores: 0.4,
      memoryBytes: 1e8,
    });
    const capped = { ...service, ceiling: { ...service.ceiling, cpuCores: 0.2 } };
    expect(stepped(capped, capped.size, "replicas", "down")).toBeUndefined();
  });

  it("stay within what one plan may come to", () => {
    const service = sized(0.4, { mostCpuCores: 1.3 });
    expect(stepped(service, service.size, "cpu", "up")).toBeUndefined();
    expect(stepped(service, service.size, "replicas", "up")).toBeUndefined();
    expect(stepped(service, service.size, "memory", "up")).toBeDefined();
  });
});

describe("how far a cure goes", () => {
  const index = serviceIndex(["s0"]);
  const graph = compileFlow(flowOf([]), emptySet, index)!;
  const options: PlanOptions = {
    objectiveSeconds: 0.1,
    slackRatio: 0.75,
    ranking: "chain",
    maxSteps: 1_000,
    prices: { cpuCoreHour: 0.031, memoryGigabyteHour: 0.0042 },
  };
  const service = (requestsPerSecond: number): PlanService =>
    planService("s0", { requestsPerSecond, stepCpuCores: 0.02 });
  const tailAfter = (load: number, overrides: Partial<PlanOptions>): number =>
    prepare([service(load)], [{ graph, calibration: 1 }], { ...options, ...overrides }).tailAfterSeconds;

  it("is to the objective, or further to the aim", () => {
    expect(tailAfter(40, {})).toBeGreaterThan(0.09);
    expect(tailAfter(40, { aimRatio: 0.8 })).toBeLessThanOrEqual(0.08);
  });

  it("begins over the objective, unless the objective is missed as measured", () => {
    const before = tailAfter(15, {});
    expect(before).toBeGreaterThan(0.08);
    expect(before).toBeLessThan(0.1);
    expect(tailAfter(15, { aimRatio: 0.8 })).toBe(before);
    expect(tailAfter(15, { aimRatio: 0.8, cures: true })).toBeLessThanOrEqual(0.08);
  });

  it("ends where a step buys less than what it is asked to", () => {
    const cost = (leastGainRatio: number): number =>
      prepare([service(40)], [{ graph, calibration: 1 }], {
        ...options,
        objectiveSeconds: 0.001,
        leastGainRatio,
      }).costAfterPerHour;
    expect(cost(0.05)).toBeLessThan(cost(0.001));
  });

  it("reports each flow before and after", () => {
    const { flowTails, tailBeforeSeconds, tailAfterSeconds } = prepare(
      [service(40)],
      [{ graph, calibration: 1 }],
      options,
    );
    expect(flowTails).toEqual([{ beforeSeconds: tailBeforeSeconds, afterSeconds: tailAfterSeconds }]);
  });
});
