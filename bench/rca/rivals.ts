import { mean, median, quantile } from "@tradewind/core/values/statistics.ts";
import type { Incident } from "@tradewind/predictor/answers/reason/incident.ts";
import type { Series, SignalName } from "@tradewind/predictor/answers/reason/signals.ts";

/** Names of services, most suspicious first. */
export type Rival = (incident: Incident) => string[];

const usual = (values: ArrayLike<number>): number => mean(values, 0);
const deviation = (values: ArrayLike<number>): number => {
  const middle = usual(values);
  return Math.sqrt(usual(Array.from(values, (each) => (each - middle) ** 2)));
};
const LEAST = 1e-9;

/** Distance from the median over the interquartile range, as BARO's robust scaler has it; of a constant, over its level. */
function robust({ normal }: Series): (value: number) => number {
  const past = Array.from(normal);
  const middle = median(past);
  const range = quantile(past, 0.75) - quantile(past, 0.25);
  return (value) => Math.abs(value - middle) / Math.max(range, 0.01 * Math.abs(middle), LEAST);
}

const medianRule = (series: Series): number => robust(series)(median(Array.from(series.now)));
const maxZ = ({ normal, now }: Series): number =>
  Math.abs(usual(now) - usual(normal)) / Math.max(deviation(normal), 0.01 * Math.abs(usual(normal)), LEAST);
const baro = (series: Series): number => {
  const scaled = robust(series);
  return Array.from(series.now).reduce((most, value) => Math.max(most, scaled(value)), 0);
};

const SIZES: ReadonlySet<SignalName> = new Set(["cpuUtilisation", "cpuCores", "memoryRatio", "memoryBytes"]);
/** Rise of the median of CPU or memory over the interquartile range. */
function riseRule(series: Series): number {
  const { normal, now, signal } = series;
  const isMore = SIZES.has(signal) && median(Array.from(now)) > median(Array.from(normal));
  return isMore ? medianRule(series) : 0;
}

/** The largest score of a service's signals, those of the calls to it among them. */
function scores({ calls, candidates }: Incident, of: (series: Series) => number): Map<string, number> {
  const highest = new Map(candidates.map(({ name }) => [name, 0]));
  const add = (name: string, series: Series): void => {
    if (series.normal.length === 0 || series.now.length === 0) return;
    highest.set(name, Math.max(highest.get(name) ?? 0, of(series)));
  };
  for (const { name, series } of candidates) for (const each of series) add(name, each);
  for (const { callee, transit } of calls) if (transit !== undefined) add(callee, transit);
  return highest;
}

const ranked = (values: ReadonlyMap<string, number>): string[] =>
  [...values].sort(([a, left], [b, right]) => right - left || (a < b ? -1 : 1)).map(([name]) => name);

const STEPS = 50;
const RESTART = 0.15;

/** Personalised PageRank from the entry along calls, to callees in proportion to their anomaly, and on itself by its own. */
function randomWalk(incident: Incident): string[] {
  const anomaly = scores(incident, (series) => Math.log1p(maxZ(series)));
  const next = new Map<string, string[]>(incident.candidates.map(({ name }) => [name, [name]]));
  for (const { caller, callee } of incident.calls) next.get(caller)?.push(callee);
  let at = new Map([[incident.entry, 1]]);
  for (let step = 0; step < STEPS; step += 1) {
    const after = new Map([[incident.entry, RESTART]]);
    for (const [name, chance] of at) {
      const places = next.get(name) ?? [name];
      const weights = places.map((place) => LEAST + (anomaly.get(place) ?? 0));
      const all = weights.reduce((sum, each) => sum + each, 0);
      for (const [i, place] of places.entries())
        after.set(place, (after.get(place) ?? 0) + ((1 - RESTART) * chance * (weights[i] ?? 0)) / all);
    }
    at = after;
  }
  return ranked(new Map([...anomaly.keys()].map((name) => [name, at.get(name) ?? 0])));
}

/** Rules that people have without this project, on the same incidents. */
export const RIVALS: Readonly<Record<string, Rival>> = {
  "median-iqr": (incident) => ranked(scores(incident, medianRule)),
  "cpu-or-memory-rise": (incident) => ranked(scores(incident, riseRule)),
  "max-z": (incident) => ranked(scores(incident, maxZ)),
  "random-walk": randomWalk,
  "baro-like": (incident) => ranked(scores(incident, baro)),
};
