import { seededRng } from "@tradewind/core/rng.ts";
import { describe, expect, it } from "vitest";
import type { ServiceEvidence } from "@tradewind/predictor/policy/evidence.ts";
import { NO_MODELS } from "@tradewind/predictor/policy/inputs.ts";
import type { PolicyChoice, PolicyInputs, PolicyOutcome } from "@tradewind/predictor/policy/inputs.ts";
import { decide } from "@tradewind/predictor/policy/ladder.ts";
import { emptyState } from "@tradewind/predictor/policy/state.ts";
import type { PlannerMemory, PlannerRung } from "@tradewind/predictor/policy/state.ts";
import { TrainedProfile } from "@tradewind/predictor/profile/trained-profile.ts";
import { randomModel } from "../../profile/random-model.ts";
import { inputs, START_MS, WINDOW_MS } from "../../measurements.ts";
import { chained, modelledEvidence, RESIZABLE } from "./planned.ts";
import type { ModelledService } from "./planned.ts";

const service = (name: string): ModelledService => ({
  service: name,
  replicas: 2,
  cores: 1,
  cpuSecondsPerRequest: 0.02,
  baseSeconds: 0.02,
  requestsPerSecond: 20,
});
const SERVICES = [service("frontend"), service("backend")];
const EMPTY = emptyState("default", "default");
const HASH = "00000000000000aa";
const MODEL = new TrainedProfile(randomModel(seededRng(7)));

type Known = (each: ModelledService) => ServiceEvidence;
const nothing: Known = ({ service: name }) => ({ service: name });
const prior =
  (ratio: number, windows = 10): Known =>
  (each) => {
    const evidence = modelledEvidence(each);
    return { ...evidence, prior: { ...evidence.prior!, errors: { windows, meanAbsoluteRatio: ratio } } };
  };
const trained =
  (ratio: number, priorRatio = 0.1, windows = 10): Known =>
  (each) => ({
    ...prior(priorRatio)(each),
    trained: {
      hash: HASH,
      version: 3,
      state: { cpuSecondsPerRequest: each.cpuSecondsPerRequest, baseSeconds: each.baseSeconds },
      interval: { low: -1, high: 1 },
      trainingRatio: 0.1,
      errors: { windows, meanAbsoluteRatio: ratio },
    },
  });
const mixed =
  (first: Known, second: Known): Known =>
  (each) =>
    (each.service === "frontend" ? first : second)(each);

function decided(choice: PolicyChoice, known: Known, overrides: Partial<PolicyInputs> = {}): PolicyOutcome {
  const set = chained(SERVICES, START_MS, 0.5);
  const profiles = SERVICES.map((each) => known(each));
  const made = inputs(set, { choice, profiles, application: RESIZABLE, ...overrides });
  return decide(made, { ...NO_MODELS, profile: (hash) => (hash === HASH ? MODEL : undefined) });
}

