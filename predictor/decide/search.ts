import type { Size } from "../plan/plan-service.ts";
import type { ApplicationCost, ServiceToSize } from "./application-cost.ts";

/** Rounding slack of sums of steps. */
const SLACK = 1e-9;

/** Limits of the application as a whole; absent means none. */
export interface TotalLimits {
  readonly pods?: number;
  readonly cpuCores?: number;
}

/** The sizes one step away. */
function* steps({ ceiling, floor, stepCpuCores }: ServiceToSize, size: Size): Generator<Size> {
  const { cpuCores, replicas } = size;
  if (replicas > floor.replicas) yield { ...size, replicas: replicas - 1 };
  if (replicas < ceiling.replicas) yield { ...size, replicas: replicas + 1 };
  if (stepCpuCores <= 0) return;
  const less = Math.max(floor.cpuCores, cpuCores - stepCpuCores);
  const more = Math.min(ceiling.cpuCores, cpuCores + stepCpuCores);
  if (less < cpuCores - SLACK) yield { ...size, cpuCores: less };
  if (more > cpuCores + SLACK) yield { ...size, cpuCores: more };
}

/**
 * Takes the step that lowers the cost most until none does. A step that asks for more than the limits leave is not taken.
 * @returns steps taken
 */
export function descend(cost: ApplicationCost, limits: TotalLimits, mostSteps: number): number {
  const { services } = cost;
  for (let taken = 0; taken < mostSteps; taken += 1) {
    let best: { readonly service: number; readonly size: Size } | undefined;
    let least = -SLACK * Math.max(1, cost.bill());
    const totals = totalsOf(cost);
    for (const [service, each] of services.entries()) {
      const from = cost.sizeOf(service);
      for (const size of steps(each, from)) {
        if (!isWithin(totals, from, size, limits)) continue;
        const change = cost.trial(service, size);
        if (change >= least) continue;
        least = change;
        best = { service, size };
      }
    }
    if (best === undefined) return taken;
    cost.set(best.service, best.size);
  }
  return mostSteps;
}

interface Totals {
  pods: number;
  cpuCores: number;
}

function totalsOf(cost: ApplicationCost): Totals {
  const totals = { pods: 0, cpuCores: 0 };
  for (const service of cost.services.keys()) {
    const { cpuCores, replicas } = cost.sizeOf(service);
    totals.pods += replicas;
    totals.cpuCores += replicas * cpuCores;
  }
  return totals;
}

function isWithin(totals: Totals, from: Size, to: Size, limits: TotalLimits): boolean {
  const grows = (total: number, before: number, after: number, most: number | undefined): boolean =>
    most === undefined || after <= before || total - before + after <= most * (1 + SLACK);
  return (
    grows(totals.pods, from.replicas, to.replicas, limits.pods) &&
    grows(totals.cpuCores, from.replicas * from.cpuCores, to.replicas * to.cpuCores, limits.cpuCores)
  );
}

/** What the application is asked to be now, raised to the least that the service needs. */
const withFloor = ({ base, floor }: ServiceToSize): Size => ({
  replicas: Math.max(base.replicas, floor.replicas),
  cpuCores: Math.max(base.cpuCores, floor.cpuCores),
  memoryBytes: base.memoryBytes,
});

/** Takes back what costs least until the sizes are within the limits. @returns false where they cannot be */
function fit(cost: ApplicationCost, limits: TotalLimits): boolean {
  for (;;) {
    const { cpuCores, pods } = totalsOf(cost);
    const isOver = pods > (limits.pods ?? Infinity) || cpuCores > (limits.cpuCores ?? Infinity) * (1 + SLACK);
    if (!isOver) return true;
    let best: { readonly service: number; readonly size: Size } | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const [service, each] of cost.services.entries()) {
      const { cpuCores: cores, replicas } = cost.sizeOf(service);
      if (replicas <= each.floor.replicas) continue;
      const size = { ...cost.sizeOf(service), replicas: replicas - 1 };
      const change = cost.trial(service, size) / cores;
      if (change >= least) continue;
      least = change;
      best = { service, size };
    }
    if (best === undefined) return false;
    cost.set(best.service, best.size);
  }
}

/**
 * The cheapest sizes that steps find from where the application is and, where those are not expected to hold the objective,
 * from where every service has room: if two services hold up the same requests one step more for either helps nobody, and
 * only the way down finds what both need.
 * @param roomy a size of each service with room
 */
export function cheapest(
  make: () => ApplicationCost,
  roomy: readonly Size[],
  limits: TotalLimits,
  mostSteps: number,
): ApplicationCost {
  const near = make();
  for (const [service, each] of near.services.entries()) near.set(service, withFloor(each));
  fit(near, limits);
  descend(near, limits, mostSteps);
  if (near.isMet()) return near;
  const far = make();
  for (const [service, size] of roomy.entries()) far.set(service, size);
  if (!fit(far, limits)) return near;
  descend(far, limits, mostSteps);
  return far.total() < near.total() - SLACK ? far : near;
}
