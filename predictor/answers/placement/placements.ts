import type { Placement } from "@tradewind/core/contract/node-classes.ts";
import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Prices } from "@tradewind/core/contract/prices.ts";
import type { OwnTime } from "../../models/queue/tracked-profile.ts";
import type { ApplicationCost } from "../../decide/cost/price/application-cost.ts";
import { costOfMix } from "../../nodes/class-mix.ts";
import type { Elsewhere, ServiceToSize } from "../../decide/cost/price/cost-inputs.ts";

/** What a service would gain. */
export type PlacementGain = Omit<Placement, "label" | "measured" | "patch" | "workload">;

/** A gain below this share of the latency is not worth a move. */
const LEAST_GAIN = 0.01;

/**
 * What services would gain with all of their pods on nodes of a faster or cheaper class that has room for them, at the sizes that the
 * decision started from and the median load; by what the models of the decision expect. Most saved first.
 */
export function placementsOf(cost: ApplicationCost, prices: Prices): PlacementGain[] {
  const found = [...cost.services.entries()].flatMap(([at, service]) =>
    (service.elsewhere ?? []).flatMap((where) => gainOf(cost, { at, service, where }, prices) ?? []),
  );
  const saved = ({ costPerHour: { now, then } }: PlacementGain): number => now - then;
  const faster = ({ latencySeconds: { now, then } }: PlacementGain): number => now - then;
  return found.sort((a, b) => saved(b) - saved(a) || faster(b) - faster(a));
}

interface Move {
  readonly at: number;
  readonly service: ServiceToSize;
  readonly where: Elsewhere;
}

const logsOf = ({ nodeClasses = {} }: Prices): ReadonlyMap<string, number> =>
  new Map(Object.entries(nodeClasses).map(([nodeClass, ratio]) => [nodeClass, Math.log(ratio)]));

const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };

/** Replicas that slower nodes may take more, where they are cheaper. */
const MOST_TIMES = 2;

/** Undefined where it is neither faster nor cheaper there, does not fit, or would gain next to nothing. */
function gainOf(
  cost: ApplicationCost,
  { at, service, where }: Move,
  prices: Prices,
): PlacementGain | undefined {
  const size = cost.sizeOf(at);
  const routes = cost.routesThrough(at);
  const there = where.mix.get(where.nodeClass) ?? 0;
  const isFitting = (replicas: number): boolean => (replicas - there) * size.cpuCores <= where.roomCores;
  const priceNow = costOfMix(where.mix, logsOf(prices));
  const priceThen = prices.nodeClasses?.[where.nodeClass] ?? 1;
  const isCheaper = priceThen < priceNow;
  if (routes.length === 0 || !(where.log < 0 || isCheaper) || !isFitting(size.replicas)) return undefined;
  const load = cost.loadRatio * service.requestsPerSecond;
  const tailWith = (replicas: number): number => {
    where.own({ ...size, replicas }, load / Math.max(1, replicas), out);
    return out.tailSeconds;
  };
  const ownNow = cost.ownAt(at, size).tailSeconds[0] ?? 0;
  const ownThen = tailWith(size.replicas);
  const slowest = (ownSeconds: number): number =>
    routes.reduce((most, route) => Math.max(most, cost.tailIf(route, at, ownSeconds)), 0);
  const latencySeconds = { now: slowest(ownNow), then: slowest(ownThen) };
  let replicas = size.replicas;
  while (replicas - 1 >= where.leastReplicas && tailWith(replicas - 1) <= ownNow) replicas -= 1;
  const mostTimes = isCheaper ? MOST_TIMES : 1;
  const most = Math.min(service.ceiling.replicas, mostTimes * size.replicas);
  while (replicas < most && tailWith(replicas) > ownNow) replicas += 1;
  const costPerHourPair = {
    now: priceNow * costPerHour(size, prices),
    then: priceThen * costPerHour({ ...size, replicas }, prices),
  };
  const isLess =
    tailWith(replicas) <= ownNow && costPerHourPair.then < (1 - LEAST_GAIN) * costPerHourPair.now;
  const isWorth = isLess || (where.log < 0 && latencySeconds.then < (1 - LEAST_GAIN) * latencySeconds.now);
  if (!isWorth || !isFitting(replicas)) return undefined;
  return {
    service: service.name,
    nodeClass: where.nodeClass,
    cpuRatio: Math.exp(where.log),
    latencySeconds,
    selfTimeSeconds: { now: ownNow, then: ownThen },
    replicas: { now: size.replicas, then: replicas },
    costPerHour: costPerHourPair,
  };
}
