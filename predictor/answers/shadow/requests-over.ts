import type { Application } from "@tradewind/core/contract/application.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { ApplicationCost } from "../../decide/cost/price/application-cost.ts";
import { normalQuantile, shareOver } from "../../decide/cost/price/route-cost.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import { flowTailSeconds, shareOverOrFailed } from "../../decide/facts/objective.ts";
import type { Size } from "../../decide/facts/size.ts";
import { userFlows } from "../../decide/facts/user-flows.ts";

/** Standard normal quantile of 0.95: bands are of 90 %. */
export const BAND_QUANTILE = 1.645;

/** Error of a predicted change, as a share of it in ln: near the knee of a queue small errors of load are large ones of latency. Chosen. */
const CHANGE_ERROR = 0.5;
/** Least share of an added miss that counts as certain: an overload of some seconds does not make all requests of a window late. Chosen. */
const LEAST_CHANGE = 0.75;

/** Sizes of a service in a window: as it ran, and as the shadow would have had it, with fewest, as many, and most replicas. */
export interface ShadowSizes {
  readonly actual: Size;
  readonly shadow: readonly [fewest: Size, middle: Size, most: Size];
}

/** Requests over the objective in a window, measured and as the shadow would have had them. */
interface WindowOver {
  readonly requests: number;
  readonly measured: number;
  readonly low: number;
  readonly middle: number;
  readonly high: number;
  /** Mean of ln(measured over predicted) of the routes' percentile at the sizes that ran; absent where none was measured. */
  readonly logError?: number;
}

/**
 * Requests over the objective at other sizes: what was measured, changed by as much as the models change a route's percentile. So nothing
 * changes where the shadow has what ran, and an error that the models make at both sizes cancels.
 * @param bandLog by how much ln(predicted percentile) may be off either way
 */
export function requestsOver(
  application: Application,
  { endMs, flows, startMs }: Pick<WindowSet, "endMs" | "flows" | "startMs">,
  models: WhatIf,
  sizes: ReadonlyMap<string, ShadowSizes>,
  bandLog: number,
): WindowOver {
  const tails = tailsOf(models, sizes);
  const { percentile } = application.objective;
  const quantile = normalQuantile(percentile);
  const sums = { requests: 0, measured: 0, low: 0, middle: 0, high: 0 };
  let [errorSum, errorWeight] = [0, 0];
  for (const { flow, objective } of userFlows(flows, application).held) {
    const requests = (flow.requestsPerSecond * (endMs - startMs)) / 1e3;
    const measured = shareOverOrFailed(flow, objective.tailSeconds);
    const tailSeconds = flowTailSeconds(flow.latency, percentile);
    const route = tails.get(flow.flow);
    const over = (place: 0 | 1 | 2, side: -1 | 0 | 1): number => {
      const { sigma, tail } = route?.shadows[place] ?? { sigma: 0, tail: 0 };
      const ratio = route === undefined ? 1 : tail / route.tail;
      if (route === undefined || !(ratio > 0) || ratio === 1) return measured;
      const log = side * Math.hypot(bandLog, BAND_QUANTILE * sigma, CHANGE_ERROR * Math.log(ratio));
      const share = (seconds: number): number =>
        shareOver({ tailSeconds: seconds, quantile, spread: route.spread, sigma: 0 }, objective.tailSeconds);
      const change = share(tailSeconds * ratio * Math.exp(log)) - share(tailSeconds);
      const least = side < 0 && change > 0 ? LEAST_CHANGE : 1;
      return Math.min(1, Math.max(0, measured + least * change));
    };
    sums.requests += requests;
    sums.measured += requests * measured;
    sums.low += requests * over(2, -1);
    sums.middle += requests * over(1, 0);
    sums.high += requests * over(0, 1);
    if (route === undefined || !(tailSeconds > 0) || !(route.tail > 0)) continue;
    errorSum += requests * Math.log(tailSeconds / route.tail);
    errorWeight += requests;
  }
  return { ...sums, ...(errorWeight > 0 && { logError: errorSum / errorWeight }) };
}

interface RouteTails {
  /** Of the sizes that ran, seconds. */
  readonly tail: number;
  /** Of those of the shadow, with how far its logarithm may be off by the models themselves. */
  readonly shadows: readonly { readonly tail: number; readonly sigma: number }[];
  readonly spread: number;
}

/** Predicted percentiles of the routes under the load of the window. */
function tailsOf(models: WhatIf, sizes: ReadonlyMap<string, ShadowSizes>): ReadonlyMap<string, RouteTails> {
  const cost = models.models(1 / models.loadRatio);
  const at = (sizeOf: (sizes: ShadowSizes) => Size): { tail: number; sigma: number }[] => {
    setAll(cost, sizes, sizeOf);
    return Array.from({ length: cost.routeCount }, (_, route) => ({
      tail: cost.tailOf(route),
      sigma: cost.sigmaOf(route),
    }));
  };
  const actual = at((each) => each.actual);
  const shadows = ([0, 1, 2] as const).map((place) => at(({ shadow }) => shadow[place]));
  return new Map(
    actual.map((ran, route) => {
      const { graph, spread } = cost.routeOf(route);
      return [graph.flow, { tail: ran.tail, shadows: shadows.map((all) => all[route] ?? ran), spread }];
    }),
  );
}

function setAll(
  cost: ApplicationCost,
  sizes: ReadonlyMap<string, ShadowSizes>,
  sizeOf: (sizes: ShadowSizes) => Size,
): void {
  for (const [number, { name }] of cost.services.entries()) {
    const known = sizes.get(name);
    if (known !== undefined) cost.set(number, sizeOf(known));
  }
}
