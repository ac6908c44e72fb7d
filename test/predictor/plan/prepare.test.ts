import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FlowCall } from "@tradewind/core/contract/window.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import { compileFlow, serviceIndex } from "../../../predictor/endtoend/call-graph.ts";
import type { PlanService } from "../../../predictor/plan/plan-service.ts";
import type { PlanOptions, Prepared } from "../../../predictor/plan/prepare.ts";
import { prepare } from "../../../predictor/plan/prepare.ts";
import { call, emptySet, flowOf, randomCalls } from "../endtoend/random-application.ts";
import { planService, queueingModel } from "./queueing-model.ts";

const prices = { cpuCoreHour: 0.031, memoryGigabyteHour: 0.0042 };
const options: PlanOptions = {
  objectiveSeconds: 0.25,
  slackRatio: 0.9,
  ranking: "chain",
  maxSteps: 10_000,
  prices,
};

function plan(
  services: readonly PlanService[],
  calls: readonly FlowCall[],
  changes: Partial<PlanOptions> = {},
): Prepared {
  const index = serviceIndex(services.map(({ name }) => name));
  const graph = compileFlow(flowOf(calls), emptySet, index)!;
  return prepare(services, [{ graph, calibration: 1 }], { ...options, ...changes });
}

const chain = [call("s0", "s1"), call("s1", "s2")];
const three = (parts: Partial<PlanService>[]): PlanService[] =>
  [0, 1, 2].map((service) => planService(`s${service}`, parts[service]));

