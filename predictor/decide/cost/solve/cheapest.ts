import { roundedUp } from "../../facts/size.ts";
import type { Size } from "../../facts/size.ts";
import type { ApplicationCost } from "../price/application-cost.ts";
import { SLACK } from "../price/cost-inputs.ts";
import type { ServiceToSize, TotalLimits } from "../price/cost-inputs.ts";
import { descendTogether, LARGE } from "./descend-together.ts";
import { Totals } from "./limits.ts";
import { exchange, fitNodes, growthAlone, isBlocked } from "./fit-nodes.ts";
import { FEWER, SMALLER, StepRanking, STEPS } from "./step-ranking.ts";

/** Steps that are evaluated exactly before the best of them is taken. */
const FINALISTS = 8;

/**
 * Takes the step that lowers the cost most until none does. Steps are ranked by their estimates, and of the best ones each is
 * evaluated exactly, but for what it makes of the routes' uncertainty: where that turns a gain into a loss steps go back and forth
 * until the most steps are taken. Such a round is walked once. A step that asks for more than the limits leave is not taken.
 */
export function descend(cost: ApplicationCost, limits: TotalLimits, mostSteps: number): void {
  const ranking = new StepRanking(cost);
  const totals = new Totals(cost, limits);
  let stepsLeft = mostSteps;
  if (cost.services.length >= LARGE) stepsLeft -= descendTogether(cost, ranking, totals, mostSteps);
  const leftByTotal = new Map<number, number>();
  for (; stepsLeft > 0; stepsLeft -= 1) {
    const step = bestStep(cost, ranking, totals);
    if (step < 0) return;
    take(step, cost, ranking, totals);
    const total = cost.total();
    const round = (leftByTotal.get(total) ?? stepsLeft) - stepsLeft;
    if (round > 0) stepsLeft = ((stepsLeft - 1) % round) + 1;
    leftByTotal.set(total, stepsLeft);
  }
}

/** The same, and CPU that nodes have left goes to what lowers the cost most. */
function descendWithin(cost: ApplicationCost, limits: TotalLimits, mostSteps: number): void {
  descend(cost, limits, mostSteps);
  for (let before = cost.total(); exchange(cost, limits, FINALISTS); before = cost.total()) {
    descend(cost, limits, mostSteps);
    if (!(cost.total() < before - SLACK * Math.max(1, before))) return;
  }
}

/** @returns its number; -1 where no step lowers the cost */
function bestStep(cost: ApplicationCost, ranking: StepRanking, totals: Totals): number {
  let bestChange = -SLACK * Math.max(1, cost.bill());
  let best = ranking.bestTried(bestChange, totals);
  if (best >= 0) bestChange = ranking.trial(best);
  for (let tried = 0; tried < FINALISTS || best < 0; tried += 1) {
    const step = ranking.next(bestChange, totals);
    if (step < 0) break;
    const change = ranking.trial(step);
    if (change >= bestChange) continue;
    bestChange = change;
    best = step;
  }
  return best;
}

/** What the application is asked to be now, raised to the least that the service needs. */
const withFloor = ({ base, floor }: ServiceToSize): Size => ({
  replicas: Math.max(base.replicas, floor.replicas),
  cpuCores: Math.max(base.cpuCores, floor.cpuCores),
  memoryBytes: base.memoryBytes,
});

/**
 * Takes replicas or CPU where it costs least until the sizes are within the limits: to each service's floor, and under it where the floors
 * together exceed the limits.
 * @returns false where they cannot be
 */
function fit(cost: ApplicationCost, limits: TotalLimits): boolean {
  const fits = fitAboveFloors(cost, limits) || fitUnderFloors(cost, limits);
  if (limits.nodes !== undefined) fitNodes(cost, limits);
  return fits;
}

function fitAboveFloors(cost: ApplicationCost, limits: TotalLimits): boolean {
  const totals = new Totals(cost, limits);
  if (totals.isKept) return true;
  const ranking = new StepRanking(cost);
  while (!totals.isKept) {
    let best = -1;
    let bestChange = Number.POSITIVE_INFINITY;
    for (const service of cost.services.keys()) {
      for (const step of [STEPS * service + FEWER, STEPS * service + SMALLER]) {
        const size = ranking.sizeOf(step);
        const freed = size === undefined ? 0 : totals.freed(service, cost.sizeOf(service), size);
        if (freed <= 0) continue;
        const change = ranking.trial(step) / freed;
        if (change >= bestChange) continue;
        bestChange = change;
        best = step;
      }
    }
    if (best < 0) return false;
    take(best, cost, ranking, totals);
  }
  return true;
}

