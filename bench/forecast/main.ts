import { mean } from "@tradewind/core/values/statistics.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { ForecastPoint } from "@tradewind/core/contract/forecast.ts";
import { LoadHorizons } from "@tradewind/predictor/forecast/horizons.ts";
import { lagsOf, LagTrees } from "@tradewind/predictor/forecast/lag-trees.ts";
import { HoltWinters } from "@tradewind/simulator/contenders/holt-winters.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { readLoads } from "./data.ts";
import type { LoadData } from "./data.ts";
import { Gru } from "./gru.ts";

const HORIZON_MINUTES = [5, 10, 15, 20, 25] as const;
const TEST_SHARE = 0.3;
const EPOCHS = 12;
/** Steps before a network is trained. */
const LEAST_TRAINED = 200;
/** Steps that the product keeps. */
const KEPT_STEPS = 864;
/** Steps of the method `mean`. */
const MEAN_STEPS = 12;
const QUANTILES = [0.1, 0.5, 0.9] as const;

const METHODS = ["naive", "seasonal", "mean", "holtWinters", "gru", "lagTrees", "served"] as const;
type Method = (typeof METHODS)[number];

interface Sums {
  readonly absolute: Record<Method, number>;
  readonly square: Record<Method, number>;
  count: number;
  rival: number;
  loss: number;
  within: number;
}

/** Sums of the simple methods that were possible. */
const simplest = (of: Record<Method, number>): number[] =>
  [of.naive, of.seasonal, of.mean, of.holtWinters].filter((each) => !Number.isNaN(each));

const zero = (): Record<Method, number> =>
  Object.fromEntries(METHODS.map((method) => [method, 0])) as Record<Method, number>;
const newSums = (): Sums => ({ absolute: zero(), square: zero(), count: 0, rival: 0, loss: 0, within: 0 });
const rounded = (value: number): number => Number(value.toPrecision(4));
const pinball = (error: number, quantile: number): number =>
  Math.max(quantile * error, (quantile - 1) * error);
const cpuSeconds = (since: NodeJS.CpuUsage): number => {
  const { system, user } = process.cpuUsage(since);
  return (system + user) / 1e6;
};

/** Missing steps count as the one before. */
function filled(values: LoadData["values"]): number[] {
  let last = values.find((value) => value !== null) ?? 0;
  return values.map((value) => (last = value ?? last));
}

/** Level and season factors with the least error one step ahead on the training part. */
function fittedHoltWinters(values: readonly number[], season: number): HoltWinters {
  const grid = [0.1, 0.3, 0.6, 0.9].flatMap((level) =>
    [0.1, 0.3].map((each) => ({ level, trend: 0, season: each })),
  );
  let best: { readonly error: number; readonly factors: (typeof grid)[number] } | undefined;
  for (const factors of grid) {
    const tried = new HoltWinters(season, factors);
    let error = 0;
    for (const value of values) {
      error += Math.abs(value - tried.forecast(1));
      tried.add(value);
    }
    if (error < (best?.error ?? Number.POSITIVE_INFINITY)) best = { error, factors };
  }
  const fitted = new HoltWinters(season, best?.factors ?? { level: 0.5, trend: 0, season: 0.1 });
  for (const value of values) fitted.add(value);
  return fitted;
}

interface TrainedGru {
  readonly gru: Gru | undefined;
  readonly seconds: number;
  readonly scale: (value: number) => number;
  readonly unscale: (value: number) => number;
}

function trainedGru(
  values: readonly number[],
  cut: number,
  aheads: readonly number[],
  options: BenchmarkOptions,
): TrainedGru {
  const sorted = values.slice(0, cut).toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  const [middle, spread] = [at(0.5), at(0.75) - at(0.25) || 1];
  const scale = (value: number): number => (value - middle) / spread;
  const unscale = (value: number): number => middle + spread * value;
  if (cut < LEAST_TRAINED) return { gru: undefined, seconds: 0, scale, unscale };
  const rng = seededRng(options.seed);
  const gru = new Gru({ values: values.map(scale), daySteps: 288, aheads }, rng);
  const began = process.cpuUsage();
  gru.train(cut, options.quick ? 1 : EPOCHS, rng);
  return { gru, seconds: cpuSeconds(began), scale, unscale };
}

