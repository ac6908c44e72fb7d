import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { Application, ServiceSpec } from "@tradewind/core/contract/application.ts";
import type { FixedService } from "@tradewind/core/contract/override.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import type { ContainerRange } from "@tradewind/core/contract/workload.ts";
import { containerSize } from "./size.ts";
import { estimateQueues } from "./queue-estimate.ts";
import type { ServiceQueue } from "./queue-estimate.ts";
import type { PolicySettings } from "./settings.ts";
import type { MemoryPeak, RememberedState, ServiceMemory } from "./state.ts";
import { containerFacts, isCarriedOut } from "./container-size.ts";
import type { ContainerFacts } from "./container-size.ts";
import { cpuDemand, isDraining } from "./demand.ts";
import type { CpuDemand, QueueTrend } from "./demand.ts";
import { memoryPeaksAfter } from "./memory-peaks.ts";
import { reactiveNeed } from "./need.ts";
import { userFlows } from "./user-flows.ts";

/** Everything the policies know of one service in one window. Absent means not known. */
export interface Observation extends ContainerFacts {
  readonly service: string;
  readonly spec: ServiceSpec;
  readonly window?: Window;
  readonly memory?: ServiceMemory;
  readonly queue?: ServiceQueue;
  readonly demand?: CpuDemand;
  /** Replicas that the decision starts from: never fewer than what runs by wish of this or another controller. */
  readonly baseReplicas: number;
  readonly readyReplicas?: number;
  /** Of the base replicas those that wait for room on a node: they stay asked for and serve nothing. */
  readonly unscheduled: number;
  /** Fewest replicas that CPU demand allows. */
  readonly need?: number;
  /** Fewest replicas that a step down may leave. */
  readonly shrinkNeed?: number;
  /** CPU demand over the capacity of the ready replicas. */
  readonly utilisation?: number;
  /** Some of the base replicas do not serve yet, or did not serve for the whole window. */
  readonly settling: boolean;
  /** Replicas were added, and the newest of them was not ready when the window began: the window says little of so many. */
  readonly unproven: boolean;
  /** Its queue is being worked off: what runs takes more than what comes. */
  readonly draining: boolean;
  /** Replicas beyond which no node takes one, for other reasons than CPU; absent where there are none. */
  readonly mostReplicas?: number;
  /** Highest memory use by day, this window included; none where it is not measured. */
  readonly memoryPeaks: readonly MemoryPeak[];
}

/** Inputs that stay the same while one decision is made. */
export interface DecisionContext {
  readonly application: Application;
  readonly settings: PolicySettings;
  readonly state: RememberedState;
  readonly windowSet: WindowSet;
  /** See observe/missing.ts; undefined when all traffic was seen. */
  readonly missing?: string | undefined;
  /** See `PolicyInputs`. */
  readonly podsMore?: Readonly<Record<string, number>> | undefined;
  readonly overrides?: readonly FixedService[] | undefined;
  readonly containerLimits?: ContainerRange | undefined;
  readonly nowMs: number;
}

/**
 * One observation for each service of the application that has a workload now, or had one until recently. Sorted by
 * name, so that the order in which sources report has no influence.
 */