function fitUnderFloors(cost: ApplicationCost, limits: TotalLimits): boolean {
  const totals = new Totals(cost, limits);
  while (!totals.isKept) {
    let best: { readonly service: number; readonly size: Size } | undefined;
    let bestChange = Number.POSITIVE_INFINITY;
    for (const service of cost.services.keys()) {
      const from = cost.sizeOf(service);
      const size = { ...from, replicas: from.replicas - 1 };
      const freed = totals.freed(service, from, size);
      if (size.replicas < 1 || freed <= 0) continue;
      const change = cost.trial(service, size) / freed;
      if (change >= bestChange) continue;
      bestChange = change;
      best = { service, size };
    }
    if (best === undefined) return false;
    totals.change(best.service, cost.sizeOf(best.service), best.size);
    cost.set(best.service, best.size);
  }
  return true;
}

function take(step: number, cost: ApplicationCost, ranking: StepRanking, totals: Totals): void {
  const service = Math.floor(step / STEPS);
  const size = ranking.sizeOf(step);
  if (size === undefined) return;
  totals.change(service, cost.sizeOf(service), size);
  ranking.set(service, size);
  ranking.update();
}

/**
 * From where the application is. Where nodes have too little CPU left, containers are once made larger before any pod is started: a pod
 * takes as much as many steps. The cheaper result counts.
 */
function nearest(make: () => ApplicationCost, limits: TotalLimits, mostSteps: number): ApplicationCost {
  const started = (): ApplicationCost => {
    const cost = make();
    for (const [number, service] of cost.services.entries()) cost.set(number, withFloor(service));
    return cost;
  };
  const near = started();
  fit(near, limits);
  descendWithin(near, limits, mostSteps);
  if (limits.mayWait === true || !isBlocked(near, limits)) return near;
  const grown = started();
  fit(grown, growthAlone(limits));
  descend(grown, growthAlone(limits), mostSteps);
  descendWithin(grown, limits, mostSteps);
  return grown.total() < near.total() - SLACK ? grown : near;
}

/** As much CPU as the roomy size has, in the replicas of now: larger in place of more. */
function largeSize(roomy: Size, { base, ceiling, stepCpuCores }: ServiceToSize): Size {
  if (stepCpuCores === 0) return base;
  const cores = (roomy.replicas * roomy.cpuCores) / Math.max(1, base.replicas);
  const cpuCores = Math.max(base.cpuCores, Math.min(ceiling.cpuCores, roundedUp(cores, stepCpuCores)));
  return { ...base, cpuCores };
}

/**
 * The cheapest sizes that steps find from where the application is and, where those are not expected to hold the objective,
 * from where every service has headroom: if two services hold up the same requests one step more for either helps nobody, and
 * only the way down finds what both need. In a large application only the services of routes that miss start with headroom.
 * @param roomy a size of each service with headroom
 */
export function cheapest(
  make: () => ApplicationCost,
  roomy: readonly Size[],
  limits: TotalLimits,
  mostSteps: number,
): ApplicationCost {
  const nearCost = nearest(make, limits, mostSteps);
  if (nearCost.isMet()) return nearCost;
  const starts = [roomy];
  if (limits.mayWait !== true && isBlocked(nearCost, limits))
    starts.push(
      nearCost.services.map((service, number) => largeSize(roomy[number] ?? service.base, service)),
    );
  let cheapestCost = nearCost;
  for (const sizes of starts) {
    const cost = make();
    const isLarge = nearCost.services.length >= LARGE;
    for (const [service, size] of sizes.entries())
      cost.set(service, isLarge && nearCost.isMetThrough(service) ? nearCost.sizeOf(service) : size);
    if (!fit(cost, limits)) continue;
    descendWithin(cost, limits, mostSteps);
    if (cost.total() < cheapestCost.total() - SLACK) cheapestCost = cost;
  }
  return cheapestCost;
}
