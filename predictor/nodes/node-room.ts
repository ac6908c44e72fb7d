import type { ClassHardware } from "@tradewind/core/contract/node-classes.ts";
import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Prices } from "@tradewind/core/contract/prices.ts";
import type { Inventory } from "@tradewind/core/contract/snapshot.ts";
import type { NodeCapacity, Workload, WorkloadList, WorkloadPod } from "@tradewind/core/contract/workload.ts";
import { classHardware } from "./class-hardware.ts";
import { nodeClassesOf } from "./node-classes.ts";
import type { NodeClasses } from "./node-classes.ts";
import { addsFor, Placement, podsByCpu, podsWithoutCpu, staticRefusal } from "./placement.ts";

/** What a container can be given on a node at most. */
export interface Room {
  readonly cpuCores: number;
  readonly memoryBytes: number;
}

/** What an agent said of its node last. */
interface Seen extends Room {
  readonly seenMs: number;
  readonly inventory?: Inventory;
}

/** CPU that pods leave of a node, by their requests. */
export interface NodeLeft {
  readonly name: string;
  /** Cores. */
  readonly leftCores: number;
  /** Whether it takes new pods of some service of the application. */
  readonly takesPods: boolean;
  /** Services of the application whose pods it does not take; absent where there are none. */
  readonly refuses?: string[] | undefined;
  /** Pods of the application's services on it, those that start among them. */
  readonly pods: { readonly service: string; readonly pods: number }[];
}

/**
 * What pods leave of the CPU of each node, by their requests, cores: all that are bound to it, in any namespace; those of known workloads
 * where no others may be seen.
 */
export function cpuLeft(list: WorkloadList | undefined): ReadonlyMap<string, number> {
  const left = new Map<string, number>();
  const known = new Set<string>();
  for (const { cpuCores, name, taken } of list?.nodes ?? []) {
    if (cpuCores === undefined) continue;
    left.set(name, Math.max(0, cpuCores - (taken?.["cpu"] ?? 0)));
    if (taken !== undefined) known.add(name);
  }
  for (const pod of list?.workloads.flatMap(({ pods }) => pods) ?? []) {
    const cores = known.has(pod.node) ? undefined : left.get(pod.node);
    if (cores !== undefined) left.set(pod.node, Math.max(0, cores - requestedBy(pod)));
  }
  return left;
}

const requestedBy = ({ containers }: WorkloadPod): number =>
  containers.reduce((sum, { cpuRequestCores = 0 }) => sum + cpuRequestCores, 0);

/** Nodes without a pod of the namespace that are told of, for each of its pods and workloads: a decision starts fewer pods than that. */
const NODES_TO_START_ON = 4;

/**
 * What is left of the nodes that pods of a namespace run on or may be started on: of the others those with the most left, since there may be
 * thousands.
 * @param left what pods leave of the CPU of each, cores
 * @returns by name; undefined where the workload source knows no node
 */
export function nodesLeft(
  list: WorkloadList | undefined,
  namespace: string,
  left: ReadonlyMap<string, number>,
): NodeLeft[] | undefined {
  if (list?.nodes === undefined || list.nodes.length === 0) return undefined;
  const workloads = list.workloads.filter((each) => each.namespace === namespace);
  const used = new Map<string, Map<string, number>>();
  for (const { pods, service } of workloads)
    for (const { node } of pods) {
      const here = used.get(node) ?? new Map<string, number>();
      used.set(node, here.set(service, (here.get(service) ?? 0) + 1));
    }
  const services = new Set(workloads.map(({ service }) => service));
  const nodes = list.nodes.flatMap((node): NodeLeft[] => {
    const { name } = node;
    const leftCores = left.get(name);
    if (leftCores === undefined) return [];
    const pods = [...(used.get(name) ?? [])].map(([service, count]) => ({ service, pods: count }));
    const takers = new Set(workloads.filter((each) => isOpenTo(node, each)).map(({ service }) => service));
    const refuses = [...services].filter((service) => !takers.has(service));
    const isSplit = takers.size > 0 && refuses.length > 0;
    return [
      { name, leftCores, takesPods: node.schedulable && takers.size > 0, pods, ...(isSplit && { refuses }) },
    ];
  });
  const pods = workloads.reduce((sum, each) => sum + each.pods.length, 0);
  const others = nodes
    .filter(({ name, takesPods }) => takesPods && !used.has(name))
    .sort((a, b) => b.leftCores - a.leftCores || (a.name < b.name ? -1 : 1))
    .slice(0, NODES_TO_START_ON * (pods + workloads.length));
  return [...nodes.filter(({ name }) => used.has(name)), ...others].sort((a, b) =>
    a.name < b.name ? -1 : 1,
  );
}

