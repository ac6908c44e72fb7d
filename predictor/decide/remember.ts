import { isCarriedOut, unmovedAfter } from "./facts/container-size.ts";
import type { DecisionContext, Observation } from "./facts/observation.ts";
import { userFlows } from "./facts/user-flows.ts";
import type { PolicyState } from "./state.ts";
import type { Course, ServiceMemory } from "./facts/state.ts";
import { POLICY_STATE_SCHEMA } from "./facts/state.ts";
import type { Target, Targets } from "./facts/target.ts";

/** Flows of which latencies are kept at most; others of few calls are judged by each window alone. */
const MOST_FLOWS = 200;

/**
 * Latencies of the flows of few calls, for the windows to come. A flow that runs on a service whose size changes, or
 * whose pods start, begins anew: what was measured says nothing of what runs then. So does one without a call, since nobody
 * knows what it runs on.
 */
function rememberedFlows(
  { application, settings, state, windowSet }: DecisionContext,
  observations: readonly Observation[],
  targets: Targets,
): Pick<PolicyState, "flows"> {
  const isActing = isCarriedOut(application);
  const changed = new Set(
    observations
      .filter((one) => isInTransit(one) || (isActing && isChanged(one, targets.get(one.service))))
      .map(({ service }) => service),
  );
  const oldestMs = windowSet.endMs - settings.pooledWindows * (windowSet.endMs - windowSet.startMs);
  const measured = userFlows(windowSet.flows, application).held.map(({ flow }) => flow);
  const names = new Set(measured.map(({ flow }) => flow));
  const unseen = changed.size > 0 ? [] : (state.flows ?? []).filter(({ flow }) => !names.has(flow));
  const latenciesBefore = new Map(state.flows?.map(({ flow, latencies }) => [flow, latencies]));
  const pooledFlows = measured
    .filter(({ latency, services }) => {
      return latency.count < settings.minimumCalls && !services.some((service) => changed.has(service));
    })
    .map(({ errorRatio, flow, latency }) => ({
      flow,
      latencies: [{ ...latency, errorRatio, endMs: windowSet.endMs }, ...(latenciesBefore.get(flow) ?? [])],
    }));
  const flows = [...pooledFlows, ...unseen]
    .map(({ flow, latencies }) => ({ flow, latencies: latencies.filter(({ endMs }) => endMs > oldestMs) }))
    .filter(({ latencies }) => latencies.length > 0)
    .slice(0, MOST_FLOWS);
  return flows.length === 0 ? {} : { flows };
}

/** What a window measures now is how the service came to its present size, not how it does with it. */
function isInTransit({ resizing, settling }: Observation): boolean {
  return settling || resizing;
}

function isChanged({ baseReplicas, container }: Observation, target: Target | undefined): boolean {
  if (target === undefined) return false;
  const cores = target.cpuCores ?? container?.cpuCores;
  return target.replicas !== baseReplicas || cores !== container?.cpuCores;
}

interface SeenWindow {
  readonly context: DecisionContext;
  readonly observations: readonly Observation[];
}

/** The state after a decision. Services that are no longer observed are forgotten. */
export function remember(
  { context, observations }: SeenWindow,
  targets: Targets,
  course: Course,
): PolicyState {
  const { application, windowSet } = context;
  const services = observations.flatMap((observation) => {
    const target = targets.get(observation.service);
    return target === undefined ? [] : [memoryOf(context, observation, target, course)];
  });
  return {
    schema: POLICY_STATE_SCHEMA,
    application: application.name,
    namespace: application.namespace,
    windowEndMs: windowSet.endMs,
    calmWindows: course.calmWindows,
    missedWindows: course.missedWindows,
    patienceDoublings: course.patienceDoublings,
    ...(course.shrunkAtMs !== undefined && { shrunkAtMs: course.shrunkAtMs }),
    ...(course.shrunkAtRequestsPerSecond !== undefined && {
      shrunkAtRequestsPerSecond: course.shrunkAtRequestsPerSecond,
    }),
    ...(course.shrunkAtInterference !== undefined && { shrunkAtInterference: course.shrunkAtInterference }),
    ...(course.shrunkServices && { shrunkServices: [...course.shrunkServices] }),
    ...(course.requestsPerSecond !== undefined && { requestsPerSecond: course.requestsPerSecond }),
    ...(course.growth && { growth: course.growth }),
    ...(course.futile && { futile: course.futile }),
    ...rememberedFlows(context, observations, targets),
    services,
  };
}