describe("the planner's rungs", () => {
  it.each<{ choice: PolicyChoice; evidence: string; known: Known; policy: string; why: string }>([
    {
      choice: "plan",
      evidence: "all priors are good enough",
      known: prior(0.3),
      policy: "planner-prior",
      why: "0 of the 2 services that take time have a trained profile, the others a queueing prior",
    },
    {
      choice: "plan",
      evidence: "one service has a trained profile",
      known: mixed(trained(0.1), prior(0.3)),
      policy: "planner-prior",
      why: "1 of the 2 services",
    },
    {
      choice: "plan",
      evidence: "all have one",
      known: trained(0.1),
      policy: "planner",
      why: "all services that take time have a trained profile",
    },
    {
      choice: "plan",
      evidence: "the error of a trained profile has grown",
      known: mixed(trained(0.1), trained(0.5)),
      policy: "planner-prior",
      why: "1 of the 2 services",
    },
    {
      choice: "plan",
      evidence: "the errors of trained profiles and of priors have grown",
      known: trained(0.5, 0.9),
      policy: "queue",
      why: "is off by 90 %",
    },
    {
      choice: "plan",
      evidence: "a trained profile was just taken into use",
      known: trained(0.9, 0.1, 2),
      policy: "planner",
      why: "all services",
    },
    {
      choice: "plan",
      evidence: "nothing is known",
      known: nothing,
      policy: "queue",
      why: "no plan yet: 'backend' was not yet seen at work for long enough, and 1 more",
    },
    {
      choice: "plan",
      evidence: "priors were never judged",
      known: (each) => ({ ...modelledEvidence(each), prior: { state: modelledEvidence(each).prior!.state } }),
      policy: "planner-prior",
      why: "queueing prior",
    },
    {
      choice: "plan",
      evidence: "half of the time is covered",
      known: mixed(prior(0.1), prior(0.8)),
      policy: "planner-prior",
      why: "'backend' has a profile that is off by 80 %",
    },
    {
      choice: "plan",
      evidence: "less than half is",
      known: mixed(prior(0.8), prior(0.8)),
      policy: "queue",
      why: "no plan yet",
    },
    {
      choice: "queue",
      evidence: "everything is known",
      known: trained(0.1),
      policy: "queue",
      why: "the objective is met",
    },
    {
      choice: "static",
      evidence: "everything is known",
      known: trained(0.1),
      policy: "static",
      why: "the operator chose",
    },
  ])("$choice: $policy when $evidence", ({ choice, known, policy, why }) => {
    const { plan } = decided(choice, known);
    expect(plan.policy).toBe(policy);
    expect(plan.policyReason).toContain(why);
    expect(plan.policyReason.length).toBeLessThanOrEqual(500);
  });

  it.each([
    { persistenceRatio: 0.7, policy: "planner-prior" },
    { persistenceRatio: 0.5, policy: "queue" },
  ])(
    "plan: $policy when a prior is off by 80 %, and saying that the tail stays as it was would be by $persistenceRatio",
    ({ persistenceRatio, policy }) => {
      const restless: Known = (each) => {
        const evidence = modelledEvidence(each);
        const errors = { windows: 10, meanAbsoluteRatio: 0.8, excessRatio: 0.8, persistenceRatio };
        return { ...evidence, prior: { ...evidence.prior!, errors } };
      };
      expect(decided("plan", restless).plan.policy).toBe(policy);
    },
  );

  it("plan: planner-prior when a prior is far off, but by less than a twentieth of the objective", () => {
    const patient = { ...RESIZABLE, objective: { ...RESIZABLE.objective, milliseconds: 3_000 } };
    expect(decided("plan", prior(0.8), { application: patient }).plan.policy).toBe("planner-prior");
  });

  it("plans around a service that takes no time to speak of and has no profile", () => {
    const slight = { ...service("backend"), baseSeconds: 1e-4, cpuSecondsPerRequest: 1e-5 };
    const set = chained([SERVICES[0]!, slight], START_MS, 0.5);
    const made = inputs(set, {
      choice: "plan",
      application: RESIZABLE,
      profiles: [modelledEvidence(SERVICES[0]!)],
    });
    const { plan } = decide(made);
    expect(plan.policy).toBe("planner-prior");
    expect(plan.wishes.find((wish) => wish.service === "backend")).toMatchObject({ policy: "reactive" });
  });

  it("names in each wish the rung and the model that set its own number", () => {
    const { plan } = decided("plan", mixed(trained(0.1), prior(0.3)));
    const [backend, frontend] = plan.wishes;
    expect(frontend).toMatchObject({ policy: "planner", inputs: { modelHash: HASH } });
    expect(backend!.policy).toBe("planner-prior");
    expect(backend!.inputs.modelHash).toMatch(/^[0-9a-f]{16}$/);
    expect(backend!.inputs.modelHash).not.toBe(HASH);
  });
});

