import type { Wish } from "@tradewind/core/contract/plan.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import { inWords } from "@tradewind/core/contract/reasons.ts";
import type { LevelAccuracy } from "../models/level/level-memory.ts";
import type { DecisionContext, Observation } from "./facts/observation.ts";
import { tellingSeverity } from "./facts/verdict.ts";
import type { Verdict } from "./facts/verdict.ts";
import { missingReason } from "./facts/reasons.ts";
import type { Course } from "./facts/state.ts";
import type { Target } from "./facts/target.ts";

/** What all wishes of one decision share. */
export interface DecisionFacts {
  readonly context: DecisionContext;
  readonly verdict: Verdict;
  readonly windowHash: string;
  readonly course: Course;
  /** p95 of the slowest flow through each service, seconds. */
  readonly slowestFlowSeconds: ReadonlyMap<string, number>;
  /** Latency over objective of the worst route through each service. */
  readonly worstRoutes: ReadonlyMap<string, number>;
  /** Calls of all flows. */
  readonly calls: number;
  /** Of the application as a whole; absent without a request of users that is held to an objective. */
  readonly measured?: Extract<Reason, { code: "measured" }>;
  /** How well the self time of each service was predicted of late, where that is known. */
  readonly accuracies: ReadonlyMap<string, LevelAccuracy>;
  /** From a decision to a replica that serves, as measured; undefined while no level has measured it. */
  readonly startSeconds: number | undefined;
  /** The usual load of this time of day over the load now; undefined where no calendar asks for it. */
  readonly usualLoadRatio: number | undefined;
}

/** What {@link toWish} needs of the flows, once for all services. */
export function flowFacts(
  verdict: Verdict,
): Pick<DecisionFacts, "slowestFlowSeconds" | "worstRoutes" | "calls"> {
  const worst = new Map<string, number>();
  const slowest = new Map<string, number>();
  let calls = 0;
  for (const { flow, severity, telling } of verdict.flows) {
    calls += flow.latency.count;
    for (const service of flow.services) {
      if (telling) worst.set(service, Math.max(worst.get(service) ?? 0, severity));
      slowest.set(service, Math.max(slowest.get(service) ?? 0, flow.latency.p95Seconds));
    }
  }
  return { slowestFlowSeconds: slowest, worstRoutes: worst, calls };
}

export function toWish(observation: Observation, target: Target, facts: DecisionFacts): Wish {
  const { spec, window, service } = observation;
  const { application, windowSet } = facts.context;
  const { planned } = target;
  const latencyBeforeSeconds = facts.slowestFlowSeconds.get(service);
  const missing = missingReason(observation);
  const reasons = [
    facts.measured,
    ...target.reasons.filter((reason) => !isSaid(reason, facts.measured)),
    missing,
  ].filter((each) => each !== undefined);
  return {
    namespace: application.namespace,
    service,
    allocation: {
      replicas: target.replicas,
      ...(target.cpuCores !== undefined && { cpuCores: target.cpuCores }),
      ...(target.memoryBytes !== undefined && { memoryBytes: target.memoryBytes }),
    },
    ...(target.advice && Object.keys(target.advice.size).length > 0 && { advice: target.advice.size }),
    policy: target.policy,
    reason: inWords(reasons, MOST_CHARACTERS),
    reasons,
    confidence: confidence(observation, target, facts),
    ...(latencyBeforeSeconds !== undefined && { latencyBeforeSeconds }),
    ...(planned?.latencyAfterSeconds !== undefined && { latencyAfterSeconds: planned.latencyAfterSeconds }),
    ...(planned && { steps: [...planned.steps] }),
    evidence: evidence(observation, facts),
    inputs: {
      windowHash: facts.windowHash,
      windowEndMs: windowSet.endMs,
      ...(planned && { modelHash: planned.modelHash }),
    },
    observed: {
      ...(window?.replicasReady !== undefined && { replicasReady: window.replicasReady }),
      ...(window?.replicasWanted !== undefined && { replicasWanted: window.replicasWanted }),
      ...(window?.scalingPaused !== undefined && { scalingPaused: window.scalingPaused }),
      ...(window?.lastStartedAtMs !== undefined && { lastStartedAtMs: window.lastStartedAtMs }),
      ...runningSize(observation),
      complete: missing === undefined,
    },
    bounds: {
      minReplicas: spec.minReplicas,
      maxReplicas: spec.maxReplicas,
      cpuMinCores: spec.cpu.minCores,
      cpuMaxCores: spec.cpu.maxCores,
      memoryMinBytes: spec.memory.minBytes,
      memoryMaxBytes: spec.memory.maxBytes,
      cpuStepCores: spec.cpu.stepCores,
      memoryStepBytes: spec.memory.stepBytes,
    },
  };
}

