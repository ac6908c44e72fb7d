import { interference } from "@tradewind/core/measure/interference.ts";
import type { OwnUse } from "@tradewind/core/measure/interference.ts";
import { ContainerWindow } from "@tradewind/core/contract/window.ts";
import { ServiceName } from "@tradewind/core/contract/quantity.ts";
import type { ResourceView, ServiceResources } from "../../window/resources.ts";
import type { Grid } from "./grid.ts";
import { nodeUse, readNodes } from "./node-use.ts";
import type { NodeColumns } from "./node-use.ts";
import { ownersByName, podKey, podOwners } from "./pods.ts";
import type { PodOwner } from "./pods.ts";
import { duration, equal, noneOf, once, oneOf, selector } from "./promql.ts";
import type { Matcher } from "./promql.ts";
import { rateRangeMs } from "./rates.ts";
import type { CounterQuery, RateReader, RateSeries, StoredScope } from "./rates.ts";

type Columns = ReadonlyMap<string, readonly RateSeries[]>;

/** Everything read about containers, pods, workloads and nodes for one grid; {@link resourceView} forms one window of it. */
export interface ResourceReading {
  readonly columns: Columns;
  readonly nodes: NodeColumns;
  readonly owners: ReadonlyMap<string, PodOwner>;
  /** Questions that could not be answered. */
  readonly leftOut: number;
}

interface ResourceScope extends StoredScope {
  readonly namespaces: readonly string[];
}

/** Containers of pods, not the sums and pauses beside them. */
const REAL = noneOf("container", ["", "POD"]);

/** CPU use of the containers of one namespace, by which it is found out how series came into the store. */
export const cpuCounters = (namespace: string): CounterQuery => ({
  kind: "counter",
  metric: "container_cpu_usage_seconds_total",
  matchers: [equal("namespace", namespace), REAL],
  by: [],
});

/** Series of cAdvisor (kubelet) and kube-state-metrics, by what they tell. */
function expressions(
  { copyLabels, matchers, namespaces }: ResourceScope,
  range: string,
): Record<string, string> {
  const inside: Matcher[] = namespaces.length === 0 ? [] : [oneOf("namespace", namespaces)];
  const of = (metric: string, ...more: Matcher[]): string =>
    selector(metric, [...matchers, ...inside, ...more]);
  const resource = (value: string): Matcher => equal("resource", value);
  const ready = equal("condition", "true");
  const rate = (metric: string, by: string, ...more: Matcher[]): string =>
    `sum by (namespace,pod${by}) (${once(`rate(${of(metric, ...more)}[${range}])`, copyLabels)})`;
  const last = (metric: string, by: string, ...more: Matcher[]): string =>
    `max by (namespace,pod${by}) (${of(metric, ...more)})`;
  return {
    podInfo: of("kube_pod_info"),
    replicaSets: of("kube_replicaset_owner"),
    containerInfo: of("kube_pod_container_info"),
    podReady: last("kube_pod_status_ready", "", ready),
    podStart: last("kube_pod_start_time", ""),
    deploymentWanted: of("kube_deployment_spec_replicas"),
    deploymentReady: of("kube_deployment_status_replicas_ready"),
    statefulSetWanted: of("kube_statefulset_replicas"),
    statefulSetReady: of("kube_statefulset_status_replicas_ready"),
    cpuUsage: rate("container_cpu_usage_seconds_total", ",container", REAL),
    cpuPeriods: rate("container_cpu_cfs_periods_total", ",container", REAL),
    cpuThrottledPeriods: rate("container_cpu_cfs_throttled_periods_total", ",container", REAL),
    cpuThrottledSeconds: rate("container_cpu_cfs_throttled_seconds_total", ",container", REAL),
    workingSet: last("container_memory_working_set_bytes", ",container", REAL),
    cpuRequest: last("kube_pod_container_resource_requests", ",container", resource("cpu")),
    cpuLimit: last("kube_pod_container_resource_limits", ",container", resource("cpu")),
    memoryRequest: last("kube_pod_container_resource_requests", ",container", resource("memory")),
    memoryLimit: last("kube_pod_container_resource_limits", ",container", resource("memory")),
    received: rate("container_network_receive_bytes_total", ""),
    sent: rate("container_network_transmit_bytes_total", ""),
  };
}

/** @throws EndpointError when not even the list of pods could be read */
export async function readResources(
  reader: RateReader,
  grid: Grid,
  scope: ResourceScope,
  signal?: AbortSignal,
): Promise<ResourceReading> {
  const range = duration(rateRangeMs(grid.stepMs, scope.scrapeIntervalMs));
  const { podInfo: podInfoExpression = "", ...others } = expressions(scope, range);
  const podInfo = await reader.gauges(podInfoExpression, grid, signal);
  const columns = new Map<string, readonly RateSeries[]>([["podInfo", podInfo]]);
  let leftOut = 0;
  const [nodes] = await Promise.all([
    readNodes(reader, grid, scope, signal).catch((): NodeColumns => {
      leftOut += 1;
      return new Map();
    }),
    ...Object.entries(others).map(async ([what, expression]) => {
      try {
        columns.set(what, await reader.gauges(expression, grid, signal));
      } catch {
        leftOut += 1;
      }
    }),
  ]);
  const told = new Set(podInfo.map(({ labels }) => labels["namespace"]));
  const owners = new Map([
    ...podOwners(podInfo, columns.get("replicaSets") ?? []),
    ...ownersByName(columns.get("cpuUsage") ?? [], told),
  ]);
  return { columns, nodes, owners, leftOut };
}