/** Whether the node takes pods of the workload but for their CPU: what is not known does not speak against it. */
const isOpenTo = (node: NodeCapacity, { placing }: Workload): boolean =>
  placing === undefined
    ? node.schedulable
    : staticRefusal(node, placing) === undefined && podsWithoutCpu(node, placing) > 0;

/** Nodes that are for pods of some workload of the namespace; those that take pods where none is known. */
export function nodesFor(
  list: WorkloadList | undefined,
  namespace: string | undefined,
): readonly NodeCapacity[] {
  const { nodes = [], workloads = [] } = list ?? {};
  const own = workloads.filter((each) => each.namespace === namespace);
  return nodes.filter((node) =>
    own.length === 0 ? node.schedulable : own.some((each) => isPlaceOf(node, each)),
  );
}

/** Whether it is a node for pods of the workload at all. */
const isPlaceOf = (node: NodeCapacity, { placing }: Workload): boolean =>
  placing === undefined ? node.schedulable : staticRefusal(node, placing) === undefined;

/** What pods of all but these workloads leave of a node. */
function besideOthers(
  { name, taken }: NodeCapacity,
  { cpuCores, memoryBytes }: Room,
  workloads: readonly Workload[],
): Room {
  const own = workloads.flatMap(({ pods }) => pods.filter(({ node }) => node === name));
  const ownBytes = own
    .flatMap(({ containers }) => containers)
    .reduce((sum, { memoryRequestBytes = 0 }) => sum + memoryRequestBytes, 0);
  const ownCores = own.reduce((sum, pod) => sum + requestedBy(pod), 0);
  const { cpu = ownCores, memory = ownBytes } = taken ?? {};
  return {
    cpuCores: rounded(cpuCores - Math.max(0, cpu - ownCores)),
    memoryBytes: rounded(memoryBytes - Math.max(0, memory - ownBytes)),
  };
}

/** Rounds what sums of fractions leave. */
const DIGITS = 1e9;

const rounded = (value: number): number => Math.max(0, Math.round(value * DIGITS) / DIGITS);

const together = (one: Room, other: Room): Room => ({
  cpuCores: one.cpuCores + other.cpuCores,
  memoryBytes: one.memoryBytes + other.memoryBytes,
});

/**
 * What pods of these workloads can take of a node more than they have, cores. On a node that has none of them the next pod has to fit: less is
 * of use to nobody.
 */
function usableCores(
  node: NodeCapacity,
  leftCores: number,
  workloads: readonly Workload[],
  isUsed: boolean,
): number {
  if (workloads.length === 0) return node.schedulable ? leftCores : 0;
  return workloads.reduce((most, each) => {
    const { placing } = each;
    if (!isOpenTo(node, each)) return most;
    const { cpu = 0 } = placing?.requests ?? {};
    if (placing === undefined || cpu === 0) return Math.max(most, leftCores);
    if (!isUsed && cpu > leftCores * (1 + 1 / DIGITS)) return most;
    return Math.max(most, Math.min(leftCores, cpu * podsWithoutCpu(node, placing)));
  }, 0);
}

/** Pods more of a service that are told apart from any number. */
const MOST_PODS_MORE = 64;

/**
 * How many pods more nodes take of services that other things than CPU keep from it: rules of their pods, slots and memory of others, nodes
 * that are not for them. Slots and memory that the namespace's other services have are theirs to give up. Nothing of a service where not all
 * pods on the nodes are known, or an autoscaler can add a node for it.
 */
