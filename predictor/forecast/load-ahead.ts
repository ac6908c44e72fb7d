import { expectedAt } from "./expected-load.ts";
import { LagForecast, lagsOf } from "./lag-trees.ts";
import { Mixture } from "./mixture.ts";
import { Recent } from "./recent.ts";
import { Regression } from "./regression.ts";

/**
 * `naive` repeats the last load, `short`, `mean` and `long` the mean of the last 3, 12 and 48 steps (`long` is `mean` until there are so
 * many), `season` the seasons before, `regression` weighs them and the trend by least squares, and `trees` ask for loads of the past and
 * of the season before, once there is enough to learn from.
 */
export const AHEAD_METHODS = ["naive", "short", "mean", "long", "season", "regression", "trees"] as const;
export type AheadMethod = (typeof AHEAD_METHODS)[number];

const SHORT_STEPS = 3;
const STEPS = 12;
const LONG_STEPS = 48;
const INPUTS = 7;
/** Origins that errors are the means of. */
const JUDGED = 400;
/** Origins whose errors give the quantiles. */
const SPREAD_OVER = 100;
/** A change of more than so many means counts as so many for the regression: spikes say nothing about the steps between. */
const MOST_CHANGE = 3;
/** Inputs of the regression beyond this many means count as so many. */
const MOST_INPUT = 6;
/** Loads are measured in the mean of the last {@link LONG_STEPS}, or in this many requests per second where it is less. */
const LEAST_SCALE = 1e-3;
/** Quantiles of the load that are low and high. */
const [LOW, HIGH] = [0.1, 0.9];

/** Load some steps after the last one, requests per second. */
export interface LoadAhead {
  /** Shares of the methods in the forecast, 1 in all. */
  readonly weights: Record<AheadMethod, number>;
  readonly low: number;
  readonly middle: number;
  readonly high: number;
}

/** Of what was served for the last steps, each forecast made before they were known. */
export interface AheadErrors {
  readonly origins: number;
  /** Mean absolute error over that of repeating the season before, or the step before where there is no season. */
  readonly mase: number;
  /** Mean pinball loss at the quantiles 0.1, 0.5 and 0.9, requests per second. */
  readonly pinball: number;
  /** Share of the loads that were between low and high. */
  readonly coverage: number;
  /** Mean of load less forecast, over the mean load. */
  readonly bias: number;
}

interface Origin {
  readonly forecasts: Record<AheadMethod, number>;
  readonly inputs: readonly number[];
  readonly lags: readonly number[];
  readonly base: number;
  readonly scale: number;
}

const pinball = (error: number, quantile: number): number =>
  Math.max(quantile * error, (quantile - 1) * error);
const asList = (of: Readonly<Record<AheadMethod, number>>): number[] => AHEAD_METHODS.map((each) => of[each]);
const over = (a: number, b: number): number => (b > 0 ? a / b : 0);

/**
 * Forecasts of the load a number of steps ahead, after one step after the other. Every forecast is judged once its step is
 * known. The served one is a mixture of all methods, weighted by how they have done.
 */
export class Ahead {
  private readonly ahead: number;
  private season: number | undefined;
  private readonly loads: number[] = [];
  private readonly made: { readonly origin: Origin; readonly served: LoadAhead }[] = [];
  private readonly regression = new Regression(INPUTS);
  private readonly trees = new LagForecast();
  private readonly mixture = new Mixture(AHEAD_METHODS.length);
  private readonly spread = new Recent(SPREAD_OVER);
  private readonly tally = {
    absolute: new Recent(JUDGED),
    signed: new Recent(JUDGED),
    load: new Recent(JUDGED),
    rival: new Recent(JUDGED),
    loss: new Recent(JUDGED),
    within: new Recent(JUDGED),
  };

  /** @param season steps of the season, where one was found */
  constructor(ahead: number, season?: number) {
    this.ahead = ahead;
    this.season = season;
  }

  /** Another season was found, or none any more. */
  setSeason(season: number | undefined): void {
    this.season = season;
  }

  /** @param load of one more step; null where it is not known: then it counts as the one before, and judges nothing */
  add(load: number | null): void {
    this.loads.push(load ?? this.loads.at(-1) ?? 0);
    const before = this.made.length > this.ahead - 1 ? this.made.shift() : undefined;
    if (before !== undefined && load !== null) this.judge(before, load);
    const origin = this.originNow();
    this.made.push({ origin, served: this.serve(origin) });
  }

  /** Undefined before the first step. */
  get served(): LoadAhead | undefined {
    return this.made.at(-1)?.served;
  }