describe("prepare, when the objective is missed", () => {
  it("gives to the saturated service until the tail is within the objective", () => {
    const result = plan(three([{}, { requestsPerSecond: 60 }, {}]), chain);
    expect(result.tailBeforeSeconds).toBeGreaterThan(0.25);
    expect(result.feasible).toBe(true);
    expect(result.outcome).toBe("objective met");
    expect(new Set(result.steps.map(({ service }) => service))).toEqual(new Set(["s1"]));
  });

  it("trades: buys for the saturated service, and in a later plan takes back where it matters least", () => {
    const rich = { size: { replicas: 4, cpuCores: 2, memoryBytes: 1e9 } };
    const missed = plan(three([rich, { requestsPerSecond: 60 }, {}]), chain);
    expect(missed.steps.every(({ direction }) => direction === "up")).toBe(true);
    const calm = plan(three([rich, { size: { replicas: 1, cpuCores: 1.2, memoryBytes: 2e8 } }, {}]), chain);
    expect(calm.steps.length).toBeGreaterThan(0);
    expect(calm.steps.every(({ direction }) => direction === "down")).toBe(true);
    expect(calm.costAfterPerHour).toBeLessThan(calm.costBeforePerHour);
    expect(calm.tailAfterSeconds).toBeLessThanOrEqual(0.9 * 0.25);
  });

  it("gives memory where memory is what is short", () => {
    const starved = planService("s0", { model: queueingModel(0.01, 400e6), requestsPerSecond: 10 });
    const result = plan([starved], [], { objectiveSeconds: 0.1 });
    expect(result.feasible).toBe(true);
    expect(result.steps[0]).toMatchObject({ resource: "memory", direction: "up" });
  });

  it("says that an infeasible objective is out of reach, and gives the best reachable", () => {
    const result = plan(three([]), chain, { objectiveSeconds: 0.001 });
    expect(result.feasible).toBe(false);
    expect(result.outcome).toContain("best reachable");
    expect(result.tailAfterSeconds).toBeLessThan(result.tailBeforeSeconds);
  });

  it("stays within the pod quota and still improves by what is left", () => {
    const services = three([{}, { requestsPerSecond: 200 }, {}]);
    const result = plan(services, chain, { quota: { pods: 5 } });
    expect(result.sizes.reduce((sum, { replicas }) => sum + replicas, 0)).toBeLessThanOrEqual(5);
  });

  it("makes no container larger than the largest that fits on a node", () => {
    const services = three([{}, { requestsPerSecond: 200 }, {}]);
    const result = plan(services, chain, { largestContainer: { cpuCores: 0.8, memoryBytes: 1e9 } });
    for (const size of result.sizes) expect(size.cpuCores).toBeLessThanOrEqual(0.8);
    expect(result.feasible).toBe(true);
  });

  it("leaves a service without a model as it is, and plans around it", () => {
    const { model: _, ...unknown } = planService("s0", { measuredOwnTailSeconds: 0.02 });
    const result = plan([unknown, planService("s1", { requestsPerSecond: 60 })], [call("s0", "s1")]);
    expect(result.sizes[0]).toEqual(unknown.size);
    expect(result.feasible).toBe(true);
  });

  it("does nothing with a model that answers NaN", () => {
    const broken = planService("s0", {
      model: { ownTailSeconds: () => Number.NaN },
      measuredOwnTailSeconds: 2,
    });
    const result = plan([broken], []);
    expect(result.steps).toEqual([]);
    expect(result.tailAfterSeconds).toBe(2);
    expect(result.feasible).toBe(false);
  });

  it("looks at every flow: one within the objective does not hide one that misses it", () => {
    const services = three([{}, {}, { requestsPerSecond: 60 }]);
    const index = serviceIndex(services.map(({ name }) => name));
    const graphs = [flowOf([call("s0", "s1")]), { ...flowOf([call("s0", "s2")]), flow: "POST /" }].map(
      (flow) => ({ graph: compileFlow(flow, emptySet, index)!, calibration: 1 }),
    );
    const result = prepare(services, graphs, options);
    expect(result.tailBeforeSeconds).toBeGreaterThan(0.25);
    expect(result.feasible).toBe(true);
  });

  it("gives nothing for a prediction alone where that is not wanted, and takes nothing that would add to it", () => {
    const services = three([{}, { requestsPerSecond: 60, maxStepsBack: 5 }, {}]);
    const result = plan(services, chain, { mayGive: false });
    expect(result.tailBeforeSeconds).toBeGreaterThan(0.25);
    expect(result).toMatchObject({ gives: false, feasible: false });
    expect(result.steps.every(({ resource }) => resource === "memory")).toBe(true);
    expect(result.tailAfterSeconds).toBe(result.tailBeforeSeconds);
  });

  it("believes what is measured over what is predicted", () => {
    const services = three([]);
    const index = serviceIndex(services.map(({ name }) => name));
    const graph = compileFlow(flowOf(chain), emptySet, index)!;
    const trusting = prepare(services, [{ graph, calibration: 1 }], options);
    const corrected = prepare(services, [{ graph, calibration: 2 }], options);
    expect(corrected.tailBeforeSeconds).toBeCloseTo(2 * trusting.tailBeforeSeconds, 9);
    expect(corrected.costAfterPerHour).toBeGreaterThan(trusting.costAfterPerHour);
  });
});

