import type { Observation } from "../../facts/observation.ts";
import type { ApplicationCost } from "../price/application-cost.ts";
import { SLACK } from "../price/cost-inputs.ts";
import type { ServiceToSize } from "../price/cost-inputs.ts";
import type { NodeLeft } from "../../../nodes/node-room.ts";
import { Totals } from "./limits.ts";
import type { TotalLimits } from "./limits.ts";
import { podCores, takesPodsOf } from "./node-rooms.ts";

interface Waiting {
  /** Replicas that serve, or are to take room that another service gives up. */
  readonly scheduled: number;
  readonly waiting: number;
}

/** Replicas that stay asked for though no node has room for them, by service. */
export type Unscheduled = ReadonlyMap<string, Waiting>;

/**
 * Which of the replicas that wait for room would still be worth their price if they served: those stay asked for, so that
 * whoever adds nodes goes on seeing them.
 * @param whole the cheapest sizes as if all that is asked for served
 * @param mayGrow nodes come for what waits, so that more may be asked for
 */
export function unscheduledIn(
  observations: readonly Observation[],
  whole: ApplicationCost,
  mayGrow = false,
): Unscheduled {
  const scheduledOf = new Map(
    observations.flatMap(({ baseReplicas, service, unscheduled }): [string, number][] =>
      unscheduled > 0 ? [[service, Math.max(1, baseReplicas - unscheduled)]] : [],
    ),
  );
  return new Map(
    whole.services.flatMap(({ base, name }, at) => {
      const scheduled = scheduledOf.get(name);
      if (scheduled === undefined) return [];
      const { replicas } = whole.sizeOf(at);
      const waiting = (mayGrow ? replicas : Math.min(base.replicas, replicas)) - scheduled;
      return waiting > 0 ? [[name, { scheduled, waiting }] as const] : [];
    }),
  );
}

/** A service as it is while replicas of it wait: the others serve, and more would wait like them. */
export function withoutUnscheduled(service: ServiceToSize, unscheduled: Unscheduled): ServiceToSize {
  const replicas = unscheduled.get(service.name)?.scheduled;
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
 * Whether pods wait for CPU that no node has left, where pods alone move. Room that one of them would fit is missing for another reason, such as
 * memory or a taint, and what others give up may be of no use to it.
 */
export function isRoomShort(
  services: readonly ServiceToSize[],
  unscheduled: Unscheduled,
  nodes: readonly NodeLeft[] = [],
): boolean {
  if (nodes.length === 0 || unscheduled.size === 0) return false;
  return services.every(({ base, name, pods, runningCores = base.cpuCores, stepCpuCores }) => {
    if (stepCpuCores > 0) return false;
    return !unscheduled.has(name) || podCores(pods, runningCores) > mostLeftFor(name, nodes) + SLACK;
  });
}

const mostLeftFor = (service: string, nodes: readonly NodeLeft[]): number =>
  nodes.reduce((most, node) => (takesPodsOf(node, service) ? Math.max(most, node.leftCores) : most), 0);

/** A service as it is while replicas of it wait that may take the room of others. */
export function tradeable(service: ServiceToSize, unscheduled: Unscheduled): ServiceToSize {
  const { base, floor, pods } = service;
  const replicas = unscheduled.get(service.name)?.scheduled ?? base.replicas;
  // No more than run: so all floors together have room.
  const least = Math.min(floor.replicas, pods?.taken ?? floor.replicas);
  return { ...service, base: { ...base, replicas }, floor: { ...floor, replicas: least } };
}

/** The replicas that go on waiting where others are to take the room of those that stop. */
export function stillUnscheduled(unscheduled: Unscheduled, serving: ApplicationCost): Unscheduled {
  return new Map(
    serving.services.flatMap(({ name }, at) => {
      const one = unscheduled.get(name);
      if (one === undefined) return [];
      const { replicas } = serving.sizeOf(at);
      const waiting = one.scheduled + one.waiting - replicas;
      return waiting > 0 ? [[name, { scheduled: replicas, waiting }] as const] : [];
    }),
  );
}

/**
 * Whether a replica more of some service would lower the cost, were there a node with room for it.
 * @param canCome a node can be added: what all nodes have together is no bound then
 */
export function lacksRoom(cost: ApplicationCost, limits: TotalLimits, canCome: boolean): boolean {
  const totals = new Totals(cost, limits);
  const rooms = canCome ? totals : totals.rooms;
  if (rooms === undefined) return false;
  return cost.services.some(({ ceiling }, at) => {
    const size = cost.sizeOf(at);
    const more = { ...size, replicas: size.replicas + 1 };
    if (more.replicas > ceiling.replicas || rooms.allows(at, size, more)) return false;
    return cost.trial(at, more) < -SLACK;
  });
}

/**
 * Adds the replicas that would be worth their price if nodes came, of services of which none waits yet. One that a node has room for now is not
 * asked for: it would take what something that is worth more is to have.
 * @param serving the cheapest sizes of what nodes have room for
 */
export function withCalls(
  unscheduled: Unscheduled,
  serving: ApplicationCost,
  whole: ApplicationCost,
  { nodes = [] }: TotalLimits,
): Unscheduled {
  const calls = serving.services.flatMap(({ name, pods, runningCores }, at) => {
    const { cpuCores, replicas } = serving.sizeOf(at);
    const waiting = whole.sizeOf(at).replicas - replicas;
    if (waiting <= 0 || pods === undefined || unscheduled.has(name)) return [];
    // A pod starts at the size of those that run: another one is given to it later.
    const takes = podCores(pods, runningCores ?? cpuCores);
    return takes > mostLeftFor(name, nodes) + SLACK
      ? [[name, { scheduled: replicas, waiting }] as const]
      : [];
  });
  return new Map([...unscheduled, ...calls]);
}