  /** Undefined before a forecast could be judged. */
  get errors(): AheadErrors | undefined {
    const { absolute, load, loss, rival, signed, within } = this.tally;
    if (absolute.count === 0) return undefined;
    return {
      origins: absolute.count,
      mase: over(absolute.mean, rival.mean),
      pinball: loss.mean,
      coverage: within.mean,
      bias: over(signed.mean, load.mean),
    };
  }

  private judge({ origin, served }: { origin: Origin; served: LoadAhead }, load: number): void {
    const { absolute, loss, rival, signed, within, load: loads } = this.tally;
    const { high, low, middle } = served;
    const error = load - middle;
    const { scale } = origin;
    this.spread.add(error / scale);
    // One that said nothing neither gains nor loses.
    const scaled = asList(origin.forecasts).map((each) => (Number.isNaN(each) ? middle : each) / scale);
    this.mixture.learn(scaled, middle / scale, load / scale);
    absolute.add(Math.abs(error));
    signed.add(error);
    loads.add(load);
    rival.add(Math.abs(load - (this.loads.at(-1 - (this.season ?? 1)) ?? load)));
    loss.add((pinball(load - low, LOW) + pinball(error, 0.5) + pinball(load - high, HIGH)) / 3);
    within.add(load >= low && load <= high ? 1 : 0);
    const change = Math.max(-MOST_CHANGE, Math.min(MOST_CHANGE, (load - origin.base) / scale));
    this.regression.learn(origin.inputs, change);
    this.trees.learn(origin.lags, change);
  }

  private originNow(): Origin {
    const { ahead, loads, season } = this;
    const last = loads.length - 1;
    const base = loads[last] ?? 0;
    const back = Math.min(STEPS, last);
    const drift = back > 0 ? (ahead * (base - (loads[last - back] ?? base))) / back : 0;
    const then = season === undefined ? Number.NaN : expectedAt(loads, last + ahead, season);
    const now = season === undefined ? Number.NaN : expectedAt(loads, last, season);
    const expected = Number.isNaN(then) ? base : then;
    const [short, mean, long] = [SHORT_STEPS, STEPS, LONG_STEPS].map((count) => this.meanOf(count));
    const scale = Math.max(LEAST_SCALE, long ?? base);
    const changes = [
      (short ?? base) - base,
      (mean ?? base) - base,
      (long ?? base) - base,
      base - (loads[last - 1] ?? base),
      drift,
      expected - base,
      Number.isNaN(then - now) ? 0 : then - now,
    ];
    const lags = lagsOf({ loads, last, ahead, season }, scale);
    const inputs = changes.map((each) => Math.max(-MOST_INPUT, Math.min(MOST_INPUT, each / scale)));
    const regression = Math.max(0, base + scale * this.regression.predict(inputs));
    return {
      base,
      scale,
      inputs,
      lags,
      forecasts: {
        naive: base,
        short: short ?? base,
        mean: mean ?? base,
        long: (loads.length < LONG_STEPS ? mean : long) ?? base,
        season: expected,
        regression,
        trees: Math.max(0, base + scale * this.trees.predict(lags)),
      },
    };
  }

  private meanOf(count: number): number {
    const from = Math.max(0, this.loads.length - count);
    let sum = 0;
    for (let at = from; at < this.loads.length; at += 1) sum += this.loads[at] ?? 0;
    return sum / (this.loads.length - from);
  }

  private serve({ forecasts, scale }: Origin): LoadAhead {
    const known = AHEAD_METHODS.map((method) => !Number.isNaN(forecasts[method]));
    const shares = this.mixture.weights.map((weight, at) => (known[at] === true ? weight : 0));
    // Where nobody who speaks has a share any more, the last load is served.
    const all = shares.reduce((sum, each) => sum + each, 0) || 1;
    // About the last load, so that methods that agree are not rounded apart.
    const { naive } = forecasts;
    const middle = asList(forecasts).reduce(
      (sum, each, at) => (known[at] === true ? sum + ((each - naive) * (shares[at] ?? 0)) / all : sum),
      naive,
    );
    const [low = 0, high = 0] = this.spread.quantiles([LOW, HIGH]);
    const weights = AHEAD_METHODS.map((method, at) => [method, (shares[at] ?? 0) / all]);
    return {
      weights: Object.fromEntries(weights) as Record<AheadMethod, number>,
      low: Math.max(0, Math.min(middle, middle + scale * low)),
      middle,
      high: Math.max(middle, middle + scale * high),
    };
  }
}
