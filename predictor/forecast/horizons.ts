import { mean } from "@tradewind/core/values/statistics.ts";
import type { ForecastPoint } from "@tradewind/core/contract/forecast.ts";
import type { Steps } from "./expected-load.ts";
import type { ForesightState } from "./foresight.ts";
import { Ahead } from "./load-ahead.ts";
import type { LoadSeries } from "./load-series.ts";
import { seasonOf } from "./season.ts";

const HORIZONS_SECONDS = [300, 600, 900, 1_200, 1_500] as const;
/** Steps of five minutes from which these are forecast, in place of minutes. */
const LEAST_COARSE = 48;
const QUARTERS = 4;

/** Means of the known ones of four steps each, of which the last ends with the minute. */
function byMinute({ endMs, stepMs, values }: LoadSeries): (number | null)[] {
  const complete = values.length - Math.round((endMs % (QUARTERS * stepMs)) / stepMs);
  const first = complete % QUARTERS;
  return Array.from({ length: Math.max(0, (complete - first) / QUARTERS) }, (_, at) => {
    const from = first + at * QUARTERS;
    const known = values.slice(from, from + QUARTERS).filter((value) => value !== null);
    return known.length > 0 ? mean(known) : null;
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
  const stepMs = 1e3 * stepSeconds;
  const endMs = Math.floor((series?.endMs ?? 0) / stepMs) * stepMs;
  if (series === undefined) return { stepSeconds, endMs, steps: [] };
  return { stepSeconds, endMs, steps: isCoarse ? series.values : byMinute(series) };
}

/** A learner begins again with the steps that are kept after so many more: a day of steps of five minutes. */
const MOST_FURTHER = 288;

/** Forecasts 5 to 25 minutes ahead, by learners that go on from where they were: a step costs 0.1 ms for each time ahead. */
export class LoadHorizons {
  private learners: readonly { readonly aheadSeconds: number; readonly ahead: Ahead }[] = [];
  private known: Omit<HorizonSteps, "steps"> & { readonly startMs: number; readonly further: number } = {
    stepSeconds: 0,
    startMs: 0,
    endMs: 0,
    further: 0,
  };

  /** @param now the same load as before and steps after it; whatever else is learnt from its first step on, which takes some 50 ms */
  after(now: HorizonSteps): ForecastPoint[] {
    const { endMs, stepSeconds } = now;
    const from = now.steps.findIndex((value) => value !== null);
    const steps = from < 0 ? [] : now.steps.slice(from);
    const startMs = endMs - 1e3 * stepSeconds * steps.length;
    const added = Math.round((endMs - this.known.endMs) / (1e3 * stepSeconds));
    const further = this.known.further + added;
    const isSame = stepSeconds === this.known.stepSeconds && startMs >= this.known.startMs;
    const goesOn = isSame && added >= 0 && added <= steps.length && further <= MOST_FURTHER;
    this.known = goesOn ? { ...this.known, endMs, further } : { stepSeconds, startMs, endMs, further: 0 };
    if (!goesOn)
      this.learners = HORIZONS_SECONDS.map((aheadSeconds) => ({
        aheadSeconds,
        ahead: new Ahead(aheadSeconds / stepSeconds),
      }));
    const season = seasonOf(steps);
    const fresh = goesOn ? steps.slice(steps.length - added) : steps;
    return this.learners.flatMap(({ ahead, aheadSeconds }): ForecastPoint[] => {
      ahead.setSeason(season);
      for (const step of fresh) ahead.add(step);
      const { errors, served } = ahead;
      return served === undefined ? [] : [{ aheadSeconds, ...served, ...(errors && { errors }) }];
    });
  }
}
