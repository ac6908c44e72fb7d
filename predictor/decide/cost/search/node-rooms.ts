import type { Size } from "../../facts/size.ts";
import type { NodeLeft } from "../../../nodes/node-room.ts";
import { SLACK } from "../price/cost-inputs.ts";
import type { PodRoom, ServiceToSize } from "../price/cost-inputs.ts";

/** In place of a node: none has room. */
const NOWHERE = -1;

/** Where nothing is known of the pods of a service: none runs, and they request all of their size. */
const UNKNOWN_PODS: PodRoom = { taken: 0, requestRatio: 1, sidecarCores: 0 };

/** What one pod requests that has a container of so much CPU, cores. */
export const podCores = ({ requestRatio, sidecarCores }: PodRoom = UNKNOWN_PODS, cpuCores: number): number =>
  requestRatio * cpuCores + sidecarCores;

/** Whether the node takes new pods of the service. */
export const takesPodsOf = ({ refuses = [], takesPods }: NodeLeft, service: string): boolean =>
  takesPods && !refuses.includes(service);

/** The pods of a service on the nodes. */
interface Lying extends PodRoom {
  readonly name: string;
  /** Nodes that have taken its pods, and how many each. */
  readonly on: readonly (readonly [node: number, pods: number])[];
  readonly runningCores: number;
  /** Node of each pod that is to start, in the order in which they were placed. */
  readonly starting: number[];
}

function lyingOf(
  { name, pods, runningCores }: ServiceToSize,
  { cpuCores, replicas }: Size,
  on: Lying["on"] = [],
): Lying {
  return {
    ...UNKNOWN_PODS,
    taken: replicas,
    ...pods,
    name,
    runningCores: runningCores ?? cpuCores,
    on,
    starting: [],
  };
}

/** By service, in the order of the nodes. */
function podsOn(nodes: readonly NodeLeft[]): ReadonlyMap<string, Lying["on"]> {
  const on = new Map<string, (readonly [number, number])[]>();
  for (const [node, { pods: here }] of nodes.entries())
    for (const { pods, service } of here) {
      const known = on.get(service);
      if (known === undefined) on.set(service, [[node, pods]]);
      else known.push([node, pods]);
    }
  return on;
}

/**
 * What the sizes of an application take of the room on each node: containers that are made larger where they run, and pods that
 * start. Each of those is expected on the node with the most left, as the scheduler of Kubernetes prefers. What becomes smaller or
 * stops leaves its room only once it has: until then nobody else can have it.
 */
export class NodeRooms {
  /** Once all has grown and started, cores. */
  private readonly left: Float64Array;
  /** Of that what containers that grow take. */
  private readonly grown: Float64Array;
  private readonly nodes: readonly NodeLeft[];
  private readonly services: readonly Lying[];
  private readonly mayWait: boolean;
  private nowhere = 0;

  /**
   * @param sizeOf size of a service, by number
   * @param mayWait pods that start take no room: they are asked for whether a node has any or not
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
    const on = podsOn(nodes);
    this.services = services.map((each, at) => lyingOf(each, sizeOf(at), on.get(each.name)));
    for (const at of services.keys()) {
      const size = sizeOf(at);
      const { runningCores, taken } = this.services[at] as Lying;
      this.change(at, { ...size, replicas: taken, cpuCores: Math.min(size.cpuCores, runningCores) }, size);
    }
  }

  /** Whether all that grows and starts has room. */
  get isKept(): boolean {
    return this.nowhere === 0 && this.left.every((cores) => cores >= -SLACK);
  }

  /** One replica fewer of the service would leave room for what has none. */
  mayStartFewer(service: number): boolean {
    const { starting } = this.services[service] as Lying;
    return starting.length > 0 && (this.nowhere > 0 || starting.some((node) => this.isOver(node)));
  }

  /** What its containers may be at least for the same to grow less where there is no room; undefined: they take none there. */
  leastGrown(service: number): number | undefined {
    const { on, runningCores } = this.services[service] as Lying;
    return on.some(([node]) => this.isOver(node)) ? runningCores : undefined;
  }

  /** What a change to less leaves of the room of all nodes together, cores: less growth, or fewer pods to start. */
  freed(service: number, from: Size, to: Size): number {
    const each = this.services[service] as Lying;
    const { on, requestRatio, runningCores, taken } = each;
    const running = on.reduce((sum, [, pods]) => sum + pods, 0);
    const takenBy = ({ cpuCores, replicas }: Size): number => {
      const cores = Math.max(cpuCores, runningCores);
      return running * requestRatio * cores + Math.max(0, replicas - taken) * podCores(each, cores);
    };
    return takenBy(from) - takenBy(to);
  }

  /** Whether what a change adds has room: on the nodes where containers grow, and on some node for each pod more. */
  allows(service: number, from: Size, to: Size): boolean {
    if (to.cpuCores <= from.cpuCores && to.replicas <= from.replicas) return true;
    const each = this.services[service] as Lying;
    const before = this.nowhere;
    this.change(service, from, to);
    const fits =
      this.nowhere <= before &&
      !(to.cpuCores > from.cpuCores && each.on.some(([node]) => this.isOver(node))) &&
      !each.starting.some((node) => this.isOver(node));
    this.change(service, to, from);
    return fits;
  }

  change(service: number, from: Size, to: Size): void {
    const each = this.services[service] as Lying;
    const { on, requestRatio, runningCores, starting, taken } = each;
    // A pod starts at the size of those that run, which become smaller only much later.
    const cpuCores = Math.max(to.cpuCores, runningCores);
    const grown = cpuCores - Math.max(from.cpuCores, runningCores);
    if (grown !== 0)
      for (const [node, pods] of on) {
        const more = pods * requestRatio * grown;
        this.take(node, more);
        this.grown[node] = (this.grown[node] as number) + more;
      }
    if (grown !== 0) for (const node of starting) this.take(node, requestRatio * grown);
    const cores = podCores(each, cpuCores);
    const starts = this.mayWait ? 0 : Math.max(0, to.replicas - taken);
    while (starting.length > starts) {
      const node = starting.pop() as number;
      if (node === NOWHERE) this.nowhere -= 1;
      this.take(node, -cores);
    }
    while (starting.length < starts) {
      const node = this.nodeFor(cores, each.name);
      starting.push(node);
      if (node === NOWHERE) this.nowhere += 1;
      this.take(node, cores);
    }
  }

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
  private nodeFor(podCores: number, service: string): number {
    const takes = (node: number): boolean => takesPodsOf(this.nodes[node] as NodeLeft, service);
    let most = podCores;
    for (let node = 0; node < this.left.length; node += 1)
      if (takes(node)) most = Math.max(most, this.left[node] as number);
    let best = NOWHERE;
    for (let node = 0; node < this.left.length; node += 1) {
      const left = this.left[node] as number;
      if (!takes(node) || left + (this.grown[node] as number) < most - SLACK) continue;
      if (best === NOWHERE || left < (this.left[best] as number)) best = node;
    }
    return best;
  }
}
