import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { mean, median, quantile } from "@tradewind/core/values/statistics.ts";
import type { FittedHistory } from "./fitted.ts";
import { flowOf, routeSeconds } from "./route-model.ts";
import type { RouteModel } from "./route-model.ts";
import { selfTimeSeconds, windowAt } from "./service-model.ts";

/** Predicted and measured p95 of one route in one interval. */
export interface PredictedInterval {
  readonly endMs: number;
  readonly predictedSeconds: number;
  readonly measuredSeconds: number;
}

/** Mean and median of |predicted − measured| / measured. */
export interface Errors {
  readonly intervals: number;
  readonly meanRatio: number;
  readonly medianRatio: number;
}

/** How well one route is predicted on intervals that no model saw. */
export interface RouteValidation {
  readonly route: string;
  readonly all: Errors;
  /** Intervals with a p95 of at least twice the calm median: where a wrong prediction costs. */
  readonly knee: Errors;
  /** Median of the fitted part, the same for every interval: what a model has to beat. */
  readonly constant: Errors;
  /** The interval before: what is known without any model. */
  readonly persistence: Errors;
  /** Median of predicted over measured, less 1: above 0 predicts too slow. */
  readonly bias: number;
  /** Share of later intervals inside the 90 % interval that the end of the fitted part gave. */
  readonly coverage: number;
  /** Standard deviation of ln measured − ln predicted on that end, less nothing: what replays draw their noise from. */
  readonly logError: number;
  /** Quantiles 0.05 and 0.95 of the means of ln measured − ln predicted over an hour each, on the later part. */
  readonly hourly: readonly [number, number];
  /** Added to ln predicted: the median of ln measured − ln predicted on the end of the fitted part; in a replay, more. */
  readonly shift: number;
  readonly series: readonly PredictedInterval[];
}

/** Share of the fitted part, at its end, that calibrates intervals. */
const CALIBRATION_RATIO = 0.2;
const KNEE = 2;

/** Self times of all services at an interval as they really were sized and loaded, by service number. */
function predictedTails({ index, services }: FittedHistory, endMs: number): Float64Array {
  return Float64Array.from(index.names, (name) => {
    const model = services.get(name);
    const window = model && windowAt(model.windows, endMs);
    return model === undefined || window === undefined ? 0 : selfTimeSeconds(window);
  });
}

/** @param shift added to ln predicted */
function predict(
  fitted: FittedHistory,
  route: RouteModel,
  sets: readonly WindowSet[],
  shift = 0,
): PredictedInterval[] {
  return sets.flatMap((set) => {
    const latency = flowOf(set, route.route)?.latency;
    if (latency === undefined || !(latency.p95Seconds > 0)) return [];
    const predictedSeconds = Math.exp(shift) * routeSeconds(route, predictedTails(fitted, set.endMs));
    return [{ endMs: set.endMs, predictedSeconds, measuredSeconds: latency.p95Seconds }];
  });
}

function errorsOf(
  intervals: readonly PredictedInterval[],
  predictor: (each: PredictedInterval, place: number) => number,
): Errors {
  const ratios = intervals.map((each, place) => Math.abs(predictor(each, place) / each.measuredSeconds - 1));
  const count = ratios.length;
  return {
    intervals: count,
    meanRatio: mean(ratios),
    medianRatio: median(ratios),
  };
}

/** Predicts the later part as it ran, and compares with what was measured. */
export function validate(
  fitted: FittedHistory,
  fit: readonly WindowSet[],
  later: readonly WindowSet[],
): RouteValidation[] {
  return fitted.routes.map((route) => {
    const seen = predict(fitted, route, fit);
    const calibration = seen.slice(Math.floor(seen.length * (1 - CALIBRATION_RATIO)));
    const logErrors = calibration.map((each) => Math.log(each.measuredSeconds / each.predictedSeconds));
    const shift = logErrors.length === 0 ? 0 : median(logErrors);
    const [low, high] = [0.05, 0.95].map((ratio) => quantile(logErrors, ratio) - shift);
    const series = predict(fitted, route, later, shift);
    const calm = median(seen.map(({ measuredSeconds }) => measuredSeconds));
    const knee = series.filter(({ measuredSeconds }) => measuredSeconds >= KNEE * calm);
    const inside = series.filter(({ measuredSeconds, predictedSeconds }) => {
      const error = Math.log(measuredSeconds / predictedSeconds);
      return error >= (low ?? 0) && error <= (high ?? 0);
    });
    const predicted = ({ predictedSeconds }: PredictedInterval): number => predictedSeconds;
    return {
      route: route.route,
      all: errorsOf(series, predicted),
      knee: errorsOf(knee, predicted),
      constant: errorsOf(series, () => calm),
      persistence: errorsOf(series, (_, place) => series[place - 1]?.measuredSeconds ?? calm),
      bias: median(series.map((each) => each.predictedSeconds / each.measuredSeconds)) - 1,
      coverage: series.length === 0 ? Number.NaN : inside.length / series.length,
      logError: deviation(logErrors),
      hourly: hourlyErrors(series),
      shift,
      series,
    };
  });
}

const HOUR_MS = 3_600_000;

function hourlyErrors(series: readonly PredictedInterval[]): readonly [number, number] {
  const hours = Map.groupBy(series, ({ endMs }) => Math.floor(endMs / HOUR_MS));
  const means = [...hours.values()].map((hour) =>
    mean(hour.map((each) => Math.log(each.measuredSeconds / each.predictedSeconds))),
  );
  return means.length === 0 ? [0, 0] : [quantile(means, 0.05), quantile(means, 0.95)];
}

function deviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const middle = mean(values);
  return Math.sqrt(values.reduce((sum, each) => sum + (each - middle) ** 2, 0) / (values.length - 1));
}