/** Larger than the product's, and fitted to all that was known at the beginning and in the middle of the test part. */
const RIVAL_TREES = { trees: 120, depth: 4, rate: 0.1 } as const;
const LEAST_SCALE = 1e-3;

/** Forecasts of trees that are fitted to the steps up to a place alone. */
function treesUntil({ season }: LoadData, values: readonly number[], until: number, ahead: number) {
  const scaleAt = (last: number): number =>
    Math.max(LEAST_SCALE, mean(values.slice(Math.max(0, last - 47), last + 1)));
  const inputs = (last: number): number[] => lagsOf({ loads: values, last, ahead, season }, scaleAt(last));
  const origins = Array.from({ length: Math.max(0, until - ahead) }, (_, last) => last);
  const trees = new LagTrees(RIVAL_TREES);
  const change = (last: number): number =>
    ((values[last + ahead] ?? 0) - (values[last] ?? 0)) / scaleAt(last);
  trees.fit(
    origins.map((last) => inputs(last)),
    origins.map((last) => change(last)),
  );
  return (last: number): number => (values[last] ?? 0) + scaleAt(last) * trees.predict(inputs(last));
}

const meanOf = (values: readonly number[], origin: number): number =>
  mean(values.slice(Math.max(0, origin + 1 - MEAN_STEPS), origin + 1));

/** What is asked after every step: each method with its forecast for one horizon. */
interface ForecastQuestion {
  readonly data: LoadData;
  readonly values: readonly number[];
  readonly origin: number;
  readonly ahead: number;
}

/** The value of the season before the step that is forecast; of the step before it where there is no season. */
const rivalOf = ({ ahead, data, origin, values }: ForecastQuestion): number =>
  values[origin + ahead - (data.season ?? 1)] ?? 0;

/** Adds the errors of one forecast. */
function judge(
  sum: Sums,
  asked: ForecastQuestion,
  served: ForecastPoint,
  forecasts: Record<Method, number>,
): void {
  const load = asked.data.values[asked.origin + asked.ahead];
  if (load === null || load === undefined) return;
  for (const method of METHODS) {
    sum.absolute[method] += Math.abs(load - forecasts[method]);
    sum.square[method] += (load - forecasts[method]) ** 2;
  }
  const { high, low, middle } = served;
  sum.rival += Math.abs(load - rivalOf(asked));
  sum.count += 1;
  sum.within += load >= low && load <= high ? 1 : 0;
  for (const [at, quantile] of QUANTILES.entries())
    sum.loss += pinball(load - ([low, middle, high][at] ?? middle), quantile) / QUANTILES.length;
}