/** The same latency against the same objective. */
const isSaid = (reason: Reason, measured: DecisionFacts["measured"]): boolean =>
  (reason.code === "slo-met" || reason.code === "slo-violated") &&
  reason.latencySeconds === measured?.latencySeconds &&
  reason.objectiveSeconds === measured.objectiveSeconds;

function runningSize({ runningContainer }: Observation): Pick<Wish["observed"], "cpuCores" | "memoryBytes"> {
  const { cpuCores = 0, memoryBytes = 0 } = runningContainer ?? {};
  return { ...(cpuCores > 0 && { cpuCores }), ...(memoryBytes > 0 && { memoryBytes }) };
}

const MOST_CHARACTERS = 500;

/** Calls at which latency is believed half. */
const HALF_BELIEVED_CALLS = 20;

/**
 * How much of what the policy needs was measured, in [0, 1]: 0 for hold, the measured share of the pods for the reactive
 * floor, (1 + that)/2 times n/(n + 20) with n calls for queue balancing, and times the confidence of the service's model in place of the
 * calls for a plan: `1/(1 + σ²)`. Not a probability.
 */
function confidence(observation: Observation, { planned, policy }: Target, { calls }: DecisionFacts): number {
  if (policy === "hold") return 0;
  if (policy === "static") return 1;
  const { demand, readyReplicas } = observation;
  const measured =
    demand === undefined ? 0 : Math.min(1, demand.podsMeasured / Math.max(1, readyReplicas ?? 1));
  if (policy === "reactive") return measured;
  const seen = 0.5 + 0.5 * measured;
  // Models have learnt from the calls of many windows: how sure they are says their own error.
  if (planned !== undefined && policy !== "queue") return seen * planned.confidence;
  return (seen * calls) / (calls + HALF_BELIEVED_CALLS);
}

/** Every number that had a part in the decision and is known. */
function evidence(observation: Observation, facts: DecisionFacts): Record<string, number> {
  const { demand, queue, window } = observation;
  const { verdict, course, context } = facts;
  const accuracy = facts.accuracies.get(observation.service);
  const numbers: Record<string, number | undefined> = {
    baseReplicas: observation.baseReplicas,
    baseCpuCores: observation.container?.cpuCores,
    runningCpuCores: observation.runningContainer?.cpuCores,
    baseMemoryBytes: observation.container?.memoryBytes,
    memoryPeakBytes: highestPeak(observation.memoryPeaks),
    needReplicas: observation.need,
    shrinkNeedReplicas: observation.shrinkNeed,
    cpuDemandCores: demand?.cores,
    cpuPodCapacityCores: demand?.podCapacityCores,
    cpuSecondsPerRequest: demand?.secondsPerRequest,
    cpuUtilisation: observation.utilisation,
    cpuThrottledRatio: demand?.throttledRatio,
    podsMeasured: demand?.podsMeasured,
    backlogRequests: demand?.backlog,
    queueFlower: queue?.virtualQueue,
    queueLittle: queue?.ownRequests,
    ownMeanSeconds: queue?.ownMeanSeconds,
    requestsPerSecond: window?.requestsPerSecond,
    tailOverObjective: tellingSeverity(verdict),
    routeOverObjective: facts.worstRoutes.get(observation.service),
    tailSeconds: verdict.tailSeconds,
    objectiveSeconds: verdict.objective.tailSeconds,
    errorRatio: verdict.errorRatio,
    missedWindows: course.missedWindows,
    calmWindows: course.calmWindows,
    patienceDoublings: course.patienceDoublings,
    startSeconds: facts.startSeconds,
    usualReplicas: usualReplicas(demand, facts),
    budgetPods: context.application.budget.pods,
    interferenceCpu: worstCpuInterference(observation),
    profileErrorRatio: accuracy?.error,
    profileBiasRatio: accuracy?.bias,
    profileCoverageRatio: accuracy?.coverage,
  };
  const known = Object.entries(numbers).filter((entry): entry is [string, number] => entry[1] !== undefined);
  return Object.fromEntries(known);
}

/** What CPU demand would need at the usual load: not rounded. */
function usualReplicas(
  demand: Observation["demand"],
  { context, usualLoadRatio }: DecisionFacts,
): number | undefined {
  if (demand === undefined || usualLoadRatio === undefined) return undefined;
  const { cores, podCapacityCores } = demand;
  return (cores * usualLoadRatio) / (podCapacityCores * context.settings.targetUtilisation);
}

const highestPeak = (peaks: Observation["memoryPeaks"]): number | undefined =>
  peaks.length === 0 ? undefined : Math.max(...peaks.map(({ bytes }) => bytes));

function worstCpuInterference({ window }: Observation): number | undefined {
  let worst: number | undefined;
  for (const { interference } of window?.containers ?? []) {
    const value = interference?.cpu.value;
    if (value !== undefined) worst = Math.max(worst ?? 0, value);
  }
  return worst;
}
