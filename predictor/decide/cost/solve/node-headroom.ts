import type { Size } from "../../facts/size.ts";
import type { NodeLeft } from "../../../nodes/node-room.ts";
import { podCores, SLACK, UNKNOWN_PODS } from "../price/cost-inputs.ts";
import type { PodRoom, ServiceToSize } from "../price/cost-inputs.ts";

/** In place of a node's number: no node has CPU left for the pod. */
const NOWHERE = -1;

/** Whether the node takes new pods of the service. */
export const takesPodsOf = ({ refuses = [], takesPods }: NodeLeft, service: string): boolean =>
  takesPods && !refuses.includes(service);

/** Pods of a service on one node, by the node's number. */
type PodsOnNode = readonly [node: number, pods: number];

/** Pods of a service: those that run, and those that are to start. */
interface PlacedPods extends PodRoom {
  readonly service: string;
  readonly running: readonly PodsOnNode[];
  readonly runningCores: number;
  /** Node of each pod that is to start, in the order in which they were placed. */
  readonly starting: number[];
}

/** By service, in the order of the nodes. */
function podsByService(nodes: readonly NodeLeft[]): ReadonlyMap<string, readonly PodsOnNode[]> {
  const byService = new Map<string, PodsOnNode[]>();
  for (const [node, { pods }] of nodes.entries())
    for (const { pods: count, service } of pods) {
      const placed = byService.get(service) ?? [];
      placed.push([node, count]);
      byService.set(service, placed);
    }
  return byService;
}

/**
 * CPU that the sizes of an application leave on each node, by requests: containers that grow where they run, and pods that start. A pod is
 * expected on the node with the most CPU left, as the scheduler of Kubernetes prefers. What shrinks or stops frees its CPU only once it
 * has: nothing else is given it before.
 */
export class NodeHeadroom {
  /** Once all has grown and started, cores by node. */
  private readonly left: Float64Array;
  /** What containers that grow take, cores by node. */
  private readonly grown: Float64Array;
  private readonly nodes: readonly NodeLeft[];
  private readonly services: readonly PlacedPods[];
  private readonly mayWait: boolean;
  /** Pods to start that no node has CPU left for. */
  private unplaced = 0;

  /**
   * @param sizeOf size of a service, by number
   * @param mayWait pods are asked for whether a node can take them or not
   */
  constructor(
    nodes: readonly NodeLeft[],
    services: readonly ServiceToSize[],
    sizeOf: (service: number) => Size,
    mayWait: boolean,
  ) {
    this.mayWait = mayWait;
    this.left = Float64Array.from(nodes, ({ leftCores }) => leftCores);
    this.grown = new Float64Array(nodes.length);
    this.nodes = nodes;
    const byService = podsByService(nodes);
    this.services = services.map(({ name, pods, runningCores }, number) => {
      const { cpuCores, replicas } = sizeOf(number);
      const taken = { ...UNKNOWN_PODS, taken: replicas, ...pods };
      const running = byService.get(name) ?? [];
      return { ...taken, service: name, running, runningCores: runningCores ?? cpuCores, starting: [] };
    });
    for (const [number, { runningCores, taken }] of this.services.entries()) {
      const size = sizeOf(number);
      const cpuCores = Math.min(size.cpuCores, runningCores);
      this.change(number, { ...size, replicas: taken, cpuCores }, size);
    }
  }

  /** Whether all that grows and starts has CPU on its node. */
  get isKept(): boolean {
    return this.unplaced === 0 && this.left.every((cores) => cores >= -SLACK);
  }

  /** One replica fewer of the service would free CPU where too much is asked for. */
  mayStartFewer(service: number): boolean {
    const { starting } = this.services[service] as PlacedPods;
    return starting.length > 0 && (this.unplaced > 0 || starting.some((node) => this.isOver(node)));
  }

  /** CPU of its containers for less growth on a node where too much is asked for, cores; undefined: none of them is there. */
  leastGrown(service: number): number | undefined {
    const { running, runningCores } = this.services[service] as PlacedPods;
    return running.some(([node]) => this.isOver(node)) ? runningCores : undefined;
  }

