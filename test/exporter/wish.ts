import type { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import type { GuardLimits } from "@tradewind/core/contract/recommendation.ts";
import { PLAN_SCHEMA } from "@tradewind/core/contract/plan.ts";

/** An exporter that lets plans do as they like. */
export const NO_LIMITS: GuardLimits = {
  source: "settings",
  minReplicas: 0,
  maxReplicas: 1e9,
  growRatio: 1e9,
  growReplicas: 1e9,
  shrinkRatio: 0,
};

/** A complete wish of 5 replicas for a service that runs 3. */
export function wishOf(changes: Partial<Wish> & { service?: string } = {}): Wish {
  return {
    namespace: "shop",
    service: "search",
    allocation: { replicas: 5, cpuCores: 0.6, memoryBytes: 200e6 },
    policy: "queue",
    reason: "share of the estimated queue",
    confidence: 0.7,
    latencyBeforeSeconds: 0.25,
    latencyAfterSeconds: 0.15,
    evidence: { queue: 1.5 },
    inputs: { windowHash: "0123456789abcdef", windowEndMs: 995_000 },
    observed: { replicasReady: 3, replicasWanted: 3, lastStartedAtMs: 100_000, complete: true },
    bounds: {
      minReplicas: 1,
      maxReplicas: 20,
      cpuMinCores: 0.1,
      cpuMaxCores: 4,
      memoryMinBytes: 64e6,
      memoryMaxBytes: 4e9,
    },
    ...changes,
  };
}

/** A plan made just now, with measurements that end just now, by a predictor that has run for an hour. */
export function planOf(wishes: readonly Wish[], changes: Partial<Plan> = {}): Plan {
  const nowMs = Date.now();
  return {
    schema: PLAN_SCHEMA,
    application: "hotel",
    namespace: "shop",
    sequence: 1,
    predictorStartedAtMs: nowMs - 3_600_000,
    plannedAtMs: nowMs,
    policy: "queue",
    policyReason: "no profile yet",
    objective: { percentile: 0.95, seconds: 0.2 },
    measuredLatencySeconds: 0.25,
    wishes: wishes.map((wish) => ({
      ...wish,
      inputs: { ...wish.inputs, windowEndMs: nowMs },
    })),
    ...changes,
  };
}

/** What a plan of this module expects of a change. */
export const EXPECTED = {
  code: "expected",
  percentile: 0.95,
  expectedSeconds: 0.185,
  expectedLowSeconds: 0.12,
  expectedHighSeconds: 0.26,
  withoutSeconds: 0.61,
  withoutLowSeconds: 0.48,
  withoutHighSeconds: 0.79,
  costPerHour: 0.012,
} as const;

/** A guard at second 1,000, an hour after every start, whose last decision is 15 s old. */
export const GUARD_TIMES = {
  decidedAtMs: 1_000_000,
  previous: { replicas: 4, cpuCores: 0.8, memoryBytes: 300e6 },
  previousDecidedAtMs: 985_000,
  exporterStartedAtMs: -2_600_000,
  predictorStartedAtMs: -2_600_000,
  staleAfterSeconds: 300,
  restartGraceSeconds: 120,
} as const;
