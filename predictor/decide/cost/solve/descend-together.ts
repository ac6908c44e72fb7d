import type { Size } from "../../facts/size.ts";
import type { ApplicationCost } from "../price/application-cost.ts";
import { SLACK } from "../price/cost-inputs.ts";
import type { Totals } from "./limits.ts";
import { STEPS } from "./step-ranking.ts";
import type { StepRanking } from "./step-ranking.ts";

/** From so many services on several steps are taken together. */
export const LARGE = 100;
/** Share of a route's services that the first round may change; steps together are kept where they bring this share of what was estimated. */
const SHARE = 0.25;

interface TakenStep {
  readonly service: number;
  readonly from: Size;
  readonly to: Size;
  readonly estimate: number;
}

/**
 * Several steps at once on every route, as many as their estimates hold for: a route whose steps do not bring what was
 * estimated has them undone and takes half as many. Never raises the total.
 * @returns steps taken
 */
export function descendTogether(
  cost: ApplicationCost,
  ranking: StepRanking,
  totals: Totals,
  mostSteps: number,
): number {
  const servicesOf = servicesByRoute(cost);
  const limits = servicesOf.map((services) => Math.max(1, Math.ceil(SHARE * services.length)));
  let stepCount = 0;
  while (stepCount < mostSteps) {
    const totalBefore = cost.total();
    const missed = servicesOf.map((_, route) => cost.missPerHourOf(route));
    const rounds = servicesOf.map((services, route) =>
      takeBest(services, limits[route] ?? 0, { cost, ranking, totals }),
    );
    const undone = new Set<TakenStep>();
    for (const [route, steps] of rounds.entries()) {
      if (steps.length === 0) continue;
      let change = cost.missPerHourOf(route) - (missed[route] ?? 0);
      let estimated = 0;
      for (const { estimate, from, service, to } of steps) {
        change += cost.priceOf(service, to) - cost.priceOf(service, from);
        estimated += estimate;
      }
      const limit = limits[route] ?? 0;
      if (change > SHARE * estimated) {
        for (const step of steps) undone.add(step);
        limits[route] = Math.floor(Math.min(limit, steps.length) / 2);
      } else limits[route] = 2 * limit;
    }
    for (const step of undone) undo(step, ranking, totals);
    const keptSteps = rounds.flat().filter((step) => !undone.has(step));
    if (cost.total() > totalBefore - SLACK && keptSteps.length > 0) {
      for (const step of keptSteps) undo(step, ranking, totals);
      ranking.update();
      return stepCount;
    }
    for (const { from, service, to } of keptSteps) if (!isGrowth(from, to)) totals.change(service, from, to);
    ranking.update();
    stepCount += keptSteps.length;
    if (rounds.every((steps) => steps.length === 0)) return stepCount;
  }
  return stepCount;
}

/** A service on several routes, such as the entry, is left to steps one at a time. */
function servicesByRoute(cost: ApplicationCost): number[][] {
  const services: number[][] = Array.from({ length: cost.routeCount }, () => []);
  for (const service of cost.services.keys()) {
    const [route, ...others] = cost.routesThrough(service);
    if (route !== undefined && others.length === 0) services[route]?.push(service);
  }
  return services;
}

/** The best step of each service, at most `limit` of them: those that are estimated best. */
function takeBest(
  services: readonly number[],
  limit: number,
  { cost, ranking, totals }: { cost: ApplicationCost; ranking: StepRanking; totals: Totals },
): TakenStep[] {
  if (limit === 0) return [];
  const ranked = services.flatMap((service) => bestOf(service, ranking) ?? []);
  ranked.sort((a, b) => a.estimate - b.estimate);
  const steps: TakenStep[] = [];
  for (const { estimate, step } of ranked) {
    if (steps.length === limit) break;
    const service = Math.floor(step / STEPS);
    const size = ranking.sizeOf(step);
    if (size === undefined || !ranking.isAllowed(step, totals)) continue;
    const from = cost.sizeOf(service);
    if (isGrowth(from, size)) totals.change(service, from, size);
    ranking.set(service, size);
    steps.push({ service, from, to: size, estimate });
  }
  return steps;
}

interface RankedStep {
  readonly step: number;
  readonly estimate: number;
}

function bestOf(service: number, ranking: StepRanking): RankedStep | undefined {
  let best: RankedStep | undefined;
  for (let step = STEPS * service; step < STEPS * (service + 1); step += 1) {
    const bound = best?.estimate ?? -SLACK;
    if ((ranking.estimates[step] ?? 0) >= bound) continue;
    const estimate = ranking.refine(step);
    if (!(estimate >= bound)) best = { step, estimate };
  }
  return best;
}

/** Only growth takes of the limits at once: what the other steps of a round free is there once they are kept. */
const isGrowth = (from: Size, to: Size): boolean =>
  to.replicas > from.replicas || to.cpuCores > from.cpuCores;

function undo({ from, service, to }: TakenStep, ranking: StepRanking, totals: Totals): void {
  if (isGrowth(from, to)) totals.change(service, to, from);
  ranking.set(service, from);
}
