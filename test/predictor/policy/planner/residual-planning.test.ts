import { seededRng } from "@tradewind/core/rng.ts";
import { describe, expect, it } from "vitest";
import type { AttentionModel } from "@tradewind/predictor/endtoend/attention-model.ts";
import type { FlowEvidence } from "@tradewind/predictor/policy/evidence.ts";
import { usableResiduals } from "@tradewind/predictor/policy/planner/flow-residuals.ts";
import { NO_MODELS } from "@tradewind/predictor/policy/inputs.ts";
import type { Models, PolicyInputs, PolicyOutcome } from "@tradewind/predictor/policy/inputs.ts";
import { decide } from "@tradewind/predictor/policy/ladder.ts";
import { emptyState } from "@tradewind/predictor/policy/state.ts";
import { randomResidual } from "../../endtoend/random-residual.ts";
import { inputs, START_MS } from "../../measurements.ts";
import { BACKEND, BUSY, chained, FRONTEND, modelledEvidence, RESIZABLE, wishOf } from "./planned.ts";

const HASH = "00000000000000bb";
const FLOW: FlowEvidence = { flow: "GET /", hash: HASH, version: 1 };

/** A residual of a constant factor. */
function constant(factor: number, overrides: Partial<AttentionModel> = {}): AttentionModel {
  const model = { ...randomResidual(2, seededRng(1)), services: ["frontend", "backend"], ...overrides };
  const parameters = new Float64Array(model.parameters.length);
  parameters[parameters.length - 1] = Math.atanh(Math.log(factor) / model.bound);
  return { ...model, parameters };
}

const holding = (model: AttentionModel | undefined): Models => ({ ...NO_MODELS, endToEnd: () => model });

function planned(overrides: Partial<PolicyInputs>, models: Models, set = chained(BUSY)): PolicyOutcome {
  const profiles = BUSY.map((each) => modelledEvidence(each));
  return decide(inputs(set, { choice: "plan", application: RESIZABLE, profiles, ...overrides }), models);
}

type Corrections = NonNullable<NonNullable<PolicyOutcome["state"]["planner"]>["flowCorrections"]>;
/** What the decision learnt of the only flow. */
function correctionOf({ state }: PolicyOutcome): Corrections[number] {
  const [only] = state.planner?.flowCorrections ?? [];
  if (only === undefined) throw new Error("nothing was learnt of the flow");
  return only;
}

describe("residuals that a decision may use", () => {
  const errors = (meanAbsoluteRatio: number, windows = 10) => ({ windows, meanAbsoluteRatio });
  const usable = (evidence: Partial<FlowEvidence>, model: AttentionModel | undefined = constant(2)): number =>
    usableResiduals({
      evidence: [{ ...FLOW, ...evidence }],
      models: holding(model),
      percentile: 0.95,
      errorWindows: 8,
    }).length;

  it("are those that nothing speaks against", () => {
    expect(usable({})).toBe(1);
    expect(usable({ errors: errors(0.1), graphErrors: errors(0.2) })).toBe(1);
  });

  it.each<{ what: string; evidence?: Partial<FlowEvidence>; model?: AttentionModel }>([
    { what: "of another flow", model: constant(2, { flow: "GET /other" }) },
    { what: "of another percentile", model: constant(2, { percentile: 0.99 }) },
    {
      what: "further off than the call graph alone",
      evidence: { errors: errors(0.3), graphErrors: errors(0.2) },
    },
  ])("are none that are $what", ({ evidence = {}, model = constant(2) }) => {
    expect(usable(evidence, model)).toBe(0);
  });

  it("are none whose model is gone, and a few bad windows do not speak against one yet", () => {
    expect(
      usableResiduals({ evidence: [FLOW], models: NO_MODELS, percentile: 0.95, errorWindows: 8 }),
    ).toEqual([]);
    expect(usable({ errors: errors(0.9, 7), graphErrors: errors(0.2, 7) })).toBe(1);
  });
});