describe("what is measured after a plan", () => {
  const memory = (rung: PlannerRung, overrides: Partial<PlannerMemory> = {}): PlannerMemory => ({
    rung,
    cures: true,
    missedInSpite: 0,
    recentSeverities: [],
    ...overrides,
  });
  const missing = chained(SERVICES, START_MS, 5);
  const endMs = missing.endMs;

  function after(planner: PlannerMemory, overrides: Partial<PolicyInputs> = {}): PolicyOutcome {
    const state = { ...EMPTY, windowEndMs: START_MS, missedWindows: 3, planner };
    return decided("plan", trained(0.1), { windowSet: missing, state, ...overrides });
  }

  it("counts misses of a plan that was carried out", () => {
    const outcome = after(memory("planner", { missedInSpite: 1 }));
    expect(outcome.plan.policy).toBe("planner");
    expect(outcome.state.planner).toMatchObject({ rung: "planner", missedInSpite: 2 });
  });

  it("does not count the miss that the first plan is to end", () => {
    const outcome = after(memory("planner", { cures: false }));
    expect(outcome.state.planner).toMatchObject({ cures: true, missedInSpite: 0 });
  });

  it("does not count a miss that is ending", () => {
    const set = structuredClone(missing);
    // 300 ms instead of 200, after 1,800.
    Object.assign(set.flows[0]!.latency, { p50Seconds: 0.1, p95Seconds: 0.3, p99Seconds: 0.4 });
    const counted = (before: number): number | undefined =>
      after(memory("planner", { missedInSpite: 1, recentSeverities: [before] }), { windowSet: set }).state
        .planner?.missedInSpite;
    expect(counted(9)).toBe(1);
    expect(counted(1.7)).toBe(2);
  });

  it("does not count them while pods are on their way", () => {
    const set = structuredClone(missing);
    set.windows[0]!.replicasReady = 1;
    const outcome = after(memory("planner", { missedInSpite: 3 }), { windowSet: set });
    expect(outcome.state.planner).toMatchObject({ missedInSpite: 3 });
  });

  it("does not count the window in which containers became larger: part of it ran with the old size", () => {
    const counted = (platformCpuCores: number): number | undefined => {
      const services = [
        { service: "backend", replicas: 2, seenAtMs: START_MS, cpuCores: 1, platformCpuCores },
      ];
      const state = { ...EMPTY, windowEndMs: START_MS, missedWindows: 3, services };
      const planner = memory("planner", { missedInSpite: 1 });
      return after(planner, { state: { ...state, planner } }).state.planner?.missedInSpite;
    };
    expect(counted(0.5)).toBe(1);
    expect(counted(1)).toBe(2);
  });

  it.each<PlannerRung>(["planner", "planner-prior"])(
    "four misses in spite of a plan of %s are remembered against it for twelve windows",
    (rung) => {
      const outcome = after(memory(rung, { missedInSpite: 3 }));
      expect(outcome.state.planner?.distrust).toEqual({ rung, untilMs: endMs + 12 * WINDOW_MS, times: 1 });
    },
  );

  it("a second failure of a plan is remembered twice as long, and forgiven after long calm", () => {
    const distrust = { rung: "planner" as const, untilMs: endMs - 1, times: 1 };
    const again = after(memory("planner", { missedInSpite: 3, distrust }));
    expect(again.state.planner?.distrust).toMatchObject({ untilMs: endMs + 24 * WINDOW_MS, times: 2 });
    const calm = decided("plan", trained(0.1), {
      state: { ...EMPTY, windowEndMs: START_MS, calmWindows: 10, planner: memory("planner", { distrust }) },
    });
    expect(calm.state.planner?.distrust).toBeUndefined();
  });

  it("does not keep an operator from the planner who asked for it", () => {
    const distrust = { rung: "planner-prior" as const, untilMs: endMs + 1, times: 1 };
    const planner = { missedInSpite: 0, recentSeverities: [], distrust };
    expect(after(planner).plan.policy).toBe("planner");
  });
});
