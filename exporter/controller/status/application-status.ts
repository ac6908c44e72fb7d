import { overrideText } from "@tradewind/core/contract/override.ts";
import type { Prices } from "@tradewind/core/contract/prices.ts";
import type { ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import { codesOf } from "@tradewind/core/contract/reasons.ts";
import { MAX_STATUS_SERVICES } from "@tradewind/kubernetes/crd/status.ts";
import type { ApplicationStatus, Condition, ServiceStatus } from "@tradewind/kubernetes/crd/status.ts";
import { lastChange } from "@tradewind/core/contract/sentences.ts";
import { formatCores, formatMemory, utcSeconds } from "@tradewind/core/values/amounts.ts";
import { billOf } from "../../decide/regret.ts";
import { CONDITIONS, millis } from "./conditions.ts";
import type { ConditionFacts } from "./conditions.ts";
import type { ServiceWorkload } from "../scene/services.ts";

export interface StatusInputs extends ConditionFacts {
  readonly prices: Prices;
  readonly workloadOf: (namespace: string, service: string) => ServiceWorkload | undefined;
  /** Of the configuration in use. */
  readonly generation: number | undefined;
  /** Conditions as read: one that stays keeps the time since when it holds. */
  readonly before: readonly {
    readonly type: string;
    readonly status: string;
    readonly lastTransitionTime: string;
  }[];
  readonly nowMs: number;
}

/** The status of an Application. Pure: the same inputs give the same status. */
export function applicationStatus(inputs: StatusInputs): ApplicationStatus {
  const { contested = [], generation, header, list, paused = [], problem, sharedNames } = inputs;
  const { measuredLatencySeconds, recommendations } = list;
  const services = listed(recommendations).map((served) => serviceStatus(served, inputs));
  const predicted = recommendations.flatMap(({ latencyAfterSeconds }) => latencyAfterSeconds ?? []);
  const replicasReady = recommendations.reduce((sum, each) => sum + (each.replicasReady ?? 0), 0);
  const replicasRecommended = recommendations.reduce((sum, each) => sum + each.replicas, 0);
  const omitted = recommendations.length - services.length;
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    conditions: CONDITIONS.map(({ judge, type }) =>
      condition(type, judge({ contested, header, list, paused, problem, sharedNames }), inputs),
    ),
    ...(measuredLatencySeconds !== undefined && { measuredMilliseconds: millis(measuredLatencySeconds) }),
    ...(predicted.length > 0 && { predictedMilliseconds: millis(Math.max(...predicted)) }),
    ...(header !== undefined && {
      policy: header.policy,
      policyReason: header.policyReason,
      policyReasonCodes: codesOf(header.policyReasons),
      plannedAt: utcSeconds(header.plannedAtMs),
    }),
    ...(recommendations.length > 0 && {
      replicasReady,
      replicasRecommended,
      replicas: `${replicasReady} → ${replicasRecommended}`,
      serviceCount: recommendations.length,
      ...costPerHour(inputs),
    }),
    services,
    ...(omitted > 0 && { servicesOmitted: omitted }),
  };
}

function costPerHour({ list, prices }: StatusInputs): Pick<ApplicationStatus, "costPerHour"> {
  const { recommended, running } = billOf(list.recommendations, prices);
  if (running === 0) return {};
  const [now, then] = [running, recommended].map((price) => Number(price.toPrecision(3)).toString());
  return { costPerHour: `${now} → ${then}` };
}

/** All services by name, or, where they do not fit, those first whose replicas shall change. */
function listed(recommendations: readonly ServedRecommendation[]): readonly ServedRecommendation[] {
  if (recommendations.length <= MAX_STATUS_SERVICES) return recommendations;
  const isStill = ({ replicas, replicasReady }: ServedRecommendation): number =>
    Number(replicas === replicasReady);
  return [...recommendations].sort((a, b) => isStill(a) - isStill(b)).slice(0, MAX_STATUS_SERVICES);
}

function serviceStatus(served: ServedRecommendation, { workloadOf }: StatusInputs): ServiceStatus {
  const { cpuCores, latencyAfterSeconds, latencyBeforeSeconds, memoryBytes, namespace, service } = served;
  const workload = workloadOf(namespace, service)?.workload;
  const change = lastChange(served.setBy);
  return {
    name: service,
    namespace,
    ...(workload !== undefined && { workload: { kind: workload.kind, name: workload.name } }),
    ...(served.replicasReady !== undefined && { replicasReady: served.replicasReady }),
    replicas: served.replicas,
    ...(cpuCores !== undefined && { cpu: formatCores(cpuCores) }),
    ...(memoryBytes !== undefined && { memory: formatMemory(memoryBytes) }),
    ...(served.advised && { advised: served.advised }),
    policy: served.policy,
    confidence: Math.round(served.confidence * 100) / 100,
    ...(latencyBeforeSeconds !== undefined && { currentMilliseconds: millis(latencyBeforeSeconds) }),
    ...(latencyAfterSeconds !== undefined && { predictedMilliseconds: millis(latencyAfterSeconds) }),
    reason: served.reason.slice(0, 300),
    reasonCodes: codesOf(served.reasons),
    ...(change !== undefined && {
      lastChange: `${change.what} at ${utcSeconds(change.decidedAtMs)}: ${change.reason}`.slice(0, 300),
    }),
    ...(served.override && { override: overrideText(served.override) }),
    guard: served.guard.map(({ step }) => step),
    valid: served.valid,
    decidedAt: utcSeconds(served.decidedAtMs),
    decisionId: served.decisionId.slice(0, 64),
  };
}

function condition(
  type: Condition["type"],
  verdict: Pick<Condition, "status" | "reason" | "message">,
  { before, generation, nowMs }: StatusInputs,
): Condition {
  const known = before.find((each) => each.type === type);
  return {
    type,
    ...verdict,
    lastTransitionTime: known?.status === verdict.status ? known.lastTransitionTime : utcSeconds(nowMs),
    ...(generation !== undefined && { observedGeneration: generation }),
  };
}

/** What of a status is worth an immediate write; numbers that move with every window are not. */
export function materialOf(status: ApplicationStatus): string {
  return JSON.stringify([
    status.observedGeneration,
    status.conditions.map(({ reason, status: is, type }) => [type, is, reason]),
    status.policy,
    status.replicas,
    status.servicesOmitted,
    status.services.map((service) => materialOfService(service)),
  ]);
}

function materialOfService(service: ServiceStatus): unknown[] {
  const { cpu, guard, memory, name, namespace, policy, replicas, replicasReady, valid, workload } = service;
  return [
    namespace,
    name,
    workload,
    replicas,
    replicasReady,
    cpu,
    memory,
    policy,
    guard,
    valid,
    service.override,
  ];
}
