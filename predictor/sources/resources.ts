import type { ContainerWindow } from "@tradewind/core/contract/window.ts";
import type {
  Workload,
  WorkloadContainer,
  WorkloadList,
  WorkloadPod,
} from "@tradewind/core/contract/workload.ts";
import { cpuLeft, nodesFor } from "../nodes/node-room.ts";
import { nodeClassesOf } from "../nodes/node-classes.ts";
import type { NodeClasses } from "../nodes/node-classes.ts";
import type { Interval } from "../window/interval.ts";
import type { ResourceView, ServiceResources } from "../window/resources.ts";
import { containerKey } from "./container-rates.ts";
import type { ContainerUse } from "./container-rates.ts";

/** CPU is read every second or more: what was used so long before an interval may be counted in it. */
const BETWEEN_READINGS_MS = 2_000;

/** A start that lies this far in the future says only that our clock and the platform's differ. */
const CLOCKS_DIFFER_MS = 5_000;

/** A pod that becomes ready later than this after its start was ready before: it has long started up. */
const LONGEST_START_MS = 300_000;

/** What is known of nodes, by their names. */
export interface NodeFacts {
  readonly classes: NodeClasses;
  /** What pods leave of the CPU of each, cores. */
  readonly rooms: ReadonlyMap<string, number>;
}

/** The list with the workloads of one namespace: services of others have the same names. Nodes and quotas stay. */
export const ofNamespace = (list: WorkloadList | undefined, namespace: string): WorkloadList | undefined =>
  list && { ...list, workloads: list.workloads.filter((each) => each.namespace === namespace) };

/**
 * Puts what the platform declares and what the agents measured together, by service. Pods that are not ready take no
 * part; the CPU use of a pod that was starting within the interval, or just before it, is left out, since a process that
 * starts uses CPU that no request asked for (as the HorizontalPodAutoscaler does, by readiness and within five minutes of the
 * start). A declared limit counts before the one that an agent read: agents read limits seldom, and after a resize the old
 * one would be believed for half a minute. Where several workloads carry one service their pods add up.
 * @param list workloads of one namespace, see {@link ofNamespace}
 * @param nowMs by the same clock
 * @param nodes what is known of them, by what runs in all namespaces; by default what the list says
 */
export function resourceView(
  list: WorkloadList | undefined,
  uses: ReadonlyMap<string, ContainerUse>,
  interval: Interval,
  nowMs: number,
  { classes, rooms }: NodeFacts = { classes: nodeClassesOf(list), rooms: cpuLeft(list) },
): ResourceView {
  const services = new Map<string, ServiceResources>();
  const isSettled = (pod: WorkloadPod): boolean => {
    const ms = startedUpAtMs(pod);
    return ms <= interval.startMs - BETWEEN_READINGS_MS || ms > nowMs + CLOCKS_DIFFER_MS;
  };
  for (const workload of list?.workloads ?? []) {
    const resources = workloadResources(workload, { uses, isSettled, interval, rooms, classes });
    const before = services.get(workload.service);
    services.set(workload.service, before === undefined ? resources : added(before, resources));
  }
  return { services };
}

/** What pods leave of the CPU of nodes that take pods of a namespace, cores by node class. Undefined where no class has any. */
export function roomByNodeClass(
  list: WorkloadList | undefined,
  { classes, rooms: left }: NodeFacts,
  namespace?: string,
): Readonly<Record<string, number>> | undefined {
  if (classes.size === 0) return undefined;
  const rooms: Record<string, number> = {};
  for (const { name } of nodesFor(list, namespace)) {
    const nodeClass = classes.get(name);
    const cores = left.get(name) ?? 0;
    if (nodeClass !== undefined && cores > 0) rooms[nodeClass] = (rooms[nodeClass] ?? 0) + cores;
  }
  return Object.keys(rooms).length === 0 ? undefined : rooms;
}

/** Undefined where one of them is. */
function smallest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 || known.length < values.length ? undefined : Math.min(...known);
}

interface ResourceReading {
  readonly uses: ReadonlyMap<string, ContainerUse>;
  readonly isSettled: (pod: WorkloadPod) => boolean;
  readonly interval: Interval;
  /** CPU that is left of each node, cores. */
  readonly rooms: ReadonlyMap<string, number>;
  readonly classes: NodeClasses;
}

function workloadResources(workload: Workload, reading: ResourceReading): ServiceResources {
  const { rooms } = reading;
  const ready = workload.pods.filter((pod) => pod.ready);
  const starts = ready.flatMap(({ startedAtMs }) => (startedAtMs === undefined ? [] : [startedAtMs]));
  return {
    namespace: workload.namespace,
    replicasReady: workload.replicasReady,
    replicasWanted: workload.replicasWanted,
    minReplicas: workload.minReplicas,
    maxReplicas: workload.maxReplicas,
    ...(workload.scalingPaused && { scalingPaused: workload.scalingPaused }),
    podsUnscheduled: workload.podsUnscheduled,
    nodeRoomCores: smallest(ready.map(({ node }) => rooms.get(node))),
    lastStartedAtMs: starts.length === 0 ? undefined : starts.reduce((a, b) => Math.max(a, b)),
    ...revisionOf(workload, ready),
    containers: ready.flatMap((pod) =>
      pod.containers.map((container) => containerWindow(pod, container, reading)),
    ),
  };
}

