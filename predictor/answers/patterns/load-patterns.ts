import { percent, utcMinutes } from "@tradewind/core/values/amounts.ts";
import { mean, median } from "@tradewind/core/values/statistics.ts";
import type { Pattern } from "@tradewind/core/contract/pattern.ts";
import { expectedAt } from "../../forecast/expected-load.ts";
import type { Steps } from "../../forecast/expected-load.ts";
import type { ForesightState } from "../../forecast/foresight.ts";
import { horizonSteps } from "../../forecast/horizons.ts";
import { levelShift } from "./level-shift.ts";
import { confidenceOf, spread } from "./robust.ts";
import { trendOf } from "./trend.ts";

/** Steps that level and trend are looked for in: four hours of five minutes, or 48 minutes. */
const LOOK_BACK = 48;
/** Steps that a trend, and the usual value of a step, are taken from: two hours of five minutes. */
const LAST = 24;
const LEAST_STEPS = 12;
/** A step so many spreads off is none that was to be expected. */
const UNUSUAL = 4;
/** Less than this share of the load is no change, whatever the past was like. */
const LEAST_SPREAD = 0.05;
/** A season must have been seen so often, and say this share of what moves. */
const LEAST_SEASONS = 3;
const LEAST_STRENGTH = 0.3;

type LoadPattern = Omit<Pattern, "service" | "callee">;

/** Steps of the load with the logarithm of each over what its season says; steps without a load are left out. */
interface Residuals {
  readonly stepSeconds: number;
  readonly logs: readonly number[];
  /** End of each step, ms. */
  readonly ends: readonly number[];
  /** What was to be expected of the last step, requests per second. */
  readonly usual: number;
  readonly last: number;
  readonly isSeasonal: boolean;
}

/** What the load of an application shows now: by its own past, and by nothing else. */
export function loadPatterns(foresight: ForesightState): LoadPattern[] {
  const seasons = seasonPattern(foresight);
  const residuals = residualsOf(foresight);
  if (residuals === undefined) return seasons;
  const shifts = shiftPattern(residuals);
  const [shift] = shifts;
  return [
    ...shifts,
    ...trendPattern(residuals, shift?.sinceMs ?? 0),
    ...seasons,
    ...(shift === undefined ? anomalyPattern(residuals) : []),
  ];
}

/** Steps of a season in use in steps of this length. */
function seasonOf(foresight: ForesightState, stepSeconds: number): number | undefined {
  const used = foresight.find(({ isServed, season }) => isServed && season !== undefined);
  if (used?.season === undefined) return undefined;
  const steps = (used.season.seasonSteps * used.series.stepMs) / (1e3 * stepSeconds);
  return Number.isInteger(steps) ? steps : undefined;
}

function residualsOf(foresight: ForesightState): Residuals | undefined {
  const { endMs, stepSeconds, steps } = horizonSteps(foresight);
  const season = seasonOf(foresight, stepSeconds);
  const isSeasonal = season !== undefined && steps.length > season + LEAST_STEPS;
  const logs: number[] = [];
  const ends: number[] = [];
  let usual = Number.NaN;
  for (let at = Math.max(0, steps.length - LOOK_BACK); at < steps.length; at += 1) {
    const load = steps[at] ?? 0;
    const expected = isSeasonal ? expectedAt(steps, at, season) : 1;
    if (!(load > 0) || !(expected > 0)) continue;
    logs.push(Math.log(load / expected));
    ends.push(endMs - 1e3 * stepSeconds * (steps.length - 1 - at));
    usual = expected;
  }
  const last = steps.at(-1) ?? 0;
  if (logs.length < LEAST_STEPS || ends.at(-1) !== endMs) return undefined;
  if (!isSeasonal) usual = Math.exp(median(logs.slice(-LAST - 1, -1)));
  return { stepSeconds, logs, ends, usual, last, isSeasonal };
}

/** Deviation of one step from the step before it, less the change of the level: chance of the count at least. */
function noiseOf({ logs, stepSeconds, usual }: Residuals): number {
  const changes = logs.slice(1).map((log, at) => log - (logs[at] ?? log));
  const chance = 1 / Math.sqrt(Math.max(1, usual * stepSeconds));
  return Math.max(spread(changes) / Math.SQRT2, chance, LEAST_SPREAD / 2);
}