/**
 * What is known of every service of one namespace in window `index`. Deployments and stateful sets are services by their
 * own name. Without kube-state-metrics it is the containers that ran, and a pod that ran was wanted.
 */
export function resourceView(reading: ResourceReading, index: number, namespace: string): ResourceView {
  const services = new Map<string, ServiceResources>();
  const lookUp = new Lookup(reading.columns, index);
  const containers = containersByWorkload(reading, lookUp, index);
  const starts = youngestStarts(reading.owners, lookUp);
  for (const [kind, wantedColumn, readyColumn, label] of WORKLOAD_KINDS) {
    for (const { labels, perSecond } of reading.columns.get(wantedColumn) ?? []) {
      const wanted = perSecond[index] ?? Number.NaN;
      const name = ServiceName.safeParse(labels[label]);
      if (Number.isNaN(wanted) || !name.success || labels["namespace"] !== namespace) continue;
      const key = `${namespace}/${kind}/${name.data}`;
      const replicasReady = lookUp.count(readyColumn, `${namespace}/${name.data}`, label);
      const lastStartedAtMs = starts.get(key);
      services.set(name.data, {
        namespace,
        replicasWanted: Math.max(0, Math.round(wanted)),
        containers: containers.get(key) ?? [],
        ...(replicasReady === undefined ? {} : { replicasReady }),
        ...(lastStartedAtMs === undefined ? {} : { lastStartedAtMs }),
      });
    }
  }
  return { services: services.size > 0 ? services : withoutState(containers, reading.owners, namespace) };
}

function withoutState(
  containers: ReadonlyMap<string, ContainerWindow[]>,
  owners: ReadonlyMap<string, PodOwner>,
  namespace: string,
): Map<string, ServiceResources> {
  const services = new Map<string, ServiceResources>();
  for (const owner of owners.values()) {
    const own = containers.get(workloadKey(owner)) ?? [];
    const name = ServiceName.safeParse(owner.name);
    if (owner.namespace !== namespace || own.length === 0 || !name.success) continue;
    const pods = new Set(own.map(({ podName }) => podName)).size;
    services.set(name.data, { namespace, replicasWanted: pods, replicasReady: pods, containers: own });
  }
  return services;
}

const WORKLOAD_KINDS = [
  ["Deployment", "deploymentWanted", "deploymentReady", "deployment"],
  ["StatefulSet", "statefulSetWanted", "statefulSetReady", "statefulset"],
] as const;

/** Values of one window by the object they are about. */
class Lookup {
  private readonly columns: Columns;
  private readonly index: number;
  private readonly tables = new Map<string, Map<string, number>>();

  constructor(columns: Columns, index: number) {
    this.columns = columns;
    this.index = index;
  }

  /** Of `namespace/pod` or `namespace/pod/container`. */
  pod(what: string, key: string): number | undefined {
    return this.table(what, (labels) =>
      labels["container"] === undefined ? podKey(labels) : `${podKey(labels)}/${labels["container"]}`,
    ).get(key);
  }

  /** A number of replicas of `namespace/name`. */
  count(what: string, key: string, label: string): number | undefined {
    const value = this.table(what, (labels) => `${labels["namespace"] ?? ""}/${labels[label] ?? ""}`).get(
      key,
    );
    return value === undefined ? undefined : Math.max(0, Math.round(value));
  }

  private table(what: string, keyOf: (labels: RateSeries["labels"]) => string): Map<string, number> {
    let table = this.tables.get(what);
    if (table === undefined) {
      table = new Map();
      for (const { labels, perSecond } of this.columns.get(what) ?? []) {
        const value = perSecond[this.index] ?? Number.NaN;
        if (!Number.isNaN(value)) table.set(keyOf(labels), value);
      }
      this.tables.set(what, table);
    }
    return table;
  }
}

/** Start of the youngest ready pod of each workload, ms since the epoch. */
function youngestStarts(owners: ReadonlyMap<string, PodOwner>, lookUp: Lookup): Map<string, number> {
  const youngest = new Map<string, number>();
  for (const [pod, owner] of owners) {
    if (lookUp.pod("podReady", pod) !== 1) continue;
    const startMs = (lookUp.pod("podStart", pod) ?? Number.NaN) * 1_000;
    const workload = workloadKey(owner);
    if (startMs >= 0 && !((youngest.get(workload) ?? -1) >= startMs)) youngest.set(workload, startMs);
  }
  return youngest;
}

const workloadKey = ({ namespace, kind, name }: PodOwner): string => `${namespace}/${kind}/${name}`;