/** Nothing where the platform does not say which program every ready pod runs. */
function revisionOf(
  { revision }: Workload,
  ready: readonly WorkloadPod[],
): Pick<ServiceResources, "revision" | "newestRevisionShare"> {
  if (revision === undefined || ready.some((pod) => pod.revision === undefined)) return {};
  if (ready.length === 0) return { revision };
  const newest = ready.filter((pod) => pod.revision === revision).length;
  return { revision, newestRevisionShare: newest / ready.length };
}

function containerWindow(
  pod: WorkloadPod,
  declared: WorkloadContainer,
  { classes, interval, isSettled, uses }: ResourceReading,
): ContainerWindow {
  const use = uses.get(containerKey(declared.id));
  const settled = isSettled(pod);
  const parts: { [Name in keyof ContainerWindow]: ContainerWindow[Name] | undefined } = {
    id: declared.id,
    name: declared.name,
    sidecar: declared.sidecar,
    startedAtMs: declared.startedAtMs === undefined ? undefined : startedUpAtMs({ ...pod, ...declared }),
    podName: pod.name,
    node: pod.node,
    nodeClass: classes.get(pod.node),
    cpuRequestCores: declared.cpuRequestCores,
    cpuLimitCores: declared.cpuLimitCores ?? use?.cpuLimitCores,
    cpuUsageCores: settled ? use?.cpuUsageCores : undefined,
    cpuThrottledRatio: settled ? use?.cpuThrottledRatio : undefined,
    memoryRequestBytes: declared.memoryRequestBytes,
    memoryLimitBytes: declared.memoryLimitBytes ?? use?.memoryLimitBytes,
    memoryWorkingSetBytes: use?.memoryWorkingSetBytes,
    diskBytesPerSecond: settled ? use?.diskBytesPerSecond : undefined,
    oomKills: oomKills(pod, declared, use, interval),
    interference: use?.interference,
  };
  const known = Object.entries(parts).filter(([, value]) => value !== undefined);
  return Object.fromEntries(known) as ContainerWindow;
}

/**
 * An agent counts kills of a container that lives on; one whose main process was killed starts as a new container, and its
 * pod is not ready meanwhile: that kill is noticed when the pod is ready again.
 */
function oomKills(
  { readyAtMs = 0 }: WorkloadPod,
  { oomKilledAtMs }: WorkloadContainer,
  use: ContainerUse | undefined,
  { startMs, endMs }: Interval,
): number | undefined {
  if (oomKilledAtMs === undefined) return use?.oomKills;
  const noticedMs = Math.max(oomKilledAtMs, readyAtMs);
  const isNoticed = noticedMs >= startMs && noticedMs < endMs;
  return Math.max(use?.oomKills ?? 0, isNoticed ? 1 : 0);
}

/** When its start was over: once it was ready, or when it began where that is not known. */
function startedUpAtMs({ startedAtMs, readyAtMs }: Pick<WorkloadPod, "startedAtMs" | "readyAtMs">): number {
  const began = startedAtMs ?? Number.NEGATIVE_INFINITY;
  return readyAtMs !== undefined && readyAtMs - began <= LONGEST_START_MS
    ? Math.max(began, readyAtMs)
    : began;
}

function added(one: ServiceResources, other: ServiceResources): ServiceResources {
  const starts = [one.lastStartedAtMs, other.lastStartedAtMs].filter((ms) => ms !== undefined);
  const unscheduled = [one.podsUnscheduled, other.podsUnscheduled].filter((pods) => pods !== undefined);
  return {
    namespace: one.namespace,
    replicasReady: (one.replicasReady ?? 0) + (other.replicasReady ?? 0),
    replicasWanted: (one.replicasWanted ?? 0) + (other.replicasWanted ?? 0),
    minReplicas: bothKnown(one.minReplicas, other.minReplicas),
    maxReplicas: bothKnown(one.maxReplicas, other.maxReplicas),
    scalingPaused: one.scalingPaused ?? other.scalingPaused,
    podsUnscheduled: unscheduled.length === 0 ? undefined : unscheduled.reduce((sum, pods) => sum + pods, 0),
    lastStartedAtMs: starts.length === 0 ? undefined : Math.max(...starts),
    nodeRoomCores: smallest([one.nodeRoomCores, other.nodeRoomCores]),
    ...bothRevisions(one, other),
    containers: [...one.containers, ...other.containers],
  };
}

/** What two workloads of one service can have together; undefined where one of them is not bounded. */
const bothKnown = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? undefined : one + other;

const MOST_REVISION = 253;

/** Either workload's update is one of the service; the share is that of the one that is further behind. */
function bothRevisions(
  one: ServiceResources,
  other: ServiceResources,
): Pick<ServiceResources, "revision" | "newestRevisionShare"> {
  if (one.revision === undefined || other.revision === undefined) return {};
  const shares = [one.newestRevisionShare, other.newestRevisionShare].filter((share) => share !== undefined);
  return {
    revision: `${one.revision}+${other.revision}`.slice(0, MOST_REVISION),
    newestRevisionShare: shares.length === 0 ? undefined : Math.min(...shares),
  };
}
