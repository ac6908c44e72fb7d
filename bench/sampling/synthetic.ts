import { exponential, seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { addPlateau } from "./trace.ts";
import type { Episode, Trace } from "./trace.ts";

/** Second-to-second noise of every structured signal, cores. */
const NOISE = 0.01;

export function between(rng: Rng, low: number, high: number): number {
  return low + (high - low) * rng();
}

export function filled(seconds: number, rate: (second: number) => number): Float64Array {
  return Float64Array.from({ length: seconds }, (_, second) => rate(second));
}

/** Rates cannot be negative: a counter never goes back. */
export function floored(rates: Float64Array): Float64Array {
  return rates.map((rate) => Math.max(0, rate));
}

/** Bursts of 5-60 s and 0.3-1.5 cores at exponentially distributed gaps. */
export function addBursts(rates: Float64Array, rng: Rng, meanGapSeconds: number): Episode[] {
  const episodes: Episode[] = [];
  let from = exponential(rng, meanGapSeconds);
  while (from < rates.length) {
    const to = from + between(rng, 5, 60);
    const height = between(rng, 0.3, 1.5);
    const before = rates[Math.floor(from)] ?? 0;
    addPlateau(rates, from, to, height);
    episodes.push({
      start: Math.floor(from),
      end: Math.min(rates.length, Math.ceil(to)),
      level: before + height / 2,
    });
    from = to + exponential(rng, meanGapSeconds);
  }
  return episodes;
}

export function ornsteinUhlenbeck(
  seconds: number,
  rng: Rng,
  deviation: number,
  memorySeconds: number,
): Float64Array {
  const keep = Math.exp(-1 / memorySeconds);
  let x = deviation * standardNormal(rng);
  return filled(seconds, () => {
    x = keep * x + deviation * Math.sqrt(1 - keep ** 2) * standardNormal(rng);
    return x;
  });
}

const quiet = (seconds: number, rng: Rng, level: (second: number) => number): Float64Array =>
  filled(seconds, (second) => level(second) + NOISE * standardNormal(rng));

function idleBursts(seconds: number, rng: Rng): Omit<Trace, "name"> {
  const rates = quiet(seconds, rng, () => 0.1);
  const episodes = addBursts(rates, rng, 300);
  return { structured: true, rates: floored(rates), episodes };
}

function diffusing(seconds: number, rng: Rng): Omit<Trace, "name"> {
  const rates = ornsteinUhlenbeck(seconds, rng, 0.1, 300).map((x) => x + 0.5);
  const episodes = addBursts(rates, rng, 1800);
  return { structured: true, rates: floored(rates), episodes };
}

function periodicBursts(seconds: number, rng: Rng): Omit<Trace, "name"> {
  const rates = quiet(seconds, rng, () => 0.1);
  const phase = 60 * rng();
  const episodes: Episode[] = [];
  for (let from = phase; from + 8 < seconds; from += 60) {
    addPlateau(rates, from, from + 8, 0.8);
    episodes.push({ start: Math.floor(from), end: Math.ceil(from + 8), level: 0.5 });
  }
  return { structured: true, rates: floored(rates), episodes };
}

function diurnalBursts(seconds: number, rng: Rng): Omit<Trace, "name"> {
  const phase = 2 * Math.PI * rng();
  const rates = quiet(seconds, rng, (s) => 0.5 + 0.4 * Math.sin((2 * Math.PI * s) / 86_400 + phase));
  const episodes = addBursts(rates, rng, 900);
  return { structured: true, rates: floored(rates), episodes };
}

function steps(seconds: number, rng: Rng): Omit<Trace, "name"> {
  const rates = quiet(seconds, rng, () => 0);
  const episodes: Episode[] = [];
  let before = 0;
  for (let from = 0; from < seconds;) {
    const to = from + 5 + exponential(rng, 600);
    const level = between(rng, 0.1, 1.5);
    addPlateau(rates, from, to, level);
    if (from > 0 && level > before + 0.3) {
      const end = Math.min(seconds, Math.ceil(to));
      episodes.push({ start: Math.floor(from), end, level: (before + level) / 2 });
    }
    before = level;
    from = to;
  }
  return { structured: true, rates: floored(rates), episodes };
}

function ramps(seconds: number, rng: Rng): Omit<Trace, "name"> {
  const phase = rng();
  const rates = quiet(seconds, rng, (s) => 0.1 + 0.9 * Math.abs(1 - 2 * ((s / 3600 + phase) % 1)));
  return { structured: true, rates: floored(rates), episodes: [] };
}

/** A job every quarter of an hour that climbs to one core within two minutes and then stops. */
function batchJob(seconds: number, rng: Rng): Omit<Trace, "name"> {
  const phase = Math.floor(900 * rng());
  const rates = quiet(seconds, rng, (s) => {
    const inJob = (s + phase) % 900;
    return inJob < 120 ? 0.1 + (0.9 * inJob) / 120 : 0.1;
  });
  const episodes: Episode[] = [];
  for (let from = 900 - phase; from + 120 < seconds; from += 900) {
    episodes.push({ start: from + 40, end: from + 120, level: 0.4 - 0.05 });
  }
  return { structured: true, rates: floored(rates), episodes };
}

function whiteNoise(seconds: number, rng: Rng): Omit<Trace, "name"> {
  const rates = filled(seconds, () => 0.5 + 0.15 * standardNormal(rng));
  return { structured: false, rates: floored(rates), episodes: [] };
}

function randomWalk(seconds: number, rng: Rng): Omit<Trace, "name"> {
  let x = 1;
  const rates = filled(seconds, () => {
    x += 0.03 * standardNormal(rng);
    if (x < 0 || x > 2) x = x < 0 ? -x : 4 - x;
    return x;
  });
  return { structured: false, rates, episodes: [] };
}

const GENERATORS = {
  "idle+bursts": idleBursts,
  "ornstein-uhlenbeck": diffusing,
  "8 s burst every 60 s": periodicBursts,
  "diurnal+bursts": diurnalBursts,
  "step changes": steps,
  "hourly ramp": ramps,
  "batch job": batchJob,
  "white noise": whiteNoise,
  "random walk": randomWalk,
};

/** The synthetic signals, all from one seed. */
export function syntheticTraces(seed: number, seconds: number): Trace[] {
  return Object.entries(GENERATORS).map(([name, generate], index) =>
    Object.assign({ name }, generate(seconds, seededRng(seed * 1000 + index))),
  );
}

/**
 * One of the other containers on the node: a level of 0.02-0.3 cores with slow wander and noise of a tenth of it, and a
 * burst (5-60 s, 0.3-1.5 cores) every half hour on average.
 */
export function neighbour(seconds: number, rng: Rng): Float64Array {
  const level = between(rng, 0.02, 0.3);
  const wander = ornsteinUhlenbeck(seconds, rng, level / 10, 600);
  const rates = filled(
    seconds,
    (second) => level + (wander[second] ?? 0) + 0.1 * level * standardNormal(rng),
  );
  addBursts(rates, rng, 1800);
  return floored(rates);
}
