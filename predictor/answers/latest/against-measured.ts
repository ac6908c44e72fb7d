import type { PredictedRoute, WhatIfAnswer, WhatIfWarning } from "@tradewind/core/contract/what-if.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { formatLatency } from "@tradewind/core/values/amounts.ts";
import type { ApplicationCost } from "../../decide/cost/price/application-cost.ts";
import { suppose } from "../../decide/cost/price/suppose.ts";
import type { WhatIf } from "../../decide/cost/price/what-if.ts";
import { flowTailSeconds } from "../../decide/facts/objective.ts";
import { isCarriedOut } from "../../learn/predicted-tail.ts";
import { FAR_RATIO, LEAST_PAST } from "../reason/signal-history.ts";

export type LastWindow = NonNullable<WhatIfAnswer["routes"][number]["lastWindow"]>;

/** Names in one warning. */
const MOST_NAMES = 5;

/** By route: what was measured in the last window, and what the models expect of its load. */
export function lastWindowOf(
  models: WhatIf,
  windowSet: Pick<WindowSet, "flows" | "windows">,
  percentile: number,
): Map<string, LastWindow> {
  const expected = new Map<string, PredictedRoute>();
  const now = models.models(1);
  if (ran(now, windowSet)) {
    const { routes } = suppose(models, { load: 1 / now.loadRatio, services: [] });
    for (const { route, then } of routes) expected.set(route, then);
  }
  return new Map(
    windowSet.flows.map(({ flow, latency }) => {
      const measuredSeconds = flowTailSeconds(latency, percentile);
      const predicted = expected.get(flow);
      return [flow, { measuredSeconds, ...(predicted && { predicted }) }];
    }),
  );
}

/** Whether the sizes that the models start from are those of the window. */
function ran(now: ApplicationCost, { windows }: Pick<WindowSet, "windows">): boolean {
  const byName = new Map(windows.map((window) => [window.service, window]));
  return now.services.every(
    ({ base, name, own }) => own === undefined || isCarriedOut(base, byName.get(name)),
  );
}

/** Why a prediction may be wrong, worst first: empty where nothing speaks against it. @param windows that each service's model has seen */
export function warningsOf(
  lastWindows: ReadonlyMap<string, LastWindow>,
  windows: ReadonlyMap<string, number>,
): WhatIfWarning[] {
  const far = [...lastWindows]
    .flatMap(([route, last]) => farOf(route, last))
    .filter(({ ratio }) => ratio >= FAR_RATIO)
    .sort((a, b) => b.ratio - a.ratio)
    .slice(0, MOST_NAMES)
    .map(({ words }) => ({ code: "far-from-measured" as const, words }));
  return [...far, ...fewWindows(windows)];
}

function farOf(
  route: string,
  { measuredSeconds, predicted }: LastWindow,
): { ratio: number; words: string }[] {
  if (predicted === undefined || !(measuredSeconds > 0) || !(predicted.latencySeconds > 0)) return [];
  const ratio = predicted.latencySeconds / measuredSeconds;
  const [expects, was] = [formatLatency(predicted.latencySeconds), formatLatency(measuredSeconds)];
  const words = `the models expect ${expects} of '${route}' in the last window, ${was} was measured: rely on neither prediction`;
  return [{ ratio: Math.max(ratio, 1 / ratio), words }];
}

function fewWindows(windows: ReadonlyMap<string, number>): WhatIfWarning[] {
  const young = [...windows].filter(([, count]) => count < LEAST_PAST).sort((a, b) => a[1] - b[1]);
  const [least] = young;
  if (least === undefined) return [];
  const names = young.slice(0, MOST_NAMES).map(([service]) => `'${service}'`);
  const more = young.length > MOST_NAMES ? ` and ${young.length - MOST_NAMES} more` : "";
  const words = `the models of ${names.join(", ")}${more} have seen ${least[1]} windows; from ${LEAST_PAST} on they can be relied on`;
  return [{ code: "few-windows", words }];
}
