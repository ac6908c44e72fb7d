import type { Reason } from "@tradewind/core/contract/reason.ts";
import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Prices } from "@tradewind/core/contract/prices.ts";
import { TAIL_QUANTILE } from "../../models/route/lognormal.ts";
import { MOST_CHARACTERS } from "../facts/reasons.ts";
import type { Size } from "../facts/size.ts";
import type { Problem } from "./prepare/prepare.ts";
import type { ApplicationCost } from "./price/application-cost.ts";
import type { ServiceToSize } from "./price/cost-inputs.ts";
import { LARGE } from "./solve/descend-together.ts";
import { OUTSIDE_SHARE } from "./solve/useless-growth.ts";

type ReasonOf<Code extends Reason["code"]> = Extract<Reason, { code: Code }>;

/** What the models expect of the size decided on, and of the best one beside it; none off users' routes. */
export function weighed(
  number: number,
  cost: ApplicationCost,
  prices: Prices,
  percentile: number,
): readonly Reason[] {
  const service = cost.services[number];
  const route = worstRoute(cost, number);
  if (service === undefined || route === undefined) return [];
  const [size, { base }] = [cost.sizeOf(number), service];
  const isChanged = size.replicas !== base.replicas || size.cpuCores !== base.cpuCores;
  const stretch = Math.exp(TAIL_QUANTILE * cost.sigmaOf(route));
  const expectedSeconds = cost.tailOf(route);
  const withoutSeconds = isChanged ? tailAt(cost, route, number, base) : undefined;
  const expected: ReasonOf<"expected"> = {
    code: "expected",
    percentile,
    ...(cost.routeCount > 1 && { route: cost.routeOf(route).graph.flow.slice(0, MOST_CHARACTERS) }),
    expectedSeconds,
    expectedLowSeconds: expectedSeconds / stretch,
    expectedHighSeconds: expectedSeconds * stretch,
    ...(withoutSeconds !== undefined && {
      withoutSeconds,
      withoutLowSeconds: withoutSeconds / stretch,
      withoutHighSeconds: withoutSeconds * stretch,
    }),
    costPerHour: costPerHour(size, prices) - costPerHour(base, prices),
  };
  const isListed = isChanged || cost.services.length < LARGE;
  const alternative = isListed ? bestBeside(number, service, cost) : undefined;
  if (alternative === undefined) return [expected];
  const { resource, size: alternativeSize, totalPerHour } = alternative;
  return [
    expected,
    {
      code: "alternative",
      resource,
      alternativeSize: resource === "cpu" ? alternativeSize.cpuCores : alternativeSize.replicas,
      alternativeSeconds: tailAt(cost, route, number, alternativeSize),
      alternativeCostPerHour: costPerHour(alternativeSize, prices) - costPerHour(size, prices),
      alternativeTotalPerHour: totalPerHour,
    },
  ];
}

/** Why a miss stays: the models do not explain it, or no replica more would end it. Nothing where the decision adds something. */
export function whyMissStays({ unexplained, window }: Problem, cost: ApplicationCost): readonly Reason[] {
  const farOff = unexplained.toSorted((a, b) => b.overRatio - a.overRatio)[0];
  if (farOff !== undefined) {
    const route = farOff.route.flow.flow.slice(0, MOST_CHARACTERS);
    const { expectedRatio, overRatio } = farOff;
    return [{ code: "models-far-off", overRatio, expectedRatio: Math.min(1, expectedRatio), route }];
  }
  const { objective, tailSeconds: latencySeconds = 0 } = window.verdict;
  const gainSeconds = bestGainSeconds(cost);
  const objectiveSeconds = objective.tailSeconds;
  const isOutside =
    gainSeconds !== undefined && gainSeconds < OUTSIDE_SHARE * (latencySeconds - objectiveSeconds);
  return isOutside ? [{ code: "time-outside", gainSeconds, latencySeconds, objectiveSeconds }] : [];
}

/** What one more replica of the service that helps most takes off the worst route; undefined where a service grows. */
function bestGainSeconds(cost: ApplicationCost): number | undefined {
  if (cost.services.some((_, number) => isGrown(cost, number))) return undefined;
  const nowSeconds = cost.worstTailSeconds();
  const tails = Array.from({ length: cost.routeCount }, (_, route) => cost.comparableTail(route));
  let gainSeconds = 0;
  for (const number of cost.services.keys()) {
    const size = cost.sizeOf(number);
    const larger = { ...size, replicas: size.replicas + 1 };
    const isKnown = cost.services.length < LARGE || cost.knownOwnTailsAt(number, larger) !== undefined;
    if (isKnown) gainSeconds = Math.max(gainSeconds, nowSeconds - cost.worstTailIf(number, larger, tails));
  }
  return gainSeconds;
}

/** Whether the decision gives a service more of something than it had. */
export function isGrown(cost: ApplicationCost, number: number): boolean {
  const [base, { cpuCores, replicas }] = [cost.services[number]?.base, cost.sizeOf(number)];
  return base !== undefined && (replicas > base.replicas || cpuCores > base.cpuCores);
}

interface SizeBeside {
  readonly resource: "cpu" | "replicas";
  readonly size: Size;
  /** Beyond what the size decided on costs with slow requests and starts. */
  readonly totalPerHour: number;
}

/** Among the sizes one step away that the search has looked at, the one that costs least. */
function bestBeside(number: number, service: ServiceToSize, cost: ApplicationCost): SizeBeside | undefined {
  const size = cost.sizeOf(number);
  let best: SizeBeside | undefined;
  for (const sign of [1, -1]) {
    const beside: readonly Pick<SizeBeside, "resource" | "size">[] = [
      { resource: "replicas", size: { ...size, replicas: size.replicas + sign } },
      { resource: "cpu", size: { ...size, cpuCores: size.cpuCores + sign * service.stepCpuCores } },
    ];
    for (const { resource, size: other } of beside) {
      const isOpen = isWithin(service, other) && !isSame(other, size) && !isSame(other, service.base);
      if (!isOpen || cost.knownOwnTailsAt(number, other) === undefined) continue;
      const totalPerHour = cost.trial(number, other);
      if (best === undefined || totalPerHour < best.totalPerHour)
        best = { resource, size: other, totalPerHour };
    }
  }
  return best;
}

const isSame = (a: Size, b: Size): boolean => a.replicas === b.replicas && a.cpuCores === b.cpuCores;

const isWithin = ({ ceiling, floor }: ServiceToSize, { cpuCores, replicas }: Size): boolean =>
  replicas >= Math.max(1, floor.replicas) &&
  replicas <= ceiling.replicas &&
  cpuCores >= floor.cpuCores &&
  cpuCores <= ceiling.cpuCores;

/** The route through a service that stands worst to its objective; undefined off every route. */
function worstRoute(cost: ApplicationCost, number: number): number | undefined {
  let worst: number | undefined;
  for (const route of cost.routesThrough(number))
    if (worst === undefined || cost.comparableTail(route) > cost.comparableTail(worst)) worst = route;
  return worst;
}

const tailAt = (cost: ApplicationCost, route: number, number: number, size: Size): number =>
  cost.tailIf(route, number, cost.ownTailsAt(number, size).tailSeconds[0] ?? 0);
