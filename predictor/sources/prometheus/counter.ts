import type { Grid } from "./grid.ts";
import { unknownColumn, windowEndMs } from "./grid.ts";
import type { Samples } from "./samples.ts";

/** A smaller drop than this share of the former value is a late or reordered sample, not a restart. */
const RESTART_SHARE = 1 / 8;

/**
 * Growth of a counter between two of its samples, restarts counted from 0. A drop by less than an eighth is taken for
 * a sample out of order (as VictoriaMetrics does) and adds nothing: real restarts fall to nearly 0.
 */
export function growth(samples: Samples, from: number, to: number): number {
  let sum = 0;
  let highest = samples.values[from] ?? Number.NaN;
  for (let index = from + 1; index <= to; index += 1) {
    const value = samples.values[index] ?? Number.NaN;
    if (value < 0) return Number.NaN;
    if (value >= highest) {
      sum += value - highest;
      highest = value;
    } else if (highest - value > highest * RESTART_SHARE) {
      sum += value;
      highest = value;
    }
  }
  return sum;
}

/** A counter that falls more often than this in a step from one sample to the next is not restarting. */
const FALLS_SHARE = 0.1;
/** A process that restarts again and again falls twice in the time that is looked at. */
const LEAST_FALLS = 3;

/** Whether several processes write this one series, each its own count: no rate can be had of it. */
export function hasSeveralWriters({ clashes, values }: Samples): boolean {
  // Two values for one time are a fall as well.
  let falls = clashes;
  for (let index = 1; index < values.length; index += 1) {
    if ((values[index] ?? 0) < (values[index - 1] ?? 0)) falls += 1;
  }
  return falls >= LEAST_FALLS && falls > FALLS_SHARE * (clashes + values.length - 1);
}

export interface CounterColumn {
  /** Growth per second in each window; NaN where it is not known. */
  readonly perSecond: Float64Array;
  /** 1 where the counter was known before the window but gave no sample in it. */
  readonly silent: Uint8Array;
}

/**
 * Growth per second of one counter in each window of a grid: from the last sample before the window (not older than
 * `lookbackMs`) to the last one in it, over the time between the two. So every increment counts in exactly one window
 * and nothing is extrapolated. A counter that appears within the window counts from its first sample on; with a single
 * sample nothing is known.
 * @param minSpanMs windows shorter than this are taken to begin so long before their end: a window no longer than a
 * scrape interval may hold no sample, and then says the rate around it
 */
export function counterColumn(
  samples: Samples,
  grid: Grid,
  lookbackMs: number,
  minSpanMs = 0,
): CounterColumn {
  const perSecond = unknownColumn(grid);
  const silent = new Uint8Array(grid.count);
  const { timesMs } = samples;
  let next = 0;
  for (let index = 0; index < grid.count; index += 1) {
    const endMs = windowEndMs(grid, index);
    const startMs = endMs - Math.max(grid.stepMs, minSpanMs);
    while (next < timesMs.length && (timesMs[next] ?? 0) <= startMs) next += 1;
    let last = next - 1;
    while (last + 1 < timesMs.length && (timesMs[last + 1] ?? 0) <= endMs) last += 1;
    const known = next > 0 && (timesMs[next - 1] ?? 0) >= startMs - lookbackMs;
    if (last < next) {
      silent[index] = known ? 1 : 0;
      continue;
    }
    const base = known ? next - 1 : next;
    const elapsedMs = (timesMs[last] ?? 0) - (timesMs[base] ?? 0);
    if (elapsedMs > 0) perSecond[index] = growth(samples, base, last) / (elapsedMs / 1_000);
  }
  return { perSecond, silent };
}