export function podsMore(list: WorkloadList | undefined, namespace: string): Map<string, number> {
  const { nodeGroups = [], nodes = [], workloads = [] } = list ?? {};
  const fits = new Map<string, number>();
  if (nodes.length === 0 || nodes.some(({ taken }) => taken?.["pods"] === undefined)) return fits;
  const own = workloads.filter((each) => each.namespace === namespace);
  const placement = new Placement(nodes);
  const open = nodesFor(list, namespace);
  let withOnly: ReturnType<typeof nodesWithOnly> | undefined;
  for (const [service, ofService] of Map.groupBy(own, (each) => each.service)) {
    const placings = ofService.flatMap(({ placing }) => placing ?? []);
    if (placings.length < ofService.length) continue;
    if (placings.some((placing) => nodeGroups.some((group) => addsFor(group, placing)))) continue;
    const fitsIn = (where: Placement): number =>
      Math.max(...placings.map((placing) => where.fits(placing, MOST_PODS_MORE)));
    const byCpu = Math.max(...placings.map((placing) => podsByCpu(open, placing)));
    const most = Math.min(MOST_PODS_MORE, byCpu);
    if (fitsIn(placement) >= most) continue;
    withOnly ??= nodesWithOnly(nodes, own);
    const pods = fitsIn(new Placement(withOnly(service)));
    if (pods < most) fits.set(service, pods);
  }
  return fits;
}

/** What a pod takes of its node. */
interface TakenByPod {
  readonly node: string;
  readonly service: string;
  readonly requests: readonly (readonly [resource: string, amount: number])[];
}

/** The nodes as if of these workloads' pods only those of one service were on them. */
function nodesWithOnly(
  nodes: readonly NodeCapacity[],
  workloads: readonly Workload[],
): (service: string) => readonly NodeCapacity[] {
  const taken = workloads.flatMap(({ placing, pods, service }): TakenByPod[] => {
    const requests = [...Object.entries(placing?.requests ?? {}), ["pods", 1] as const];
    return pods.map(({ node }) => ({ node, service, requests }));
  });
  const byNode = Map.groupBy(taken, ({ node }) => node);
  const byService = Map.groupBy(taken, ({ service }) => service);
  const emptied = nodes.map((node) => changedBy(node, byNode.get(node.name) ?? [], -1));
  return (service) => {
    const own = Map.groupBy(byService.get(service) ?? [], ({ node }) => node);
    return emptied.map((node) => changedBy(node, own.get(node.name) ?? [], 1));
  };
}

function changedBy(node: NodeCapacity, pods: readonly TakenByPod[], sign: 1 | -1): NodeCapacity {
  if (pods.length === 0) return node;
  const taken = { ...node.taken };
  for (const { requests } of pods)
    for (const [name, amount] of requests) taken[name] = Math.max(0, (taken[name] ?? 0) + sign * amount);
  return { ...node, taken };
}

/**
 * CPU that autoscalers can add for pods of a namespace, cores: of one node at a time. Asked for all at once, what waits takes each node in the
 * order in which it was asked for, not by what it is worth.
 * @returns undefined where nothing adds nodes
 */
export function coresToCome(list: WorkloadList | undefined, namespace: string): number | undefined {
  const { nodeGroups = [], workloads = [] } = list ?? {};
  const placings = workloads.flatMap((each) => (each.namespace === namespace ? (each.placing ?? []) : []));
  const usual = nodesFor(list, namespace).reduce((most, { cpuCores = 0 }) => Math.max(most, cpuCores), 0);
  const cores = nodeGroups
    .filter((group) => placings.some((placing) => addsFor(group, placing)))
    .map(({ left, node }) => Math.min(left["cpu"] ?? Infinity, node?.["cpu"] ?? usual));
  const most = Math.max(0, ...cores);
  return most > 0 ? most : undefined;
}

/** A node whose agent has said nothing for so long is taken to be gone. */
const GONE_MS = 10 * 60_000;
/** As many nodes as a workload list may have. */
const MOST_NODES = 20_000;

