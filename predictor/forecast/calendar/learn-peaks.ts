import type { LoadSeries } from "../load-series.ts";

const DAY_MS = 86_400_000;
/** Thursday, 1 January 1970. */
const FIRST_WEEKDAY = 4;
/** A peak is so many times the usual load of such a day. */
const PEAK_RATIO = 1.5;
/** It comes on this share of the days at least, of which so many are known. */
const HIT_RATIO = 0.8;
const LEAST_DAYS = 5;
/** Two misses among the last days, and it is no peak any longer. */
const RECENT_DAYS = 5;
const RECENT_MISSES = 2;
/** Of the highest loads of the days that one is kept ready for. */
const READY_QUANTILE = 0.9;
/** Of a normal distribution at 0.9. */
const Z = 1.2816;

/** Days of the week, by what cron calls them: the more general ones go first. */
const CLASSES = [
  { days: "*", name: "daily", has: () => true },
  { days: "1-5", name: "workdays", has: (weekday: number) => weekday >= 1 && weekday <= 5 },
  { days: "0,6", name: "weekends", has: (weekday: number) => weekday === 0 || weekday === 6 },
] as const;

/** A time of the day at which the load is high, on all days of a kind. */
export interface Peak {
  readonly days: (typeof CLASSES)[number]["days"];
  readonly name: (typeof CLASSES)[number]["name"];
  /** Seconds after midnight, UTC. */
  readonly fromSeconds: number;
  readonly untilSeconds: number;
  /** Load to be ready for, and the usual one of such days, requests per second. */
  readonly perSecond: number;
  readonly usualPerSecond: number;
  readonly occurrences: number;
  readonly hits: number;
  readonly confidence: number;
}

interface Day {
  readonly weekday: number;
  readonly loads: readonly (number | undefined)[];
}

/**
 * Times of the day at which the load was 1.5 times the usual one on at least four of five days. Undefined while fewer than five days are
 * known.
 */
export function learnPeaks(series: LoadSeries): Peak[] | undefined {
  const days = daysOf(series);
  if (days.length < LEAST_DAYS) return undefined;
  const peaks: Peak[] = [];
  for (const each of CLASSES) {
    const own = days.filter(({ weekday }) => each.has(weekday));
    for (const peak of peaksOf(own, series.stepMs)) {
      // Peaks of working days and of weekends do not meet.
      const isKnown = peaks.some(
        ({ days: known, fromSeconds, untilSeconds }) =>
          known === "*" && fromSeconds < peak.untilSeconds && peak.fromSeconds < untilSeconds,
      );
      if (!isKnown) peaks.push({ days: each.days, name: each.name, ...peak });
    }
  }
  return peaks;
}

/** The newest last. */
function daysOf({ endMs, stepMs, values }: LoadSeries): Day[] {
  const beganMs = endMs - stepMs * values.length;
  const byDay = new Map<number, (number | undefined)[]>();
  for (const [at, value] of values.entries()) {
    const atMs = beganMs + at * stepMs;
    const day = Math.floor(atMs / DAY_MS);
    const loads = byDay.get(day) ?? Array.from({ length: DAY_MS / stepMs }, () => undefined);
    byDay.set(day, loads);
    loads[Math.floor((atMs - day * DAY_MS) / stepMs)] = value ?? undefined;
  }
  return [...byDay]
    .filter(([, loads]) => loads.some((load) => load !== undefined))
    .map(([day, loads]) => ({ weekday: (FIRST_WEEKDAY + day) % 7, loads }));
}

function peaksOf(days: readonly Day[], stepMs: number): Omit<Peak, "days" | "name">[] {
  const usualPerSecond = quantile(
    days.flatMap(({ loads }) => loads.filter((load) => load !== undefined)),
    0.5,
  );
  if (days.length < LEAST_DAYS || !(usualPerSecond > 0)) return [];
  const isHigh = Array.from({ length: DAY_MS / stepMs }, (_, slot) => {
    const known = days.flatMap(({ loads }) => loads[slot] ?? []);
    const high = known.filter((load) => load >= PEAK_RATIO * usualPerSecond);
    return known.length >= LEAST_DAYS && high.length >= HIT_RATIO * known.length;
  });
  return runsOf(isHigh).flatMap(([from, until]) => {
    const highest = days.flatMap(({ loads }) => {
      const known = loads.slice(from, until).filter((load) => load !== undefined);
      return known.length === 0 ? [] : [Math.max(...known)];
    });
    const isHit = highest.map((load) => load >= PEAK_RATIO * usualPerSecond);
    const hits = isHit.filter(Boolean).length;
    if (isHit.slice(-RECENT_DAYS).filter((hit) => !hit).length >= RECENT_MISSES) return [];
    return [
      {
        fromSeconds: (from * stepMs) / 1e3,
        untilSeconds: (until * stepMs) / 1e3,
        perSecond: quantile(highest, READY_QUANTILE),
        usualPerSecond,
        occurrences: highest.length,
        hits,
        confidence: lowest(hits, highest.length),
      },
    ];
  });
}

/** Begin and end of each run of what is true. */
function runsOf(flags: readonly boolean[]): [number, number][] {
  const runs: [number, number][] = [];
  for (const [at, flag] of flags.entries()) {
    const last = runs.at(-1);
    if (!flag) continue;
    if (last?.[1] === at) last[1] = at + 1;
    else runs.push([at, at + 1]);
  }
  return runs;
}

/** The lower end of Wilson's interval of a share. */
function lowest(hits: number, count: number): number {
  const share = hits / count;
  const half = Z * Math.sqrt((share * (1 - share)) / count + Z ** 2 / (4 * count ** 2));
  return Math.max(0, (share + Z ** 2 / (2 * count) - half) / (1 + Z ** 2 / count));
}

function quantile(values: readonly number[], at: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(at * sorted.length))] ?? 0;
}
