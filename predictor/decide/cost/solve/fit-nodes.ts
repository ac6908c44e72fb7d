import { roundedDown } from "../../facts/size.ts";
import type { Size } from "../../facts/size.ts";
import type { ApplicationCost } from "../price/application-cost.ts";
import { SLACK } from "../price/cost-inputs.ts";
import type { TotalLimits } from "../price/cost-inputs.ts";
import { LARGE } from "./descend-together.ts";
import { Totals } from "./limits.ts";
import type { NodeHeadroom } from "./node-headroom.ts";

interface Change {
  readonly service: number;
  readonly size: Size;
  /** What it does to the cost, per hour. */
  readonly change: number;
}

/**
 * Undoes growth and starts, where that costs least a core, until nodes have CPU left for the rest. What runs stays. In a large
 * application all growth on a node that has too little left is undone at once: steps find out what is worth most there.
 */
export function fitNodes(cost: ApplicationCost, limits: TotalLimits): void {
  if (cost.services.length >= LARGE) return fitLarge(cost, limits);
  for (;;) {
    const { headroom } = new Totals(cost, limits);
    if (headroom === undefined || headroom.isKept) return;
    let best: { readonly service: number; readonly size: Size } | undefined;
    let bestChange = Number.POSITIVE_INFINITY;
    const consider = (service: number, size: Size): void => {
      const freed = headroom.freed(service, cost.sizeOf(service), size);
      if (freed <= 0) return;
      const change = cost.trial(service, size) / freed;
      if (change >= bestChange) return;
      bestChange = change;
      best = { service, size };
    };
    for (const [service, { stepCpuCores }] of cost.services.entries()) {
      const size = cost.sizeOf(service);
      if (headroom.mayStartFewer(service)) consider(service, { ...size, replicas: size.replicas - 1 });
      const leastCores = headroom.leastGrown(service) ?? size.cpuCores;
      if (stepCpuCores > 0 && leastCores < size.cpuCores - SLACK)
        consider(service, { ...size, cpuCores: Math.max(leastCores, size.cpuCores - stepCpuCores) });
    }
    if (best === undefined) return;
    cost.set(best.service, best.size);
  }
}

function fitLarge(cost: ApplicationCost, limits: TotalLimits): void {
  const { headroom } = new Totals(cost, limits);
  if (headroom === undefined || headroom.isKept) return;
  const sizes = cost.services.map((_, service) => {
    const size = cost.sizeOf(service);
    return { ...size, cpuCores: Math.min(size.cpuCores, headroom.leastGrown(service) ?? Infinity) };
  });
  for (const [service, size] of sizes.entries()) cost.set(service, size);
}

/**
 * Makes one change that nodes have no CPU left for, and undoes what costs least until they have, where that lowers the cost in all: growth
 * and starts compete for the same CPU. Never in a large application, where that takes minutes.
 * @param tries most changes that are tried, those that would lower the cost most first
 * @returns whether one did
 */
export function exchange(cost: ApplicationCost, limits: TotalLimits, tries: number): boolean {
  if (cost.services.length >= LARGE) return false;
  const { headroom } = new Totals(cost, limits);
  if (headroom === undefined) return false;
  const blocked = cost.services.flatMap((_, service) => blockedOf(cost, service, headroom));
  blocked.sort((a, b) => a.change - b.change);
  const totalBefore = cost.total();
  for (const { service, size } of blocked.slice(0, tries)) {
    const sizes = cost.services.map((_, number) => cost.sizeOf(number));
    cost.set(service, size);
    fitNodes(cost, limits);
    if (new Totals(cost, limits).isKept && cost.total() < totalBefore - SLACK * Math.max(1, totalBefore))
      return true;
    for (const [number, sizeBefore] of sizes.entries()) cost.set(number, sizeBefore);
  }
  return false;
}

/** Whether a change that nodes have no CPU left for would lower the cost. */
export function isBlocked(cost: ApplicationCost, limits: TotalLimits): boolean {
  const { headroom } = new Totals(cost, limits);
  return (
    headroom !== undefined &&
    cost.services.some((_, service) => blockedOf(cost, service, headroom).length > 0)
  );
}

/** The same limits where no pod is started. */
export const growthAlone = ({ nodes = [], ...limits }: TotalLimits): TotalLimits => ({
  ...limits,
  nodes: nodes.map((node) => ({ ...node, takesPods: false })),
});

/** Whole steps under a size down to the floor, cores. */
function smallerOf({ cpuCores }: Size, floorCores: number, step: number): number[] {
  const most = roundedDown(cpuCores - SLACK, step);
  const count = Math.max(0, Math.floor((most - floorCores) / step + SLACK) + 1);
  return Array.from({ length: count }, (_, index) => most - index * step);
}

/** Steps of a service that would lower the cost and that nodes have no CPU left for, and a replica more with smaller containers. */
function blockedOf(cost: ApplicationCost, service: number, headroom: NodeHeadroom): Change[] {
  const { ceiling, floor, stepCpuCores } = cost.services[service] as ApplicationCost["services"][number];
  const size = cost.sizeOf(service);
  const oneMore = { ...size, replicas: size.replicas + 1 };
  const cpuCores = Math.min(ceiling.cpuCores, roundedDown(size.cpuCores + stepCpuCores, stepCpuCores));
  const tried: Size[] = [];
  if (oneMore.replicas <= ceiling.replicas && !headroom.allows(service, size, oneMore)) {
    tried.push(oneMore);
    if (stepCpuCores > 0)
      for (const cores of smallerOf(size, floor.cpuCores, stepCpuCores))
        tried.push({ ...oneMore, cpuCores: cores });
  }
  const larger = { ...size, cpuCores };
  if (stepCpuCores > 0 && cpuCores > size.cpuCores + SLACK && !headroom.allows(service, size, larger))
    tried.push(larger);
  return tried.flatMap((triedSize) => {
    const change = cost.trial(service, triedSize);
    return change < -SLACK ? [{ service, size: triedSize, change }] : [];
  });
}