/**
 * How large a container may be to fit on some node, and what all nodes have together: by what the workload source says of the nodes, else by the capacity of
 * the nodes whose agents report. Neither knows nodes that an autoscaler could still add.
 */
export class NodeRoom {
  private readonly nodes = new Map<string, Seen>();

  /** An agent has told the capacity of its node, and its inventory where it has one. */
  seen(node: string, { cpuCores, memoryBytes }: Room, nowMs: number, inventory?: Inventory): void {
    if (!this.nodes.has(node) && this.nodes.size >= MOST_NODES) return;
    this.nodes.set(node, { cpuCores, memoryBytes, seenMs: nowMs, ...(inventory && { inventory }) });
  }

  /**
   * The one node that takes pods of the namespace worth most at the application's prices, so that what fits its CPU and its memory fits somewhere.
   * @returns undefined where no node that takes pods is known
   */
  largest(
    list: WorkloadList | undefined,
    prices: Prices,
    nowMs: number,
    namespace?: string,
  ): Room | undefined {
    const [largest] = this.roomsOf(list, nowMs, namespace).sort(
      (a, b) =>
        costPerHour(b, prices) - costPerHour(a, prices) ||
        b.cpuCores - a.cpuCores ||
        b.memoryBytes - a.memoryBytes,
    );
    return largest;
  }

  /**
   * What pods of a namespace may request together, cores: what they have, and what nodes have left that take more of them. Pods of others,
   * taken slots and memory, taints and selectors leave less of a node than its CPU.
   * @param left what pods leave of the CPU of each node, cores
   * @returns undefined where no node is known
   */
  total(
    list: WorkloadList | undefined,
    left: ReadonlyMap<string, number>,
    namespace: string,
    nowMs: number,
  ): Room | undefined {
    if (list?.nodes === undefined || list.nodes.length === 0) {
      const rooms = this.roomsOf(list, nowMs);
      return rooms.length === 0 ? undefined : rooms.reduce(together);
    }
    const workloads = list.workloads.filter((each) => each.namespace === namespace);
    const held = new Map<string, number>();
    for (const pod of workloads.flatMap(({ pods }) => pods))
      held.set(pod.node, (held.get(pod.node) ?? 0) + requestedBy(pod));
    const rooms = list.nodes.flatMap((node): Room[] => {
      const { cpuCores = 0, memoryBytes = 0, name } = node;
      if (!(cpuCores > 0 && memoryBytes > 0)) return [];
      const own = held.get(name) ?? 0;
      const more = usableCores(node, left.get(name) ?? 0, workloads, held.has(name));
      return own + more > 0 ? [{ cpuCores: own + more, memoryBytes }] : [];
    });
    if (rooms.length === 0) return undefined;
    const { cpuCores, memoryBytes } = rooms.reduce(together);
    return { cpuCores: rounded(cpuCores), memoryBytes };
  }

  /** Class of each node by what the workload source and agents say of it; see {@link nodeClassesOf}. */
  classes(list: WorkloadList | undefined, wereMixed: boolean): NodeClasses {
    return nodeClassesOf(list, this.nodes, wereMixed);
  }

  /** Storage and network of classes, as agents have read them. */
  hardware(classes: NodeClasses): ReadonlyMap<string, ClassHardware> {
    return classHardware(classes, this.nodes);
  }

  private roomsOf(list: WorkloadList | undefined, nowMs: number, namespace?: string): Room[] {
    if (list?.nodes !== undefined && list.nodes.length > 0) {
      const workloads = list.workloads.filter((each) => each.namespace === namespace);
      return nodesFor(list, namespace).flatMap((node) => {
        const { cpuCores = 0, memoryBytes = 0 } = node;
        return cpuCores > 0 && memoryBytes > 0
          ? [besideOthers(node, { cpuCores, memoryBytes }, workloads)]
          : [];
      });
    }
    for (const [node, { seenMs }] of this.nodes) if (nowMs - seenMs > GONE_MS) this.nodes.delete(node);
    return [...this.nodes.values()].map(({ cpuCores, memoryBytes }) => ({ cpuCores, memoryBytes }));
  }
}
