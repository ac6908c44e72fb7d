import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Prices } from "@tradewind/core/contract/prices.ts";
import type { Inventory } from "@tradewind/core/contract/snapshot.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { nodeClassesOf } from "./node-classes.ts";
import type { NodeClasses } from "./node-classes.ts";

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
  /** Whether it takes new pods. */
  readonly takesPods: boolean;
  /** Pods of the application's services on it, those that start among them. */
  readonly pods: { readonly service: string; readonly pods: number }[];
}

/** What pods that are known leave of the CPU of each node, by their requests, cores. */
export function cpuLeft(list: WorkloadList | undefined): ReadonlyMap<string, number> {
  const left = new Map<string, number>();
  for (const { cpuCores, name } of list?.nodes ?? []) if (cpuCores !== undefined) left.set(name, cpuCores);
  for (const { containers, node } of list?.workloads.flatMap(({ pods }) => pods) ?? []) {
    const cores = left.get(node);
    if (cores === undefined) continue;
    const requested = containers.reduce((sum, { cpuRequestCores = 0 }) => sum + cpuRequestCores, 0);
    left.set(node, Math.max(0, cores - requested));
  }
  return left;
}

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
  const nodes = list.nodes.flatMap(({ name, schedulable }): NodeLeft[] => {
    const leftCores = left.get(name);
    if (leftCores === undefined) return [];
    const pods = [...(used.get(name) ?? [])].map(([service, count]) => ({ service, pods: count }));
    return [{ name, leftCores, takesPods: schedulable, pods }];
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
   * The one node worth most at the application's prices, so that what fits its CPU and its memory fits somewhere.
   * @returns undefined where no node that takes pods is known
   */
  largest(list: WorkloadList | undefined, prices: Prices, nowMs: number): Room | undefined {
    const [largest] = this.roomsOf(list, nowMs).sort(
      (a, b) =>
        costPerHour(b, prices) - costPerHour(a, prices) ||
        b.cpuCores - a.cpuCores ||
        b.memoryBytes - a.memoryBytes,
    );
    return largest;
  }

  /** What all nodes that take pods have together; undefined where none is known. */
  total(list: WorkloadList | undefined, nowMs: number): Room | undefined {
    const rooms = this.roomsOf(list, nowMs);
    if (rooms.length === 0) return undefined;
    return {
      cpuCores: rooms.reduce((sum, { cpuCores }) => sum + cpuCores, 0),
      memoryBytes: rooms.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
    };
  }

  /** Class of each node by what the workload source and agents say of it; see {@link nodeClassesOf}. */
  classes(list: WorkloadList | undefined, wereMixed: boolean): NodeClasses {
    return nodeClassesOf(list, this.nodes, wereMixed);
  }

  private roomsOf(list: WorkloadList | undefined, nowMs: number): Room[] {
    if (list?.nodes !== undefined && list.nodes.length > 0) {
      return list.nodes.flatMap(({ schedulable, cpuCores = 0, memoryBytes = 0 }) =>
        schedulable && cpuCores > 0 && memoryBytes > 0 ? [{ cpuCores, memoryBytes }] : [],
      );
    }
    for (const [node, { seenMs }] of this.nodes) if (nowMs - seenMs > GONE_MS) this.nodes.delete(node);
    return [...this.nodes.values()].map(({ cpuCores, memoryBytes }) => ({ cpuCores, memoryBytes }));
  }
}
