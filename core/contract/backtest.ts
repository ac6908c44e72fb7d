import { z } from "zod";
import { Count, EpochMs, NonNegative, Ratio } from "./quantity.ts";

/** An error without intervals is no number, and JSON says null. */
const Errors = z.object({
  intervals: Count,
  meanRatio: NonNegative.nullable(),
  medianRatio: NonNegative.nullable(),
});

const Sums = z.object({
  requests: NonNegative,
  /** Share of requests over the objective. */
  requestsOver: Ratio,
  cores: NonNegative,
  gigabytes: NonNegative,
  costPerHour: NonNegative,
  starts: Count,
  stops: Count,
});

/** What `tradewind backtest --json` prints, as far as a reader needs it: `GET /v1/backtest` of the scaler. */
export const BacktestSummary = z.object({
  application: z.string().max(253),
  objectiveSeconds: z.number().positive(),
  percentile: Ratio,
  fromMs: EpochMs,
  fitUntilMs: EpochMs,
  toMs: EpochMs,
  windowSeconds: z.number().positive(),
  routes: z
    .array(
      z.object({
        route: z.string().max(200),
        all: Errors,
        knee: Errors,
        constant: Errors,
        persistence: Errors,
        /** Median of predicted over measured, less 1. */
        bias: z.number().nullable(),
        /** Share of intervals within the 90 % interval. */
        coverage: Ratio.nullable(),
        series: z
          .array(z.object({ endMs: EpochMs, predictedSeconds: NonNegative, measuredSeconds: NonNegative }))
          .max(100_000),
      }),
    )
    .max(1_000),
  /** Measured. */
  recorded: Sums,
  /** Simulated on the fitted models. */
  policies: z.array(z.object({ policy: z.string().max(64), result: Sums })).max(100),
});
export type BacktestSummary = z.infer<typeof BacktestSummary>;