  /** CPU that a change to less frees on all nodes together, cores: less growth, or fewer pods to start. */
  freed(service: number, sizeBefore: Size, sizeAfter: Size): number {
    const pods = this.services[service] as PlacedPods;
    const { requestRatio, running, runningCores, taken } = pods;
    const runningCount = running.reduce((sum, [, count]) => sum + count, 0);
    const requestedCores = ({ cpuCores, replicas }: Size): number => {
      const cores = Math.max(cpuCores, runningCores);
      return runningCount * requestRatio * cores + Math.max(0, replicas - taken) * podCores(pods, cores);
    };
    return requestedCores(sizeBefore) - requestedCores(sizeAfter);
  }

  /**
   * Whether nodes have CPU left for what a change adds: those where containers grow, and some node for each pod. Makes the change and
   * undoes it.
   */
  allows(service: number, sizeBefore: Size, sizeAfter: Size): boolean {
    if (sizeAfter.cpuCores <= sizeBefore.cpuCores && sizeAfter.replicas <= sizeBefore.replicas) return true;
    if (this.mayWait && sizeAfter.cpuCores === sizeBefore.cpuCores) return true;
    const { running, starting } = this.services[service] as PlacedPods;
    const unplacedBefore = this.unplaced;
    this.change(service, sizeBefore, sizeAfter);
    const fits =
      this.unplaced <= unplacedBefore &&
      !(sizeAfter.cpuCores > sizeBefore.cpuCores && running.some(([node]) => this.isOver(node))) &&
      !starting.some((node) => this.isOver(node));
    this.change(service, sizeAfter, sizeBefore);
    return fits;
  }

  change(service: number, sizeBefore: Size, sizeAfter: Size): void {
    const pods = this.services[service] as PlacedPods;
    // A pod starts at the size of those that run, which become smaller only much later.
    const cpuCores = Math.max(sizeAfter.cpuCores, pods.runningCores);
    const addedCores = cpuCores - Math.max(sizeBefore.cpuCores, pods.runningCores);
    if (addedCores !== 0) this.grow(pods, addedCores);
    this.start(
      pods,
      this.mayWait ? 0 : Math.max(0, sizeAfter.replicas - pods.taken),
      podCores(pods, cpuCores),
    );
  }

  /** @param addedCores CPU that each container gets, or gives up, cores */
  private grow({ requestRatio, running, starting }: PlacedPods, addedCores: number): void {
    for (const [node, count] of running) {
      const cores = count * requestRatio * addedCores;
      this.take(node, cores);
      this.grown[node] = (this.grown[node] as number) + cores;
    }
    for (const node of starting) this.take(node, requestRatio * addedCores);
  }

  /** Places as many pods to start, or removes those placed last. */
  private start({ service, starting }: PlacedPods, count: number, cores: number): void {
    while (starting.length > count) {
      const node = starting.pop() as number;
      if (node === NOWHERE) this.unplaced -= 1;
      this.take(node, -cores);
    }
    while (starting.length < count) {
      const node = this.nodeFor(cores, service);
      starting.push(node);
      if (node === NOWHERE) this.unplaced += 1;
      this.take(node, cores);
    }
  }

  /** More is asked for on the node than it has left. */
  private isOver(node: number): boolean {
    return node !== NOWHERE && (this.left[node] as number) < -SLACK;
  }

  private take(node: number, cores: number): void {
    if (node !== NOWHERE) this.left[node] = (this.left[node] as number) - cores;
  }

  /**
   * Where a pod may come to run: on the node with the most left, which is another one as long as not all has grown. Of those the one with
   * the least left once it has.
   */
  private nodeFor(cores: number, service: string): number {
    const takes = (node: number): boolean => takesPodsOf(this.nodes[node] as NodeLeft, service);
    let mostLeft = cores;
    for (let node = 0; node < this.left.length; node += 1)
      if (takes(node)) mostLeft = Math.max(mostLeft, this.left[node] as number);
    let best = NOWHERE;
    for (let node = 0; node < this.left.length; node += 1) {
      const left = this.left[node] as number;
      if (!takes(node) || left + (this.grown[node] as number) < mostLeft - SLACK) continue;
      if (best === NOWHERE || left < (this.left[best] as number)) best = node;
    }
    return best;
  }
}
