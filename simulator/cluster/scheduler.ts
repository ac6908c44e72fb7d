import type { Agenda } from "../engine/agenda.ts";
import type { ClusterModel } from "../model/plant-model.ts";
import { NOTHING } from "./ledger.ts";
import { ClusterNode } from "./node.ts";
import type { Pod } from "./pod.ts";

/** How often empty nodes are looked for. */
const LOOK_MS = 10_000;

export interface SchedulerParts {
  readonly model: ClusterModel;
  readonly agenda: Agenda;
  readonly now: () => number;
  /** A node took the pod. */
  readonly onPlaced: (pod: Pod) => void;
  /** A node came or went. */
  readonly onNode: (node: ClusterNode) => void;
}

/** Puts pods on nodes, the one with the most left first; pods that fit nowhere wait in order, and may get a new node. */
export class Scheduler {
  /** Every node that ever was, by its number. */
  readonly nodes: ClusterNode[] = [];
  /** Nodes that take pods. */
  readonly present = new Set<ClusterNode>();
  /** Allocatable cores times seconds of nodes, until `coreSecondsMs`. */
  private coreSeconds = 0;
  private coreSecondsMs = 0;
  private readonly pending: Pod[] = [];
  private nodesStarting = 0;
  readonly model: ClusterModel;
  private readonly parts: SchedulerParts;

  constructor(parts: SchedulerParts) {
    this.parts = parts;
    this.model = parts.model;
    for (let index = 0; index < parts.model.nodes; index += 1) this.addNode();
    if (parts.model.nodeAutoscaler !== undefined) this.watchEmptyNodes();
  }

  /** Nodes that an autoscaler may still add. */
  get nodesToCome(): number {
    return Math.max(0, (this.model.nodeAutoscaler?.maxNodes ?? 0) - this.present.size);
  }

  nodeCoreSeconds(nowMs: number): number {
    let cores = 0;
    for (const node of this.present) cores += node.cores;
    return this.coreSeconds + (cores * (nowMs - this.coreSecondsMs)) / 1e3;
  }

  add(pod: Pod): void {
    if (!this.place(pod)) {
      this.pending.push(pod);
      this.wantNode();
    }
  }

  /** The pod is gone, or waits no longer. */
  remove(pod: Pod): void {
    const waiting = this.pending.indexOf(pod);
    if (waiting !== -1) this.pending.splice(waiting, 1);
    pod.node?.change(pod.holding, NOTHING, this.parts.now());
    pod.node = undefined;
    this.retry();
  }

  /** Places what waits, the oldest first, after something was freed. */
  retry(): void {
    for (let at = 0; at < this.pending.length;) {
      const pod = this.pending[at];
      if (pod !== undefined && this.place(pod)) this.pending.splice(at, 1);
      else at += 1;
    }
  }

  lose(node: ClusterNode): void {
    node.lost = true;
    this.drop(node);
  }

  private place(pod: Pod): boolean {
    const wanted = pod.holdingAt(pod.size);
    let best: ClusterNode | undefined;
    let bestScore = -Infinity;
    for (const node of this.present) {
      if (!node.fits(wanted)) continue;
      const score = node.scoreWith(wanted) + (node.kind?.preference ?? 0);
      if (score > bestScore) {
        best = node;
        bestScore = score;
      }
    }
    if (best === undefined) return false;
    best.change(NOTHING, wanted, this.parts.now());
    pod.node = best;
    this.parts.onPlaced(pod);
    return true;
  }

  private addNode(): void {
    const { model, now, onNode } = this.parts;
    this.countCores();
    const node = new ClusterNode(this.nodes.length, model, now());
    this.nodes.push(node);
    this.present.add(node);
    onNode(node);
  }

  private drop(node: ClusterNode): void {
    this.countCores();
    this.present.delete(node);
    this.parts.onNode(node);
  }

  private countCores(): void {
    const nowMs = this.parts.now();
    this.coreSeconds = this.nodeCoreSeconds(nowMs);
    this.coreSecondsMs = nowMs;
  }

  /** One node at a time: the next one is asked for when pods still wait once it is there. */
  private wantNode(): void {
    const { agenda, model, now } = this.parts;
    const autoscaler = model.nodeAutoscaler;
    if (autoscaler === undefined || this.nodesStarting > 0 || this.present.size >= autoscaler.maxNodes)
      return;
    this.nodesStarting += 1;
    agenda.at(now() + 1e3 * autoscaler.startSeconds, () => {
      this.nodesStarting -= 1;
      this.addNode();
      this.retry();
      if (this.pending.length > 0) this.wantNode();
    });
  }

  private watchEmptyNodes(): void {
    const { agenda, model, now } = this.parts;
    const nowMs = now();
    const idleMs = 1e3 * (model.nodeAutoscaler?.idleSeconds ?? Infinity);
    for (const node of [...this.present].reverse()) {
      if (this.present.size <= model.nodes) break;
      if (node.isEmpty && nowMs - node.emptySinceMs >= idleMs) this.drop(node);
    }
    agenda.at(nowMs + LOOK_MS, () => this.watchEmptyNodes());
  }
}
