import type { ApplicationCost } from "../price/application-cost.ts";
import { podCores, SLACK } from "../price/cost-inputs.ts";
import type { ServiceToSize, TotalLimits } from "../price/cost-inputs.ts";
import type { NodeLeft } from "../../../nodes/node-room.ts";
import { Totals } from "./limits.ts";
import { takesPodsOf } from "./node-headroom.ts";

interface Waiting {
  /** Replicas that serve, or are to have CPU that another service gives up. */
  readonly scheduled: number;
  readonly waiting: number;
}

/** Replicas that stay asked for though no node has CPU left for them, by service. */
export type WaitingPods = ReadonlyMap<string, Waiting>;

/**
 * Which of the replicas that wait for a node would still be worth their price if they served: those stay asked for, so that a node
 * autoscaler goes on seeing them.
 * @param whole the cheapest sizes as if all that is asked for served
 * @param mayGrow nodes come for what waits, so that as many may be asked for as use proves necessary
 */
export function waitingIn(
  services: readonly ServiceToSize[],
  whole: ApplicationCost,
  mayGrow = false,
): WaitingPods {
  return new Map(
    services.flatMap(({ base, floor, name, unscheduled = 0 }, number) => {
      if (unscheduled === 0) return [];
      const scheduled = Math.max(1, base.replicas - unscheduled);
      const { replicas } = whole.sizeOf(number);
      const asked = mayGrow ? Math.max(base.replicas, floor.replicas) : base.replicas;
      const waiting = Math.min(replicas, asked) - scheduled;
      return waiting > 0 ? [[name, { scheduled, waiting }] as const] : [];
    }),
  );
}

/** A service with its waiting replicas left out: the others serve, and more would wait too. */
export function withoutWaiting(service: ServiceToSize, waiting: WaitingPods): ServiceToSize {
  const replicas = waiting.get(service.name)?.scheduled;
  if (replicas === undefined) return service;
  const { base, ceiling, floor } = service;
  return {
    ...service,
    base: { ...base, replicas },
    floor: { ...floor, replicas },
    ceiling: { ...ceiling, replicas },
  };
}

/**
 * Whether pods wait for CPU that no node has left, where pods alone move. A pod that a node has CPU for waits for another reason, such as
 * memory or a taint: what others give up may not help it.
 */
export function isCpuShort(
  services: readonly ServiceToSize[],
  waiting: WaitingPods,
  nodes: readonly NodeLeft[] = [],
): boolean {
  if (nodes.length === 0 || waiting.size === 0) return false;
  return services.every(({ base, name, pods, runningCores = base.cpuCores, stepCpuCores }) => {
    if (stepCpuCores > 0) return false;
    return !waiting.has(name) || podCores(pods, runningCores) > mostLeftFor(name, nodes) + SLACK;
  });
}

const mostLeftFor = (service: string, nodes: readonly NodeLeft[]): number =>
  nodes.reduce((most, node) => (takesPodsOf(node, service) ? Math.max(most, node.leftCores) : most), 0);

/**
 * A service whose pods others may give up for its own, or the other way round. One that was asked for fewer and still runs more goes on
 * giving them up, down to what its load needs: an autoscaler removes a pod only after it was asked for less for minutes on end, so that
 * another giver each window would give nothing.
 */
export function tradeable(service: ServiceToSize, waiting: WaitingPods): ServiceToSize {
  const { base, ceiling, floor, pods } = service;
  const scheduled = waiting.get(service.name)?.scheduled;
  const taken = pods?.taken ?? 0;
  // No more than run: so nodes hold all floors together.
  const leastReplicas = pods === undefined ? floor.replicas : Math.min(floor.replicas, taken);
  const isGiving = scheduled === undefined && taken > base.replicas;
  return {
    ...service,
    base: { ...base, replicas: scheduled ?? base.replicas },
    floor: { ...floor, replicas: leastReplicas },
    ceiling: isGiving ? { ...ceiling, replicas: Math.max(base.replicas, leastReplicas) } : ceiling,
  };
}

/** The replicas that go on waiting after others have given up pods. */
export function stillWaiting(waiting: WaitingPods, serving: ApplicationCost): WaitingPods {
  return new Map(
    serving.services.flatMap(({ name }, number) => {
      const before = waiting.get(name);
      if (before === undefined) return [];
      const { replicas } = serving.sizeOf(number);
      const left = before.scheduled + before.waiting - replicas;
      return left > 0 ? [[name, { scheduled: replicas, waiting: left }] as const] : [];
    }),
  );
}

/**
 * Whether a replica more of some service would lower the cost, were there a node with CPU for it.
 * @param canCome a node can be added: what all nodes have together is no bound then
 */
export function lacksNodes(cost: ApplicationCost, limits: TotalLimits, canCome: boolean): boolean {
  const totals = new Totals(cost, limits);
  const headroom = canCome ? totals : totals.headroom;
  if (headroom === undefined) return false;
  return cost.services.some(({ ceiling }, number) => {
    const size = cost.sizeOf(number);
    const more = { ...size, replicas: size.replicas + 1 };
    if (more.replicas > ceiling.replicas || headroom.allows(number, size, more)) return false;
    return cost.trial(number, more) < -SLACK;
  });
}

/**
 * Adds the replicas that would be worth their price if nodes came, of services of which none waits yet. One that a node has CPU for now is
 * not asked for: it would take what something of more worth is to have. Beyond what use proves necessary they are asked for one at a time:
 * pods of one service that wait first take the node that comes from all others, and what they are for may be over by then.
 * @param serving the cheapest sizes of what nodes hold
 */
export function withCalls(
  waiting: WaitingPods,
  serving: ApplicationCost,
  whole: ApplicationCost,
  { cpuCores: allCores, nodes }: TotalLimits,
): WaitingPods {
  const calls = serving.services.flatMap(({ floor, name, pods, runningCores }, number) => {
    const { cpuCores, replicas } = serving.sizeOf(number);
    const added = Math.min(whole.sizeOf(number).replicas, Math.max(replicas + 1, floor.replicas)) - replicas;
    if (added <= 0 || pods === undefined || waiting.has(name)) return [];
    // A pod starts at the size of those that run: another one is given to it later.
    const cores = podCores(pods, runningCores ?? cpuCores);
    const leftCores = nodes === undefined ? leftOfAll(serving.services, allCores) : mostLeftFor(name, nodes);
    return cores > leftCores + SLACK ? [[name, { scheduled: replicas, waiting: added }] as const] : [];
  });
  return new Map([...waiting, ...calls]);
}

/** CPU that all nodes together have left, cores; none where it is not known what they have. */
const leftOfAll = (services: readonly ServiceToSize[], allCores = 0): number =>
  services.reduce(
    (left, { base, pods, runningCores = base.cpuCores }) =>
      left - (pods?.taken ?? 0) * podCores(pods, runningCores),
    allCores,
  );