describe("prepare, when there is slack", () => {
  it("takes back no more than allowed of each service", () => {
    const rich = { size: { replicas: 10, cpuCores: 2, memoryBytes: 1e9 }, maxStepsBack: 2 };
    const result = plan(three([rich, rich, rich]), chain);
    for (const service of ["s0", "s1", "s2"]) {
      expect(result.steps.filter((step) => step.service === service)).toHaveLength(2);
    }
  });

  it("never goes under the floor", () => {
    const rich = {
      size: { replicas: 10, cpuCores: 2, memoryBytes: 1e9 },
      floor: { replicas: 6, cpuCores: 1.5, memoryBytes: 8e8 },
    };
    const result = plan(three([rich, rich, rich]), chain, { objectiveSeconds: 60 });
    for (const size of result.sizes) {
      expect(size.replicas).toBeGreaterThanOrEqual(6);
      expect(size.cpuCores).toBeGreaterThanOrEqual(1.5);
      expect(size.memoryBytes).toBeGreaterThanOrEqual(8e8);
    }
  });

  it("takes back only what adds nothing in the band between slack and objective", () => {
    const calm = plan(three([]), chain);
    const inBand = plan(three([]), chain, { objectiveSeconds: calm.tailBeforeSeconds / 0.95 });
    expect(inBand.steps.map(({ resource }) => resource)).toEqual(["memory", "memory", "memory"]);
    expect(inBand.tailAfterSeconds).toBe(calm.tailBeforeSeconds);
  });

  it("takes back what adds hardly anything there when that is free", () => {
    const rich = { size: { replicas: 10, cpuCores: 2, memoryBytes: 1e8 } };
    const calm = plan(three([rich, {}, {}]), chain);
    const objectiveSeconds = calm.tailBeforeSeconds / 0.95;
    const strict = plan(three([rich, {}, {}]), chain, { objectiveSeconds });
    const free = plan(three([rich, {}, {}]), chain, { objectiveSeconds, freeRatio: 0.02 });
    expect(free.costAfterPerHour).toBeLessThan(strict.costAfterPerHour);
    expect(free.tailAfterSeconds).toBeLessThanOrEqual(calm.tailBeforeSeconds + 0.02 * objectiveSeconds);
  });

  it("takes back from a flow with slack while another has none", () => {
    const services = three([{}, { size: { replicas: 10, cpuCores: 2, memoryBytes: 1e8 } }, {}]);
    const index = serviceIndex(services.map(({ name }) => name));
    const graphOf = (callee: string) => compileFlow(flowOf([call("s0", callee)]), emptySet, index)!;
    const [calm, tight] = [graphOf("s1"), graphOf("s2")];
    const { tailBeforeSeconds } = prepare(services, [{ graph: tight, calibration: 1 }], options);
    const flows = [
      { graph: calm, calibration: 0.5 },
      { graph: tight, calibration: (0.95 * options.objectiveSeconds) / tailBeforeSeconds },
    ];
    const result = prepare(services, flows, options);
    expect(result.steps.filter(({ resource }) => resource !== "memory")).not.toEqual([]);
    expect(
      result.steps.filter(({ resource }) => resource !== "memory").map(({ service }) => service),
    ).toEqual(expect.arrayContaining(["s1"]));
    expect(result.flowTails[1]!.afterSeconds).toBe(result.flowTails[1]!.beforeSeconds);
  });
});

describe("prepare, whatever the application", () => {
  it("keeps bounds, ends, records steps that add up, and never makes a missed objective worse", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e6 }), fc.integer({ min: 1, max: 25 }), (seed, count) => {
        const rng = seededRng(seed);
        const services = Array.from({ length: count }, (_, service) =>
          planService(`s${service}`, {
            requestsPerSecond: 100 * rng(),
            size: {
              replicas: 1 + Math.floor(4 * rng()),
              cpuCores: 0.2 + rng(),
              memoryBytes: 2e8 + 5e8 * rng(),
            },
            model: queueingModel(0.001 + 0.02 * rng(), 3e8 * rng()),
          }),
        );
        const result = plan(services, randomCalls(count, rng), { objectiveSeconds: 0.05 + rng() });
        expect(Number.isFinite(result.tailAfterSeconds)).toBe(true);
        for (const [at, size] of result.sizes.entries()) {
          const { floor, ceiling, size: before } = services[at]!;
          expect(size.replicas).toBeGreaterThanOrEqual(Math.min(before.replicas, floor.replicas));
          expect(size.replicas).toBeLessThanOrEqual(ceiling.replicas);
          expect(size.cpuCores).toBeLessThanOrEqual(ceiling.cpuCores);
          expect(size.memoryBytes).toBeLessThanOrEqual(ceiling.memoryBytes);
        }
        const paid = result.steps.reduce((sum, step) => sum + step.costPerHour, result.costBeforePerHour);
        expect(paid).toBeCloseTo(result.costAfterPerHour, 9);
        for (const step of result.steps.filter(({ direction }) => direction === "up")) {
          expect(step.tailAfterSeconds).toBeLessThanOrEqual(step.tailBeforeSeconds);
        }
      }),
      { numRuns: 80 },
    );
  });

  it("gives the same plan for the same input", () => {
    const services = three([{}, { requestsPerSecond: 60 }, {}]);
    expect(plan(services, chain)).toEqual(plan(services, chain));
  });
});
