import { FORECAST_SCHEMA } from "@tradewind/core/contract/forecast.ts";
import type { ForecastPoint, LoadForecast } from "@tradewind/core/contract/forecast.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { Gauge } from "prom-client";
import type { Registry } from "prom-client";
import { HOLD_MS, seasonAhead } from "../../decide/cost/learn/outlook.ts";
import type { CostSettings } from "../../decide/facts/cost-settings.ts";
import { horizonSteps, LoadHorizons } from "../../forecast/horizons.ts";
import type { PolicyState } from "../../decide/state.ts";

/** The load to come, as the state of the last decision knows it: worked out when somebody asks, once for each step of load. */
export class LoadForecasts {
  readonly #settings: Pick<CostSettings, "seasons">;
  #state: PolicyState | undefined;
  readonly #horizons = new LoadHorizons();
  #points: readonly ForecastPoint[] = [];
  /** End of the steps that the points follow, and their length. */
  #after: readonly [number, number] = [Number.NaN, Number.NaN];

  constructor(settings: Pick<CostSettings, "seasons">) {
    this.#settings = settings;
  }

  adopt(state: PolicyState): void {
    this.#state = state;
  }

  /** Undefined before the first window with load has been decided on. */
  latest(): LoadForecast | undefined {
    const { application, cost, namespace, windowEndMs } = this.#state ?? {};
    if (application === undefined || namespace === undefined) return undefined;
    if (cost === undefined || windowEndMs === undefined) return undefined;
    const steps = horizonSteps(cost.outlook.foresight);
    const { endMs, stepSeconds } = steps;
    if (this.#after[0] !== endMs || this.#after[1] !== stepSeconds) {
      this.#points = this.#horizons.after(steps);
      this.#after = [endMs, stepSeconds];
    }
    return {
      schema: FORECAST_SCHEMA,
      application,
      namespace,
      madeAtMs: windowEndMs,
      ...this.#season(cost),
      stepSeconds,
      points: [...this.#points],
    };
  }

  #season({ outlook, startSeconds }: NonNullable<PolicyState["cost"]>): Pick<LoadForecast, "season"> {
    const { seasons } = this.#settings;
    const times = { horizonMs: 1e3 * startSeconds, holdMs: HOLD_MS };
    const { foreseen, reachSeconds } = seasonAhead(outlook, times);
    if (foreseen === undefined || !seasons) return {};
    const { perSecond, seasonSeconds, sigma } = foreseen;
    return { season: { seasonSeconds, reachSeconds, perSecond, sigma } };
  }
}

interface ForecastGauge {
  /** After `tradewind_load_forecast_`. */
  readonly name: string;
  readonly help: string;
  readonly value: (point: ForecastPoint) => number | undefined;
}

const OF_LATE = "of the forecasts served of late for this time ahead";

const GAUGES: readonly ForecastGauge[] = [
  {
    name: "requests_per_second",
    help: "Load of the application expected this time ahead (median).",
    value: ({ middle }) => middle,
  },
  {
    name: "low_requests_per_second",
    help: "Load of the application that is exceeded with a probability of 0.9 this time ahead.",
    value: ({ low }) => low,
  },
  {
    name: "high_requests_per_second",
    help: "Load of the application that is exceeded with a probability of 0.1 this time ahead.",
    value: ({ high }) => high,
  },
  {
    name: "bias_ratio",
    help: `Mean of load less forecast, over the mean load, ${OF_LATE}.`,
    value: ({ errors }) => errors?.bias,
  },
  {
    name: "coverage_ratio",
    help: `Share of loads between low and high ${OF_LATE}; 0.8 is right.`,
    value: ({ errors }) => errors?.coverage,
  },
  {
    name: "mase_ratio",
    help: `Mean absolute error, over that of repeating the season before, ${OF_LATE}.`,
    value: ({ errors }) => errors?.mase,
  },
];

/** Series of each time ahead; none before there is a forecast. */
export function registerForecastMetrics(
  registry: Registry,
  { forecasts, log }: { readonly forecasts: LoadForecasts; readonly log: Logger },
): void {
  const register = (
    name: string,
    help: string,
    labels: string[],
    fill: (gauge: Gauge, made: LoadForecast) => void,
  ): void => {
    const gauge = new Gauge({
      name,
      help,
      labelNames: ["namespace", "application", ...labels],
      registers: [registry],
      collect() {
        this.reset();
        try {
          const made = forecasts.latest();
          if (made !== undefined) fill(this, made);
        } catch (error) {
          // One failure here would lose the whole scrape.
          log.error({ problem: describeError(error) }, "no load forecast for this scrape");
        }
      },
    });
    gauge.reset();
  };
  for (const { help, name, value } of GAUGES)
    register(
      `tradewind_load_forecast_${name}`,
      help,
      ["ahead_seconds"],
      (gauge, { application, namespace, points }) => {
        for (const point of points) {
          const now = value(point);
          if (now !== undefined)
            gauge.set({ namespace, application, ahead_seconds: point.aheadSeconds }, now);
        }
      },
    );
  register(
    "tradewind_load_season_seconds",
    "Season of the load that the decision is ready for; absent where none does better than the load of late.",
    [],
    (gauge, { application, namespace, season }) => {
      if (season !== undefined) gauge.set({ namespace, application }, season.seasonSeconds);
    },
  );
}
