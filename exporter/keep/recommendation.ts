import type { DecisionRecord, Recommendation } from "@tradewind/core/contract/recommendation.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import { reasonOf } from "./decision-reason.ts";

/** What a decision record says to a reader: the numbers, who decided and why, guard included. */
export function recommendationOf(record: DecisionRecord): Recommendation {
  const { wish } = record;
  const { reasons, text } = reasonOf(record);
  return {
    namespace: record.namespace,
    application: record.application,
    service: record.service,
    ...withAdvice(record),
    policy: wish.policy,
    confidence: wish.confidence,
    ...present("latencyBeforeSeconds", wish.latencyBeforeSeconds),
    ...present("latencyAfterSeconds", wish.latencyAfterSeconds),
    ...predictionOf(wish.evidence),
    ...present("replicasReady", wish.observed.replicasReady),
    ...present("runningCpuCores", wish.observed.cpuCores),
    ...present("runningMemoryBytes", wish.observed.memoryBytes),
    minReplicas: Math.max(wish.bounds.minReplicas, record.context.limits?.minReplicas ?? 0),
    maxReplicas: Math.min(wish.bounds.maxReplicas, record.context.limits?.maxReplicas ?? Infinity),
    reason: text,
    reasons,
    decidedAtMs: record.decidedAtMs,
    validUntilMs: record.validUntilMs,
    decisionId: record.id,
  };
}

function predictionOf({
  profileBiasRatio: biasRatio,
  profileCoverageRatio: coverageRatio,
  profileErrorRatio: errorRatio,
}: DecisionRecord["wish"]["evidence"]): Pick<Recommendation, "prediction"> {
  const isKnown = errorRatio !== undefined && biasRatio !== undefined && coverageRatio !== undefined;
  if (!isKnown || errorRatio < 0 || coverageRatio < 0 || coverageRatio > 1) return {};
  return { prediction: { errorRatio, biasRatio, coverageRatio } };
}

/**
 * The replicas that KEDA is answered: those decided on in mode `act`, else what the platform is asked for now, so that nothing
 * changes. Undefined where that is not known, and where the HPA would multiply whatever it is told.
 */
export function answeredReplicas({ context, final, wish }: DecisionRecord): number | undefined {
  if (wish.observed.scalingPaused === "multiplied") return undefined;
  if ((context.mode ?? "act") === "act") return final.replicas;
  return wish.observed.replicasWanted ?? wish.observed.replicasReady;
}

/** Why KEDA is answered nothing. */
export const whyUnanswered = ({ wish }: DecisionRecord): Reason =>
  wish.observed.scalingPaused === "multiplied" ? { code: "metric-type-value" } : { code: "running-unknown" };

/** What was decided, and for the parts that it leaves open what is advised, within the bounds that are kept here. */
function withAdvice({
  context,
  final,
  wish,
}: DecisionRecord): Pick<Recommendation, "replicas" | "cpuCores" | "memoryBytes" | "advised"> {
  const { cpuMaxCores, cpuMinCores, memoryMaxBytes, memoryMinBytes } = {
    ...wish.bounds,
    ...context.limits?.container,
  };
  const within = (value: number, min: number, max: number): number => Math.max(min, Math.min(value, max));
  const cpuCores = final.cpuCores === undefined ? wish.advice?.cpuCores : undefined;
  const memoryBytes = final.memoryBytes === undefined ? wish.advice?.memoryBytes : undefined;
  const advised = [
    ...(cpuCores === undefined ? [] : ["cpu" as const]),
    ...(memoryBytes === undefined ? [] : ["memory" as const]),
  ];
  return {
    ...final,
    ...(cpuCores !== undefined && { cpuCores: within(cpuCores, cpuMinCores, cpuMaxCores) }),
    ...(memoryBytes !== undefined && { memoryBytes: within(memoryBytes, memoryMinBytes, memoryMaxBytes) }),
    ...(advised.length > 0 && { advised }),
  };
}

function present<Key extends string>(key: Key, value: number | undefined): Partial<Record<Key, number>> {
  return value === undefined ? {} : ({ [key]: value } as Record<Key, number>);
}
