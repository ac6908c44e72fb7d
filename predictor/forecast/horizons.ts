import type { ForecastPoint } from "@tradewind/core/contract/forecast.ts";
import type { Steps } from "./expected-load.ts";
import type { ForesightState } from "./foresight.ts";
import { Ahead } from "./load-ahead.ts";
import { seasonOf } from "./season.ts";

const HORIZONS_SECONDS = [300, 600, 900, 1_200, 1_500] as const;
/** Steps of five minutes from which these are forecast, in place of minutes. */
const LEAST_COARSE = 48;
const QUARTERS = 4;

/** Means of the known ones of four steps each, the last complete. */
function byMinute(steps: Steps): (number | null)[] {
  const first = steps.length % QUARTERS;
  return Array.from({ length: (steps.length - first) / QUARTERS }, (_, at) => {
    const from = first + at * QUARTERS;
    const known = steps.slice(from, from + QUARTERS).filter((value) => value !== null);
    return known.length > 0 ? known.reduce((sum, each) => sum + each, 0) / known.length : null;
  });
}

/** Steps that forecasts 5 to 25 minutes ahead are made by: of five minutes, or of one while little is known. */
export interface HorizonSteps {
  readonly stepSeconds: number;
  /** End of the last step, to the whole step. */
  readonly endMs: number;
  readonly steps: Steps;
}

export function horizonSteps([quarters, fives]: ForesightState): HorizonSteps {
  const isCoarse = (fives?.series.values.length ?? 0) >= LEAST_COARSE;
  const [stepSeconds, series] = isCoarse ? [300, fives?.series] : [60, quarters?.series];
  const values = series?.values ?? [];
  const stepMs = 1e3 * stepSeconds;
  const endMs = Math.floor((series?.endMs ?? 0) / stepMs) * stepMs;
  return { stepSeconds, endMs, steps: isCoarse ? values : byMinute(values) };
}

/** One pass over the steps learns from all of them: 864 steps and five horizons take some 40 ms of CPU. */
export function loadHorizons({ stepSeconds, steps }: HorizonSteps): ForecastPoint[] {
  const from = steps.findIndex((value) => value !== null);
  if (from < 0) return [];
  const known = steps.slice(from);
  const season = seasonOf(known);
  return HORIZONS_SECONDS.flatMap((aheadSeconds): ForecastPoint[] => {
    const ahead = new Ahead(aheadSeconds / stepSeconds, season);
    for (const step of known) ahead.add(step);
    const { errors, served } = ahead;
    return served === undefined ? [] : [{ aheadSeconds, ...served, ...(errors && { errors }) }];
  });
}
