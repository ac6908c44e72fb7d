import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Prices } from "@tradewind/core/contract/prices.ts";
import type { Inventory } from "@tradewind/core/contract/snapshot.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { nodeClassesOf } from "../node-classes/node-classes.ts";
import type { NodeClasses } from "../node-classes/node-classes.ts";

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
