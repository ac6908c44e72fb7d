import { z } from "zod";
import { Count, EpochMs, NonNegative, ObjectName, orAbsent, Ratio } from "./quantity.ts";

export const FORECAST_SCHEMA = "tradewind.dev/forecast/v1";

/** Mean load of one step, some time ahead; requests per second of the whole application. */
export const ForecastPoint = z.strictObject({
  aheadSeconds: z.number().positive(),
  /** Shares of the methods that are mixed, 1 in all: the last load, means of 3, 12 and 48 steps, the seasons before, a regression, lag trees. */
  weights: z.strictObject({
    naive: Ratio,
    short: Ratio,
    mean: Ratio,
    long: Ratio,
    season: Ratio,
    regression: Ratio,
    /** Absent in what earlier releases wrote. */
    trees: orAbsent(Ratio),
  }),
  /** Quantiles 0.1, 0.5 and 0.9. */
  low: NonNegative,
  middle: NonNegative,
  high: NonNegative,
  /** Of the forecasts served for this time ahead of late; absent before one could be judged. */
  errors: z
    .strictObject({
      origins: Count,
      /** Mean absolute error over that of repeating the season before (the step before where there is no season). */
      mase: NonNegative,
      /** Mean pinball loss at the three quantiles, requests per second. */
      pinball: NonNegative,
      /** Share of the loads between low and high; 0.8 is right. */
      coverage: Ratio,
      /** Mean of load less forecast, over the mean load. */
      bias: z.number(),
    })
    .optional(),
});
export type ForecastPoint = z.infer<typeof ForecastPoint>;

/** Load of an application to come: `GET /v1/forecast` of the predictor. */
export const LoadForecast = z.strictObject({
  schema: z.literal(FORECAST_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  /** End of the window it was made after. */
  madeAtMs: EpochMs,
  /** What the decision is ready for in place of the load of late; absent where no season does better than that. */
  season: z
    .strictObject({
      seasonSeconds: z.number().positive(),
      /** How far it looks: a start of a pod and two minutes more. */
      reachSeconds: z.number().positive(),
      /** Median of the highest load until then, requests per second, and standard deviation of its logarithm. */
      perSecond: NonNegative,
      sigma: NonNegative,
    })
    .optional(),
  /** Length of the steps of the points. */
  stepSeconds: z.number().positive(),
  /** Empty until the first steps are known. */
  points: z.array(ForecastPoint).max(10),
});
export type LoadForecast = z.infer<typeof LoadForecast>;
