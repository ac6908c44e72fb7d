import { Application } from "@tradewind/core/contract/application.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import type { AttentionModel } from "@tradewind/predictor/endtoend/attention-model.ts";
import { compileFlow, serviceIndex } from "@tradewind/predictor/endtoend/call-graph.ts";
import { bindResidual } from "@tradewind/predictor/endtoend/flow-predictor.ts";
import { PLAN_DEFAULTS, planApplication } from "@tradewind/predictor/plan/application-plan.ts";
import { prepare } from "@tradewind/predictor/plan/prepare.ts";
import { describe, expect, it } from "vitest";
import { call, emptySet, flowOf } from "../endtoend/random-application.ts";
import { randomResidual } from "../endtoend/random-residual.ts";
import { planService } from "./queueing-model.ts";

/** A residual of a constant factor. */
function constantResidual(factor: number, percentile = 0.95): AttentionModel {
  const model = randomResidual(2, seededRng(1));
  const parameters = new Float64Array(model.parameters.length);
  parameters[parameters.length - 1] = Math.atanh(Math.log(factor) / model.bound);
  return { ...model, percentile, parameters };
}

const flow = flowOf([call("s0", "s1")]);
const index = serviceIndex(["s0", "s1"]);
const graph = compileFlow(flow, emptySet, index)!;
const options = {
  objectiveSeconds: 10,
  slackRatio: 0,
  ranking: "chain" as const,
  maxSteps: 100,
  prices: { cpuCoreHour: 0.031, memoryGigabyteHour: 0.0042 },
};

describe("a plan with a learnt residual", () => {
  const services = [planService("s0"), planService("s1", { requestsPerSecond: 40 })];

  it("predicts the call graph's tail times the residual's factor", () => {
    const tail = (residual?: AttentionModel): number =>
      prepare(
        services,
        [{ graph, calibration: 1, ...(residual && { residual: bindResidual(residual, index) }) }],
        options,
      ).tailBeforeSeconds;
    expect(tail(constantResidual(1.5))).toBeCloseTo(1.5 * tail(), 9);
  });

  it("re-evaluates the residual with every step", () => {
    const model = randomResidual(2, seededRng(5));
    const result = prepare(services, [{ graph, calibration: 1, residual: bindResidual(model, index) }], {
      ...options,
      objectiveSeconds: 1e-3,
      maxSteps: 6,
    });
    expect(result.steps.length).toBeGreaterThan(2);
    const ends = services.map((service, at) => ({ ...service, size: result.sizes[at]! }));
    const afresh = prepare(ends, [{ graph, calibration: 1, residual: bindResidual(model, index) }], options);
    expect(result.tailAfterSeconds).toBeCloseTo(afresh.tailBeforeSeconds, 12);
  });
});

describe("planApplication with learnt residuals", () => {
  const latency = { count: 500, meanSeconds: 0.02, p50Seconds: 0.018, p95Seconds: 0.05, p99Seconds: 0.09 };
  const window = (service: string): Window => ({
    namespace: "default",
    service,
    startMs: 0,
    endMs: 15_000,
    requestsPerSecond: 20,
    ownLatency: latency,
    callees: [],
    containers: [{ id: service, cpuLimitCores: 1, memoryLimitBytes: 2e8 }],
  });
  const plan = (residuals: readonly AttentionModel[], count: number): number =>
    planApplication({
      application: Application.parse({ entry: "s0", objective: { milliseconds: 10_000 } }),
      windowSet: {
        startMs: 0,
        endMs: 15_000,
        windows: [window("s0"), window("s1")],
        flows: [{ ...flow, latency: { ...latency, count, p95Seconds: 0.1, p99Seconds: 0.2 } }],
      },
      known: new Map(),
      settings: PLAN_DEFAULTS,
      mayTakeBack: false,
      residuals,
    }).tailBeforeSeconds;

  it("still comes to the tail that was measured: the calibration takes up what the residual leaves", () => {
    expect(plan([constantResidual(1.3)], 500)).toBeCloseTo(0.1, 9);
  });

  it("uses the residual of the objective's percentile and no other", () => {
    const alone = plan([], 2);
    expect(plan([constantResidual(1.3)], 2)).toBeCloseTo(1.3 * alone, 9);
    expect(plan([constantResidual(1.3, 0.99)], 2)).toBe(alone);
    expect(plan([{ ...constantResidual(1.3), flow: "GET /other" }], 2)).toBe(alone);
  });
});