describe("planning with learnt residuals", () => {
  it("corrects the flow by what the residual leaves out only, and remembers with which one", () => {
    const without = planned({}, NO_MODELS);
    const withResidual = planned({ endToEnd: [FLOW] }, holding(constant(1.25)));
    const before = correctionOf(without);
    const after = correctionOf(withResidual);
    expect(after.correction).toBeCloseTo(before.correction / 1.25, 9);
    expect([before.modelHash, after.modelHash]).toEqual([undefined, HASH]);
    expect(withResidual.plan.policyReason).toMatch(/; 1 flow has a learnt tail$/);
  });

  it("does not carry what was learnt of a flow with one residual over to another", () => {
    const flowCorrections = [{ flow: "GET /", correction: 3, modelHash: HASH }];
    const planner = { missedInSpite: 0, recentSeverities: [], flowCorrections };
    const state = { ...emptyState("default", "default"), windowEndMs: START_MS, planner };
    const correction = (evidence: FlowEvidence): number => {
      const models = holding(constant(1.25));
      return correctionOf(planned({ endToEnd: [evidence], state }, models)).correction;
    };
    const afresh = correction({ ...FLOW, hash: "00000000000000cc", version: 2 });
    expect(correction(FLOW)).toBeCloseTo(0.7 * 3 + 0.3 * afresh, 9);
    const alone = correctionOf(planned({ state }, NO_MODELS));
    expect(alone.correction).toBeCloseTo(1.25 * afresh, 9);
    expect(alone.modelHash).toBeUndefined();
  });

  it("goes on by the call graph when a model is missing, or knows services that are gone", () => {
    const without = planned({}, NO_MODELS).plan.wishes;
    expect(planned({ endToEnd: [FLOW] }, NO_MODELS).plan.wishes).toEqual(without);
    const gone = { ...randomResidual(3, seededRng(2)), services: ["frontend", "gone", "gone-too"] };
    const { plan } = planned({ endToEnd: [FLOW] }, holding(gone));
    expect(plan.policy).toBe("planner-prior");
    for (const { latencyAfterSeconds } of plan.wishes) expect(latencyAfterSeconds).toBeGreaterThan(0);
  });
});

describe("planning on nodes of a known size", () => {
  const coresOf = (outcome: PolicyOutcome): number => wishOf(outcome, "backend").allocation.cpuCores ?? 1;
  const podsOf = (outcome: PolicyOutcome): number => wishOf(outcome, "backend").allocation.replicas;

  it("gives replicas where larger containers would fit on no node", () => {
    const free = planned({}, NO_MODELS);
    expect(coresOf(free)).toBeGreaterThan(1.3);
    const bound = planned({ largestContainer: { cpuCores: 1.3, memoryBytes: 4e9 } }, NO_MODELS);
    expect(coresOf(bound)).toBeCloseTo(1.2, 9);
    expect(podsOf(bound)).toBeGreaterThan(podsOf(free));
  });

  it("takes no step for latency beyond what all nodes have together", () => {
    const stepsOf = ({ plan }: PolicyOutcome): number =>
      plan.wishes.reduce((sum, { steps = [] }) => sum + steps.length, 0);
    expect(stepsOf(planned({}, NO_MODELS))).toBeGreaterThan(0);
    const full = { cpuCores: 2, memoryBytes: 64e9 };
    expect(stepsOf(planned({ allNodes: full }, NO_MODELS))).toBe(0);
  });

  it("leaves a container alone that is larger than any node, and does not make two into one that fits nowhere", () => {
    const bound = planned({ largestContainer: { cpuCores: 0.5, memoryBytes: 1e8 } }, NO_MODELS);
    expect(coresOf(bound)).toBe(1);
    const small = { ...BACKEND, replicas: 6, cores: 0.4, requestsPerSecond: 10 };
    const calm = { ...FRONTEND, requestsPerSecond: 10 };
    for (let calmWindows = 0; calmWindows < 40; calmWindows += 10) {
      const services = [calm, small];
      const outcome = decide(
        inputs(chained(services), {
          choice: "plan",
          application: { ...RESIZABLE, objective: { ...RESIZABLE.objective, milliseconds: 1_000 } },
          profiles: services.map((each) => modelledEvidence(each)),
          state: { ...inputs(chained(services)).state, windowEndMs: START_MS, calmWindows },
          largestContainer: { cpuCores: 0.5, memoryBytes: 1e9 },
        }),
      );
      expect(wishOf(outcome, "backend").allocation.cpuCores ?? 0.4).toBeLessThanOrEqual(0.5);
    }
  });
});
