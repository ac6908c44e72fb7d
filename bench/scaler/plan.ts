import { COURSE_SCHEMA, MEASURED_SCHEMA } from "@tradewind/core/contract/measured.ts";
import type { Course, Measured } from "@tradewind/core/contract/measured.ts";
import { PLAN_SCHEMA } from "@tradewind/core/contract/plan.ts";
import type { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";

export const NAMESPACE = "bench";
export const serviceName = (index: number): string => `service-${index}`;

/** A plan for many services as a predictor would make it now: every wish with its evidence and its bounds. */
export function planFor(services: number, sequence: number, startedAtMs: number, seed: number): Plan {
  const rng = seededRng(seed + sequence);
  const nowMs = Date.now();
  return {
    schema: PLAN_SCHEMA,
    application: "bench",
    namespace: NAMESPACE,
    sequence,
    predictorStartedAtMs: startedAtMs,
    plannedAtMs: nowMs,
    policy: "queue",
    policyReason: "benchmark",
    objective: { percentile: 0.95, seconds: 0.2 },
    measuredLatencySeconds: 0.18,
    wishes: Array.from({ length: services }, (_, index) => wishFor(index, nowMs, rng())),
  };
}

function wishFor(index: number, nowMs: number, u: number): Wish {
  return {
    namespace: NAMESPACE,
    service: serviceName(index),
    allocation: { replicas: 1 + Math.floor(u * 20), cpuCores: 0.6, memoryBytes: 300e6 },
    policy: "queue",
    reason: "p95 is 250 ms, objective 200 ms (125 %); it has 40 % of the estimated queue at 60 % CPU use",
    reasons: [
      { code: "slo-violated", percentile: 0.95, latencySeconds: 0.25, objectiveSeconds: 0.2 },
      { code: "queue-share", queueRatio: 0.4, cpuRatio: 0.6 },
    ],
    confidence: 0.7,
    latencyBeforeSeconds: 0.15 + u / 10,
    latencyAfterSeconds: 0.12 + u / 10,
    evidence: { meanLatency: u, meanViolation: u / 2, tailViolation: u / 3, share: u, queueLittle: 10 * u },
    inputs: { windowHash: "0123456789abcdef", windowEndMs: nowMs - 1_000 },
    observed: { replicasReady: 5, replicasWanted: 5, lastStartedAtMs: nowMs - 3_600_000, complete: true },
    bounds: {
      minReplicas: 1,
      maxReplicas: 30,
      cpuMinCores: 0.1,
      cpuMaxCores: 4,
      memoryMinBytes: 64e6,
      memoryMaxBytes: 4e9,
    },
  };
}

/** The last window, as the predictor answers who follows its course. */
export function courseAt(): Course {
  const point = { objectiveSeconds: 0.2, requestsPerSecond: 100, overRatio: 0.01, latencySeconds: 0.18 };
  return {
    schema: COURSE_SCHEMA,
    application: "bench",
    namespace: NAMESPACE,
    points: [{ ...point, atMs: Date.now(), policy: "queue" }],
    deploys: [],
  };
}

/** What was measured of as many services in the last window. */
export function measuredAt(services: number): Measured {
  const nowMs = Date.now();
  return {
    schema: MEASURED_SCHEMA,
    application: "bench",
    namespace: NAMESPACE,
    entry: serviceName(0),
    startMs: nowMs - 15_000,
    endMs: nowMs,
    services: Array.from({ length: services }, (_, index) => ({
      service: serviceName(index),
      requestsPerSecond: 10,
      cpuUsedRatio: 0.6,
      selfTimeP95Seconds: 0.01,
    })),
    calls: [],
  };
}
