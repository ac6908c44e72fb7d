import { percentile } from "../statistics.ts";
import { totalAt } from "./trace.ts";
import type { Episode, Trace } from "./trace.ts";
import { WINDOW_SECONDS, windowMeans } from "./windows.ts";

/** When a policy read the signal (s, increasing), and what else was read for its sake. */
export interface Reads {
  readonly times: readonly number[];
  /** Its share of the reads of guards, each counted as one read of the signal. */
  readonly shared: number;
  /** Whether they are timed by the ends of windows; else windows end at any moment between two of them. */
  readonly aligned: boolean;
}

/** Windows begin this far apart where readings are not timed by them. */
const ANY_PHASE_SECONDS = 4;

/** Counts over one or several runs of one policy on one signal. */
export interface Tally {
  seconds: number;
  known: number;
  off: number;
  reads: number;
  shared: number;
  episodes: number;
  seen: number;
  delays: number[];
  windows: number;
  offWindows: number;
}

export const emptyTally = (): Tally => ({
  seconds: 0,
  known: 0,
  off: 0,
  reads: 0,
  shared: 0,
  episodes: 0,
  seen: 0,
  delays: [],
  windows: 0,
  offWindows: 0,
});

/**
 * The rate that a consumer of the cumulative counter knows at the end of each second: the difference of the last two
 * readings taken by then over the time between them; NaN before two readings.
 */
export function knownRates(total: Float64Array, times: readonly number[]): Float64Array {
  const known = new Float64Array(total.length - 1).fill(Number.NaN);
  let next = 0;
  let rate = Number.NaN;
  for (let second = 0; second < known.length; second += 1) {
    for (; (times[next] ?? Infinity) <= second + 1; next += 1) {
      if (next === 0) continue;
      const from = times[next - 1] ?? 0;
      const to = times[next] ?? 0;
      rate = (totalAt(total, to) - totalAt(total, from)) / (to - from);
    }
    known[second] = rate;
  }
  return known;
}

function delay(known: Float64Array, episode: Episode): number | undefined {
  for (let second = episode.start; second < Math.min(episode.end, known.length); second += 1) {
    if ((known[second] ?? 0) >= episode.level) return second + 1 - episode.start;
  }
  return undefined;
}

/**
 * Adds a run to a tally. A second is off when the rate known at its end differs by more than `tolerance` from the mean
 * rate over it; seconds before two readings count as read, not as known.
 * An episode is seen when the known rate reaches its level before it ends; the delay runs from the start of its
 * first second to the end of the second in which that happens, so that reading every second has a delay of 1 or 2 s.
 */
export function score(
  tally: Tally,
  trace: Trace,
  total: Float64Array,
  reads: Reads,
  tolerance: number,
): void {
  const known = knownRates(total, reads.times);
  tally.seconds += known.length;
  tally.reads += reads.times.length;
  tally.shared += reads.shared;
  for (let second = 0; second < known.length; second += 1) {
    const error = (known[second] ?? Number.NaN) - (trace.rates[second] ?? 0);
    if (Number.isNaN(error)) continue;
    tally.known += 1;
    if (Math.abs(error) > tolerance) tally.off += 1;
  }
  scoreWindows(tally, total, reads, tolerance);
  for (const episode of trace.episodes) {
    tally.episodes += 1;
    const seconds = delay(known, episode);
    if (seconds === undefined) continue;
    tally.seen += 1;
    tally.delays.push(seconds);
  }
}

/** A window is off when its mean as known differs by more than `tolerance` from the true one. */
function scoreWindows(tally: Tally, total: Float64Array, reads: Reads, tolerance: number): void {
  const everySeconds = reads.aligned ? WINDOW_SECONDS : ANY_PHASE_SECONDS;
  const means = windowMeans(total, reads.times, everySeconds);
  for (const [window, truth] of means.truth.entries()) {
    const error = Math.abs((means.known[window] ?? Number.NaN) - truth);
    if (Number.isNaN(error)) continue;
    tally.windows += 1;
    if (error > tolerance) tally.offWindows += 1;
  }
}

/** The figures of one policy on one signal; null where there was no burst to see. */
export interface Figures {
  keptRatio: number;
  samplesRatio: number;
  offByEpsRatio: number;
  burstRecall: number | null;
  delayP95S: number | null;
  /** Share of 15 s windows whose mean is off by more than the tolerance. */
  offWindowsRatio: number;
}

export function figures(tally: Tally): Figures {
  const delays = tally.delays.toSorted((a, b) => a - b);
  return {
    keptRatio: (tally.reads + tally.shared) / tally.seconds,
    samplesRatio: tally.reads / tally.seconds,
    offByEpsRatio: tally.off / Math.max(1, tally.known),
    burstRecall: tally.episodes === 0 ? null : tally.seen / tally.episodes,
    delayP95S: delays.length === 0 ? null : percentile(delays, 0.95),
    offWindowsRatio: tally.offWindows / Math.max(1, tally.windows),
  };
}