function shiftPattern(residuals: Residuals): LoadPattern[] {
  const { ends, logs, stepSeconds } = residuals;
  const found = levelShift(logs, noiseOf(residuals));
  if (found === undefined) return [];
  const sinceMs = (ends[found.at] ?? 0) - 1e3 * stepSeconds;
  const words = `the load has been ${found.ratio.toFixed(2)} times what it was since ${utcMinutes(sinceMs)}`;
  return [{ kind: "shift", sinceMs, size: found.ratio, confidence: found.confidence, words }];
}

/** Of what came after the last shift, which is no slope. */
function trendPattern({ ends, logs, stepSeconds }: Residuals, afterMs: number): LoadPattern[] {
  const from = Math.max(
    logs.length - LAST,
    ends.findIndex((endMs) => endMs > afterMs),
  );
  const found = trendOf(logs.slice(from), stepSeconds);
  if (found === undefined) return [];
  const { change, confidence } = found;
  const over = lengthOf(stepSeconds * (logs.length - from));
  const words = `the load has ${change > 0 ? "risen" : "fallen"} by ${percent(Math.abs(change))} over ${over}`;
  return [{ kind: "trend", sinceMs: (ends[from] ?? 0) - 1e3 * stepSeconds, size: change, confidence, words }];
}

function anomalyPattern(residuals: Residuals): LoadPattern[] {
  const { ends, isSeasonal, last, logs, stepSeconds, usual } = residuals;
  const before = logs.slice(-LAST - 1, -1);
  const chance = 1 / Math.sqrt(Math.max(1, usual * stepSeconds));
  const now = logs.at(-1) ?? 0;
  const z = (now - median(before)) / Math.max(spread(before), chance, LEAST_SPREAD);
  const isOutside = now > Math.max(...before) || now < Math.min(...before);
  if (!(Math.abs(z) > UNUSUAL) || !isOutside) return [];
  const sinceMs = (ends.at(-1) ?? 0) - 1e3 * stepSeconds;
  const of = isSeasonal ? "its season says" : "is usual of late";
  const words = `the load of the last ${lengthOf(stepSeconds)} is ${rate(last)}, where ${rate(usual)} ${of}`;
  const size = last / usual;
  return [{ kind: "anomaly", sinceMs, size, confidence: confidenceOf(Math.abs(z), UNUSUAL), words }];
}

/** The strongest of the seasons that were found, of any step. */
function seasonPattern(foresight: ForesightState): LoadPattern[] {
  const found = foresight.flatMap(({ season, series }) => {
    const steps = season?.seasonSteps;
    if (steps === undefined || series.values.length < LEAST_SEASONS * steps) return [];
    const strength = strengthOf(series.values, steps);
    return strength >= LEAST_STRENGTH ? [{ series, steps, strength }] : [];
  });
  const [best] = found.toSorted((a, b) => b.strength - a.strength);
  if (best === undefined) return [];
  const { series, steps, strength } = best;
  const last = series.values.slice(-steps).map((value) => value ?? 0);
  const highest = last.indexOf(Math.max(...last));
  const size = Math.max(...last) / mean(last);
  const sinceMs = series.endMs - series.stepMs * steps;
  const peakMs = sinceMs + series.stepMs * highest;
  const words = `the load repeats every ${lengthOf((steps * series.stepMs) / 1e3)}; highest from ${utcMinutes(peakMs)}, at ${size.toFixed(2)} times the mean`;
  return [{ kind: "season", sinceMs, size, confidence: strength, words }];
}

/** Share of the variance of the load that the season before says; of steps that have one, each less its level. */
function strengthOf(values: Steps, season: number): number {
  const loads: number[] = [];
  const errors: number[] = [];
  for (let at = season; at < values.length; at += 1) {
    const [load, expected] = [values[at], expectedAt(values, at, season)];
    if (typeof load !== "number" || Number.isNaN(expected)) continue;
    loads.push(load);
    errors.push(load - expected);
  }
  const whole = variance(loads);
  return whole > 0 ? Math.max(0, Math.min(1, 1 - variance(errors) / whole)) : 0;
}

function variance(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const middle = mean(values);
  return mean(values.map((value) => (value - middle) ** 2));
}

const rate = (perSecond: number): string => `${Number(perSecond.toPrecision(3))}/s`;

function lengthOf(seconds: number): string {
  if (seconds < 120) return seconds === 60 ? "minute" : `${seconds} s`;
  if (seconds < 7_200) return `${Number((seconds / 60).toFixed(1))} minutes`;
  return `${Number((seconds / 3_600).toFixed(1))} hours`;
}