export function observe(context: DecisionContext): readonly Observation[] {
  const { application, settings, state, windowSet } = context;
  const windows = windowSet.windows.filter(({ namespace }) => namespace === application.namespace);
  const { held } = userFlows(windowSet.flows, application);
  const queues = estimateQueues(windows, held, settings.weights);
  const queueOf = new Map(queues.map((queue) => [queue.service, queue]));
  const windowOf = new Map(windows.map((window) => [window.service, window]));
  const specOf = serviceSpecs(application);
  const memoryOf = new Map(state.services.map((memory) => [memory.service, memory]));
  const orderOf = new Map(context.overrides?.map((each) => [each.service, each]));
  const stale = isStale(context);
  const names = [...new Set([...windowOf.keys(), ...memoryOf.keys()])].sort();
  return names.flatMap((service) => {
    const window = windowOf.get(service);
    const order = orderOf.get(service);
    const limited = withinLimits(withinReach(specOf(service), window), context.containerLimits);
    const spec = order === undefined ? limited : keptTo(limited, order, window);
    const memory = memoryOf.get(service);
    const isPaused = window?.scalingPaused !== undefined || order?.kind === "pause";
    const baseReplicas = base(application, memory, window, { stale, isPaused });
    if (baseReplicas === undefined || isForgotten(context, memory, window)) return [];
    const queue = queueOf.get(service);
    const enlarged = window !== undefined && isEnlarged(window, memory);
    // A queue of which a part was seen is no shorter than the whole one before.
    const before = window?.missing === undefined ? memory?.ownRequests : undefined;
    const trend = { now: queue?.ownRequests, before, enlarged };
    return [
      {
        service,
        spec,
        baseReplicas,
        unscheduled: unscheduledOf(baseReplicas, window),
        settling: isSettling(baseReplicas, memory, window),
        unproven: isUnproven(memory, window),
        draining: isDraining(trend),
        memoryPeaks: memoryPeaksAfter(memory?.memoryPeaks ?? [], window),
        ...mostReplicasOf(baseReplicas, window, context.podsMore?.[service]),
        ...containerFacts(application, window, memory, stale, context.nowMs),
        ...(window && { window, ...cpuFacts(window, trend, settings) }),
        ...(memory && { memory }),
        ...(queue && { queue }),
        ...(window?.replicasReady !== undefined && { readyReplicas: window.replicasReady }),
      },
    ];
  });
}

/**
 * The service's bounds, as far as the autoscaler in charge can bring its replicas: what it cannot carry out is not planned, and others are
 * planned around it.
 */
function withinReach(spec: ServiceSpec, window: Window | undefined): ServiceSpec {
  const { maxReplicas = Infinity, minReplicas = 0 } = window ?? {};
  if (maxReplicas < 1) return spec;
  const within = (replicas: number): number => Math.max(minReplicas, Math.min(maxReplicas, replicas));
  return { ...spec, minReplicas: within(spec.minReplicas), maxReplicas: within(spec.maxReplicas) };
}

/** What a person keeps of a service is not planned: others are planned around it. What is not named stays as it runs. */
function keptTo(spec: ServiceSpec, order: FixedService, window: Window | undefined): ServiceSpec {
  const { kind, replicas: ordered } = order;
  const { maxReplicas, minReplicas } = spec;
  const running = window?.replicasWanted ?? window?.replicasReady;
  const asked = kind === "pause" ? running : (ordered ?? running);
  const replicas =
    asked === undefined || kind === "pause" ? asked : Math.min(maxReplicas, Math.max(minReplicas, asked));
  if (replicas === undefined) return spec;
  if (kind === "floor") return { ...spec, minReplicas: Math.max(minReplicas, replicas) };
  const size = window && containerSize(window);
  const cpuCores = order.cpuCores ?? size?.cpuCores;
  const memoryBytes = order.memoryBytes ?? (size?.memoryBytes || undefined);
  return {
    ...spec,
    minReplicas: replicas,
    maxReplicas: replicas,
    ...(cpuCores !== undefined && { cpu: { ...spec.cpu, minCores: cpuCores, maxCores: cpuCores } }),
    ...(memoryBytes !== undefined && {
      memory: { ...spec.memory, minBytes: memoryBytes, maxBytes: memoryBytes },
    }),
  };
}

/** The sizes of its containers, as far as the namespace allows them: others would be refused. */
function withinLimits(spec: ServiceSpec, limits: ContainerRange = {}): ServiceSpec {
  const { cpuMaxCores = Infinity, cpuMinCores = 0, memoryMaxBytes = Infinity, memoryMinBytes = 0 } = limits;
  const cores = (value: number): number => Math.max(cpuMinCores, Math.min(cpuMaxCores, value));
  const bytes = (value: number): number => Math.max(memoryMinBytes, Math.min(memoryMaxBytes, value));
  const { cpu, memory } = spec;
  return {
    ...spec,
    cpu: { ...cpu, minCores: cores(cpu.minCores), maxCores: cores(cpu.maxCores) },
    memory: { ...memory, minBytes: bytes(memory.minBytes), maxBytes: bytes(memory.maxBytes) },
  };
}

/** Pods beyond what is asked for are on their way out, whether a node has taken them or not. */
function unscheduledOf(base: number, window: Window | undefined): number {
  const { podsUnscheduled = 0, replicasWanted = base } = window ?? {};
  return Math.max(0, Math.min(podsUnscheduled, base, base - (replicasWanted - podsUnscheduled)));
}

