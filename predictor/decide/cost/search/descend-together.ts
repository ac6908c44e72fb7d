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

interface Taken {
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
  const most = servicesOf.map((services) => Math.max(1, Math.ceil(SHARE * services.length)));
  let taken = 0;
  while (taken < mostSteps) {
    const before = cost.total();
    const missed = servicesOf.map((_, route) => cost.missPerHourOf(route));
    const rounds = servicesOf.map((services, route) =>
      takeBest(services, most[route] ?? 0, { cost, ranking, totals }),
    );
    const undone = new Set<Taken>();
    for (const [route, steps] of rounds.entries()) {
      if (steps.length === 0) continue;
      let change = cost.missPerHourOf(route) - (missed[route] ?? 0);
      let estimated = 0;
      for (const { estimate, from, service, to } of steps) {
        change += cost.priceOf(service, to) - cost.priceOf(service, from);
        estimated += estimate;
      }
      const limit = most[route] ?? 0;
      if (change > SHARE * estimated) {
        for (const step of steps) undone.add(step);
        most[route] = Math.floor(Math.min(limit, steps.length) / 2);
      } else most[route] = 2 * limit;
    }
    for (const step of undone) undo(step, ranking, totals);
    const kept = rounds.flat().filter((step) => !undone.has(step));
    if (cost.total() > before - SLACK && kept.length > 0) {
      for (const step of kept) undo(step, ranking, totals);
      ranking.update();
      return taken;
    }
    for (const { from, service, to } of kept) if (!isGrowth(from, to)) totals.change(service, from, to);
    ranking.update();
    taken += kept.length;
    if (rounds.every((steps) => steps.length === 0)) return taken;
  }
  return taken;
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

/** The best step of each service, as many of the best of those as are allowed. */
function takeBest(
  services: readonly number[],
  most: number,
  { cost, ranking, totals }: { cost: ApplicationCost; ranking: StepRanking; totals: Totals },
): Taken[] {
  if (most === 0) return [];
  const best = services.flatMap((service) => {
    const step = bestOf(service, ranking);
    return step === undefined ? [] : [step];
  });
  best.sort((a, b) => a.estimate - b.estimate);
  const taken: Taken[] = [];
  for (const { estimate, step } of best) {
    if (taken.length === most) break;
    const service = Math.floor(step / STEPS);
    const to = ranking.sizeOf(step);
    if (to === undefined || !ranking.isAllowed(step, totals)) continue;
    const from = cost.sizeOf(service);
    if (isGrowth(from, to)) totals.change(service, from, to);
    ranking.set(service, to);
    taken.push({ service, from, to, estimate });
  }
  return taken;
}

function bestOf(
  service: number,
  ranking: StepRanking,
): { readonly step: number; readonly estimate: number } | undefined {
  let least = -SLACK;
  let best = -1;
  for (let step = STEPS * service; step < STEPS * (service + 1); step += 1) {
    if ((ranking.estimates[step] ?? 0) >= least) continue;
    const estimate = ranking.refine(step);
    if (estimate >= least) continue;
    least = estimate;
    best = step;
  }
  return best < 0 ? undefined : { step: best, estimate: least };
}

/** Only growth takes of the limits at once: what the other steps of a round free is there once they are kept. */
const isGrowth = (from: Size, to: Size): boolean =>
  to.replicas > from.replicas || to.cpuCores > from.cpuCores;

function undo({ from, service, to }: Taken, ranking: StepRanking, totals: Totals): void {
  if (isGrowth(from, to)) totals.change(service, to, from);
  ranking.set(service, from);
}
