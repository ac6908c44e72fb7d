import { roundedDown } from "../../facts/size.ts";
import type { Size } from "../../facts/size.ts";
import type { ApplicationCost } from "../price/application-cost.ts";
import { SLACK } from "../price/cost-inputs.ts";
import { LARGE } from "./descend-together.ts";
import { Totals } from "./limits.ts";
import type { TotalLimits } from "./limits.ts";
import type { NodeRooms } from "./node-rooms.ts";

interface Change {
  readonly service: number;
  readonly size: Size;
  /** What it does to the cost, per hour. */
  readonly change: number;
}

/**
 * Takes back what would start or grow, where that costs least a core, until all of it has room on its node. What runs stays. In a large
 * application all growth on a node with too little room is taken back at once: steps find out what it is worth most for.
 */
export function fitNodes(cost: ApplicationCost, limits: TotalLimits): void {
  if (cost.services.length >= LARGE) return fitLarge(cost, limits);
  for (;;) {
    const { rooms } = new Totals(cost, limits);
    if (rooms === undefined || rooms.isKept) return;
    let best: { readonly service: number; readonly size: Size } | undefined;
    let least = Number.POSITIVE_INFINITY;
    const consider = (service: number, size: Size): void => {
      const freed = rooms.freed(service, cost.sizeOf(service), size);
      if (freed <= 0) return;
      const change = cost.trial(service, size) / freed;
      if (change >= least) return;
      least = change;
      best = { service, size };
    };
    for (const [service, { stepCpuCores }] of cost.services.entries()) {
      const size = cost.sizeOf(service);
      if (rooms.mayStartFewer(service)) consider(service, { ...size, replicas: size.replicas - 1 });
      const leastCores = rooms.leastGrown(service) ?? size.cpuCores;
      if (stepCpuCores > 0 && leastCores < size.cpuCores - SLACK)
        consider(service, { ...size, cpuCores: Math.max(leastCores, size.cpuCores - stepCpuCores) });
    }
    if (best === undefined) return;
    cost.set(best.service, best.size);
  }
}

function fitLarge(cost: ApplicationCost, limits: TotalLimits): void {
  const { rooms } = new Totals(cost, limits);
  if (rooms === undefined || rooms.isKept) return;
  const sizes = cost.services.map((_, service) => {
    const size = cost.sizeOf(service);
    return { ...size, cpuCores: Math.min(size.cpuCores, rooms.leastGrown(service) ?? Infinity) };
  });
  for (const [service, size] of sizes.entries()) cost.set(service, size);
}

/**
 * Takes one change for which there is no room, and takes back what costs least until there is, where that lowers the cost in all: what
 * grows and what starts compete for the same room. Never in a large application, where that takes minutes.
 * @param most changes that are tried, those that would lower the cost most first
 * @returns whether one did
 */
export function exchange(cost: ApplicationCost, limits: TotalLimits, most: number): boolean {
  if (cost.services.length >= LARGE) return false;
  const { rooms } = new Totals(cost, limits);
  if (rooms === undefined) return false;
  const blocked = cost.services.flatMap((_, service) => blockedOf(cost, service, rooms));
  blocked.sort((a, b) => a.change - b.change);
  const before = cost.total();
  for (const { service, size } of blocked.slice(0, most)) {
    const sizes = cost.services.map((_, at) => cost.sizeOf(at));
    cost.set(service, size);
    fitNodes(cost, limits);
    if (new Totals(cost, limits).isKept && cost.total() < before - SLACK * Math.max(1, before)) return true;
    for (const [at, each] of sizes.entries()) cost.set(at, each);
  }
  return false;
}

/** Whether some change would lower the cost that has no room on nodes. */
export function isBlocked(cost: ApplicationCost, limits: TotalLimits): boolean {
  const { rooms } = new Totals(cost, limits);
  return (
    rooms !== undefined && cost.services.some((_, service) => blockedOf(cost, service, rooms).length > 0)
  );
}

/** The same limits where no pod is started. */
export const growthAlone = ({ nodes = [], ...limits }: TotalLimits): TotalLimits => ({
  ...limits,
  nodes: nodes.map((each) => ({ ...each, takesPods: false })),
});

/** Whole steps under a size down to the floor, cores. */
function smallerOf({ cpuCores }: Size, floorCores: number, step: number): number[] {
  const most = roundedDown(cpuCores - SLACK, step);
  const count = Math.max(0, Math.floor((most - floorCores) / step + SLACK) + 1);
  return Array.from({ length: count }, (_, at) => most - at * step);
}

/** Steps of a service that would lower the cost and have no room, and a replica more of a size that may have. */
function blockedOf(cost: ApplicationCost, service: number, rooms: NodeRooms): Change[] {
  const { ceiling, floor, stepCpuCores } = cost.services[service] as ApplicationCost["services"][number];
  const from = cost.sizeOf(service);
  const more = { ...from, replicas: from.replicas + 1 };
  const cpuCores = Math.min(ceiling.cpuCores, roundedDown(from.cpuCores + stepCpuCores, stepCpuCores));
  const tried: Size[] = [];
  if (more.replicas <= ceiling.replicas && !rooms.allows(service, from, more)) {
    tried.push(more);
    if (stepCpuCores > 0)
      for (const cores of smallerOf(from, floor.cpuCores, stepCpuCores))
        tried.push({ ...more, cpuCores: cores });
  }
  const larger = { ...from, cpuCores };
  if (stepCpuCores > 0 && cpuCores > from.cpuCores + SLACK && !rooms.allows(service, from, larger))
    tried.push(larger);
  return tried.flatMap((size) => {
    const change = cost.trial(service, size);
    return change < -SLACK ? [{ service, size, change }] : [];
  });
}