/** @param more pods that nodes take beside those that they have */
function mostReplicasOf(
  base: number,
  window: Window | undefined,
  more: number | undefined,
): Pick<Observation, "mostReplicas"> {
  if (more === undefined) return {};
  const { podsUnscheduled = 0, replicasReady = 0, replicasWanted = base } = window ?? {};
  return { mostReplicas: Math.max(replicasReady, replicasWanted - podsUnscheduled) + more };
}

const GROWN_RATIO = 1.02;

type CpuFacts = Pick<Observation, "demand" | "need" | "shrinkNeed" | "utilisation">;

function isEnlarged(window: Window, memory: ServiceMemory | undefined): boolean {
  const before = memory?.platformCpuCores;
  return before !== undefined && (containerSize(window)?.cpuCores ?? 0) > GROWN_RATIO * before;
}

function cpuFacts(window: Window, trend: QueueTrend, settings: PolicySettings): CpuFacts {
  const drainSeconds = Math.max(settings.drainSeconds, (window.endMs - window.startMs) / 1e3);
  const demand = cpuDemand(window, trend, settings.targetUtilisation, drainSeconds);
  if (demand === undefined) return {};
  const need = reactiveNeed(demand, window.replicasReady ?? 0, settings);
  return {
    demand,
    ...(need && { need: need.atLeast, shrinkNeed: need.enough, utilisation: need.utilisation }),
  };
}

/** Pods wished do not serve yet, or pods did not serve for the whole window. */
function isSettling(base: number, memory: ServiceMemory | undefined, window: Window | undefined): boolean {
  const ready = window?.replicasReady;
  if (ready === undefined) return false;
  if (ready < base || ready > (memory?.readyReplicas ?? ready)) return true;
  return memory?.grownAtSeverity !== undefined && (window?.lastStartedAtMs ?? 0) > (window?.startMs ?? 0);
}

/** Kubernetes cuts the time at which a pod became ready to whole seconds. */
const READY_RESOLUTION_MS = 1_000;

/**
 * Ready replicas are counted when the window is decided on, some seconds after its end, so those that are added while one window
 * is awaited are all counted as ready in it, and begin to serve in the next.
 */
function isUnproven(memory: ServiceMemory | undefined, window: Window | undefined): boolean {
  if (memory?.unproven === undefined) return false;
  if (window === undefined || (window.replicasReady ?? 0) < memory.replicas) return true;
  const readyMs = window.containers.flatMap(({ startedAtMs }) => startedAtMs ?? []);
  const newestMs = readyMs.length > 0 ? Math.max(...readyMs) : (window.lastStartedAtMs ?? 0);
  return newestMs > window.startMs - READY_RESOLUTION_MS;
}

function isForgotten(
  { settings, nowMs }: DecisionContext,
  memory: ServiceMemory | undefined,
  window: Window | undefined,
): boolean {
  if (window !== undefined || memory === undefined) return false;
  return nowMs - memory.seenAtMs > settings.forgetServiceSeconds * 1e3;
}

/**
 * Where a decision starts from. The last wish, since the platform may be slow to follow it down; but what the platform
 * wants when there is no wish, when somebody else has raised it since, or when the wish is so old that others may have
 * decided in the meantime: then the larger of the two. Where nobody carries out wishes, what the platform wants.
 */
function base(
  application: Application,
  memory: ServiceMemory | undefined,
  window: Window | undefined,
  { isPaused, stale }: { readonly isPaused: boolean; readonly stale: boolean },
): number | undefined {
  const wantedReplicas = window?.replicasWanted ?? window?.replicasReady;
  if (memory === undefined) return wantedReplicas;
  if (!isCarriedOut(application) || isPaused) return wantedReplicas ?? memory.replicas;
  if (wantedReplicas === undefined) return memory.replicas;
  if (stale) return Math.max(memory.replicas, wantedReplicas);
  const raisedElsewhere =
    wantedReplicas > memory.replicas && wantedReplicas > (memory.platformWanted ?? wantedReplicas);
  return raisedElsewhere ? wantedReplicas : memory.replicas;
}

/** The last decision is so old that others may have decided in the meantime. */
function isStale({ settings, state, windowSet }: DecisionContext): boolean {
  const windowMs = windowSet.endMs - windowSet.startMs;
  return windowSet.endMs - (state.windowEndMs ?? 0) > settings.staleStateWindows * windowMs;
}