function memoryOf(
  context: DecisionContext,
  observation: Observation,
  target: Target,
  course: Course,
): ServiceMemory {
  const { nowMs } = context;
  const { memory, service, window } = observation;
  const platformWanted = window?.replicasWanted ?? memory?.platformWanted;
  const seen = window?.replicasWanted !== undefined || window?.replicasReady !== undefined;
  return {
    service,
    ...wishMemory(context, observation, target),
    seenAtMs: seen ? nowMs : (memory?.seenAtMs ?? nowMs),
    ...(platformWanted !== undefined && { platformWanted }),
    ...(window?.replicasReady !== undefined && { readyReplicas: window.replicasReady }),
    ...queueMemory(observation),
    ...needMemory(observation, target),
    ...additionMemory(observation, target, course),
  };
}

/** What was added lately: until it has served a whole window nobody knows what it is good for. */
function additionMemory(
  { baseReplicas, memory, service, settling, unproven }: Observation,
  target: Target,
  { grown }: Course,
): Pick<ServiceMemory, "unproven" | "grownAtSeverity"> {
  const grownNow = grown?.services.includes(service) ? grown.severity : undefined;
  const grownAtSeverity = grownNow ?? (settling || unproven ? memory?.grownAtSeverity : undefined);
  const isAdded = target.replicas > (memory?.replicas ?? baseReplicas);
  return {
    ...((isAdded || unproven) && { unproven: true }),
    ...(grownAtSeverity !== undefined && { grownAtSeverity }),
  };
}

/** Nothing of a queue of which only a part was seen. */
function queueMemory({ queue, window }: Observation): Pick<ServiceMemory, "ownRequests"> {
  const ownRequests = window?.missing === undefined ? queue?.ownRequests : undefined;
  return ownRequests === undefined ? {} : { ownRequests };
}

/** What was wished, where anybody carries wishes out; else what runs. */
function wishMemory(
  { application, nowMs }: DecisionContext,
  observation: Observation,
  target: Target,
): Pick<ServiceMemory, "replicas"> & SizeMemory {
  if (!isCarriedOut(application)) return { replicas: observation.baseReplicas };
  return { replicas: target.replicas, ...sizeMemory(observation, target, nowMs) };
}

/** What a container needs, as far as it is known. */
function needMemory(
  { memoryPeaks }: Observation,
  { advice }: Target,
): Pick<ServiceMemory, "advisedCpuCores" | "memoryPeaks"> {
  return {
    ...(advice?.cpuCores !== undefined && { advisedCpuCores: advice.cpuCores }),
    ...(memoryPeaks.length > 0 && { memoryPeaks: [...memoryPeaks] }),
  };
}

type SizeMemory = Pick<
  ServiceMemory,
  "cpuCores" | "memoryBytes" | "platformCpuCores" | "platformMemoryBytes" | "cpuUnmovedSinceMs"
>;

/** The size wished, this time or before, and what runs beside it. */
function sizeMemory(
  { memory, runningContainer: running }: Observation,
  target: Target,
  nowMs: number,
): SizeMemory {
  const cpuCores = target.cpuCores ?? memory?.cpuCores;
  const memoryBytes = target.memoryBytes ?? memory?.memoryBytes;
  const platformCpuCores = running?.cpuCores ?? memory?.platformCpuCores;
  const platformMemoryBytes = running?.memoryBytes ?? memory?.platformMemoryBytes;
  return {
    ...(cpuCores !== undefined && {
      cpuCores,
      ...unmovedAfter(memory, cpuCores, running?.cpuCores, nowMs),
      ...(platformCpuCores !== undefined && { platformCpuCores }),
    }),
    ...(memoryBytes !== undefined && {
      memoryBytes,
      ...(platformMemoryBytes !== undefined && platformMemoryBytes > 0 && { platformMemoryBytes }),
    }),
  };
}