function containersByWorkload(
  { columns, owners, nodes }: ResourceReading,
  lookUp: Lookup,
  index: number,
): Map<string, ContainerWindow[]> {
  const ids = containerIds(columns, index);
  const sidecars = sidecarsAmong([...ids.keys()], columns, owners);
  const byWorkload = new Map<string, ContainerWindow[]>();
  for (const [key, id] of ids) {
    const pod = key.slice(0, key.lastIndexOf("/"));
    const owner = owners.get(pod);
    if (owner === undefined) continue;
    const container = containerWindow(
      { key, pod, id, owner, isSidecar: sidecars.has(key) },
      lookUp,
      nodes,
      index,
    );
    if (container === undefined) continue;
    const workload = workloadKey(owner);
    const list = byWorkload.get(workload) ?? [];
    list.push(container);
    byWorkload.set(workload, list);
  }
  return byWorkload;
}

/** Containers that run in this window, `namespace/pod/container` to the runtime's id or, without one, that same key. */
function containerIds(columns: Columns, index: number): Map<string, string> {
  const ids = new Map<string, string>();
  for (const what of ["workingSet", "cpuUsage"]) {
    for (const { labels, perSecond } of columns.get(what) ?? []) {
      if (Number.isNaN(perSecond[index] ?? Number.NaN)) continue;
      const key = `${podKey(labels)}/${labels["container"] ?? ""}`;
      ids.set(key, key.slice(-128));
    }
  }
  for (const { labels } of columns.get("containerInfo") ?? []) {
    const key = `${podKey(labels)}/${labels["container"] ?? ""}`;
    const id = labels["container_id"]?.replace(/^[a-z-]+:\/\//, "");
    if (ids.has(key) && id !== undefined && id !== "") ids.set(key, id.slice(0, 128));
  }
  return ids;
}

interface Located {
  /** `namespace/pod/container` */
  readonly key: string;
  /** `namespace/pod` */
  readonly pod: string;
  readonly id: string;
  readonly owner: PodOwner;
  readonly isSidecar: boolean;
}

/**
 * Beside a container called like the workload all others of the pod are sidecars, else those that started as init containers.
 * Metrics do not state which of several containers kubectl takes by default, so otherwise all count.
 */
function sidecarsAmong(
  keys: readonly string[],
  columns: Columns,
  owners: ReadonlyMap<string, PodOwner>,
): ReadonlySet<string> {
  const present = new Set(keys);
  const listed = new Set<string>();
  const listedPods = new Set<string>();
  for (const { labels } of columns.get("containerInfo") ?? []) {
    listed.add(`${podKey(labels)}/${labels["container"] ?? ""}`);
    listedPods.add(podKey(labels));
  }
  const isSidecar = (key: string): boolean => {
    const pod = key.slice(0, key.lastIndexOf("/"));
    const named = `${pod}/${owners.get(pod)?.name ?? ""}`;
    if (present.has(named)) return key !== named;
    return listedPods.has(pod) && !listed.has(key);
  };
  return new Set(keys.filter(isSidecar));
}

function containerWindow(
  { key, pod, id, owner, isSidecar }: Located,
  lookUp: Lookup,
  nodes: NodeColumns,
  index: number,
): ContainerWindow | undefined {
  const cpuUsageCores = lookUp.pod("cpuUsage", key);
  const memoryWorkingSetBytes = lookUp.pod("workingSet", key);
  const node = owner.node === undefined ? undefined : nodes.get(owner.node);
  const own: OwnUse = {
    cpuCores: cpuUsageCores,
    throttledRatio: lookUp.pod("cpuThrottledSeconds", key),
    memoryBytes: memoryWorkingSetBytes,
    receivedBytesPerSecond: lookUp.pod("received", pod),
    sentBytesPerSecond: lookUp.pod("sent", pod),
  };
  const parsed = ContainerWindow.safeParse(
    withoutAbsent({
      id,
      name: key.slice(key.lastIndexOf("/") + 1),
      sidecar: isSidecar ? true : undefined,
      podName: pod.slice(pod.indexOf("/") + 1),
      node: owner.node,
      cpuUsageCores,
      cpuThrottledRatio: throttledRatio(
        lookUp.pod("cpuThrottledPeriods", key),
        lookUp.pod("cpuPeriods", key),
      ),
      cpuRequestCores: lookUp.pod("cpuRequest", key),
      cpuLimitCores: lookUp.pod("cpuLimit", key),
      memoryRequestBytes: lookUp.pod("memoryRequest", key),
      memoryLimitBytes: lookUp.pod("memoryLimit", key),
      memoryWorkingSetBytes,
      interference: node === undefined ? undefined : interference(nodeUse(node, index), own),
    }),
  );
  return parsed.success ? parsed.data : undefined;
}

/** Without a CPU limit there are no periods: nothing was throttled, which is known rather than absent. */
function throttledRatio(throttled: number | undefined, periods: number | undefined): number | undefined {
  if (throttled === undefined || periods === undefined) return undefined;
  return periods > 0 ? Math.min(1, throttled / periods) : 0;
}

function withoutAbsent(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