/** Origins of the test part, one after the other; what is learnt before them is learnt from the steps before them alone. */
function rolling(data: LoadData, aheads: readonly number[], options: BenchmarkOptions): RollingSums {
  const values = filled(data.values);
  const cut = Math.floor((1 - TEST_SHARE) * values.length);
  const trained = trainedGru(values, cut, aheads, options);
  const holtWinters = fittedHoltWinters(values.slice(0, cut), data.season ?? 0);
  const horizons = new LoadHorizons();
  const middle = Math.floor((cut + values.length) / 2);
  const fitted = [cut, middle].map((until) => aheads.map((ahead) => treesUntil(data, values, until, ahead)));
  const sums = aheads.map(newSums);
  let servedSeconds = 0;
  for (let origin = 0; origin < values.length - 1; origin += 1) {
    const began = process.cpuUsage();
    const points = horizons.after({
      stepSeconds: data.stepSeconds,
      endMs: 1e3 * data.stepSeconds * (origin + 1),
      steps: data.values.slice(Math.max(0, origin + 1 - KEPT_STEPS), origin + 1),
    });
    servedSeconds += cpuSeconds(began);
    if (origin < cut) continue;
    holtWinters.add(values[origin] ?? 0);
    const network = trained.gru?.predict(origin);
    for (const [at, ahead] of aheads.entries()) {
      const [now, sum] = [points[at], sums[at]];
      if (now === undefined || sum === undefined) continue;
      const asked = { data, values, origin, ahead };
      judge(sum, asked, now, {
        naive: values[origin] ?? 0,
        seasonal: data.season === undefined ? Number.NaN : rivalOf(asked),
        mean: meanOf(values, origin),
        holtWinters: holtWinters.forecast(ahead),
        gru: network === undefined ? Number.NaN : trained.unscale(network[at] ?? 0),
        lagTrees: fitted[origin < middle ? 0 : 1]?.[at]?.(origin) ?? Number.NaN,
        served: now.middle,
      });
    }
  }
  return { sums, servedSeconds, trainingSeconds: trained.seconds };
}

interface RollingSums {
  readonly sums: readonly Sums[];
  readonly servedSeconds: number;
  readonly trainingSeconds: number;
}

function measure(data: LoadData, options: BenchmarkOptions) {
  const steps = data.values.length;
  const most = (TEST_SHARE * steps) / 2;
  const minutes = HORIZON_MINUTES.filter((each) => (each * 60) / data.stepSeconds <= most);
  const aheads = minutes.map((each) => (each * 60) / data.stepSeconds);
  const { servedSeconds, sums, trainingSeconds } = rolling(data, aheads, options);
  const known = data.values.filter((value) => value !== null);
  const range =
    known.reduce((high, each) => Math.max(high, each)) - known.reduce((low, each) => Math.min(low, each));
  const figures = (of: Record<Method, number>, by: number): Record<string, number | null> =>
    Object.fromEntries(
      METHODS.map((method) => [method, Number.isNaN(of[method]) ? null : rounded(of[method] / by)]),
    );
  return {
    name: data.name,
    steps,
    stepSeconds: data.stepSeconds,
    hasSeason: data.season !== undefined,
    trainingSeconds: rounded(trainingSeconds),
    servedMilliseconds: rounded((1e3 * servedSeconds) / (steps * aheads.length)),
    horizons: sums.map((sum, at) => ({
      minutes: minutes[at],
      origins: sum.count,
      mase: figures(sum.absolute, sum.rival),
      servedOverTrees: rounded(sum.absolute.served / sum.absolute.lagTrees),
      servedOverBest: rounded(sum.absolute.served / Math.min(...simplest(sum.absolute))),
      scaledSquare: figures(sum.square, sum.count * range ** 2),
      pinball: rounded(sum.loss / sum.count),
      coverage: rounded(sum.within / sum.count),
    })),
  };
}

function run(options: BenchmarkOptions): Promise<Record<string, unknown>> {
  const loads = options.quick ? readLoads().slice(0, 4) : readLoads();
  const series = loads.map((data) => {
    options.progress(`forecast: ${data.name}`);
    return measure(data, options);
  });
  const horizons = series.flatMap((each) => each.horizons);
  const ratios = horizons.map(({ servedOverTrees }) => Math.log(servedOverTrees));
  return Promise.resolve({
    epochs: options.quick ? 1 : EPOCHS,
    past: Gru.past,
    units: Gru.units,
    /** Geometric mean over series and horizons, and the worst of them. */
    servedOverTrees: rounded(Math.exp(mean(ratios))),
    servedOverBest: Math.max(...horizons.map(({ servedOverBest }) => servedOverBest)),
    series,
  });
}

export const benchmark: Benchmark = {
  summary: "forecasts of published load series, 5 to 25 minutes ahead, by rolling origin",
  run,
};
