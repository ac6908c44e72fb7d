import { totalAt } from "./trace.ts";

/** The predictor's windows: aligned intervals of this length. */
export const WINDOW_SECONDS = 15;
/**
 * How long after its end a window is worked out from what was read until then: the predictor waits 5 s and asks the agent every
 * 2 s, so a reading that is 3 s younger than the window is always known.
 */
const LATE_SECONDS = 3;
/** A window must be covered by readings to this share for their rise to stand for it. */
const COVERAGE = 0.5;

/** Means over windows: true, and as the predictor knows them (NaN before two readings). */
export interface WindowMeans {
  readonly truth: Float64Array;
  readonly known: Float64Array;
}

/**
 * Every window's mean as the predictor works it out (predictor/sources/container-rates.ts): the counter's rise between its
 * readings around the ends of the window, straight between two readings, else the rate of the last two readings.
 * @param everySeconds time between the beginnings of windows: their length, or a number without a common divisor with
 *   it, so that windows end at every moment of a fixed interval
 */
export function windowMeans(
  total: Float64Array,
  times: readonly number[],
  everySeconds: number,
): WindowMeans {
  const count = Math.max(0, Math.floor((total.length - 1 - WINDOW_SECONDS) / everySeconds) + 1);
  const truth = new Float64Array(count);
  const means = new Float64Array(count);
  let known = 0;
  for (let window = 0; window < count; window += 1) {
    const start = window * everySeconds;
    const end = start + WINDOW_SECONDS;
    while (known < times.length && (times[known] ?? 0) <= end + LATE_SECONDS) known += 1;
    truth[window] = (totalAt(total, end) - totalAt(total, start)) / WINDOW_SECONDS;
    means[window] = meanWithin(total, times, known, start, end);
  }
  return { truth, known: means };
}

function meanWithin(
  total: Float64Array,
  times: readonly number[],
  known: number,
  start: number,
  end: number,
): number {
  const from = readingAt(total, times, known, start) ?? firstFrom(total, times, known, start);
  const to = readingAt(total, times, known, end) ?? lastUntil(total, times, known, end);
  if (from !== undefined && to !== undefined) {
    const seconds = to.at - from.at;
    if (seconds > 0 && seconds >= COVERAGE * (end - start)) return (to.value - from.value) / seconds;
  }
  const last = lastIndex(times, known, end);
  const after = times[last] ?? Number.NaN;
  const before = times[last - 1] ?? Number.NaN;
  return (totalAt(total, after) - totalAt(total, before)) / (after - before);
}

interface Point {
  readonly at: number;
  readonly value: number;
}

/** Index of the last known reading at or before a time, -1 without one. */
function lastIndex(times: readonly number[], known: number, at: number): number {
  let index = known - 1;
  while (index >= 0 && (times[index] ?? 0) > at) index -= 1;
  return index;
}

function readingAt(
  total: Float64Array,
  times: readonly number[],
  known: number,
  at: number,
): Point | undefined {
  const index = lastIndex(times, known, at);
  if (index < 0 || index + 1 >= known) return undefined;
  const before = times[index] ?? 0;
  const after = times[index + 1] ?? 0;
  const low = totalAt(total, before);
  return { at, value: low + ((totalAt(total, after) - low) * (at - before)) / (after - before) };
}

function firstFrom(
  total: Float64Array,
  times: readonly number[],
  known: number,
  start: number,
): Point | undefined {
  const index = lastIndex(times, known, start - 1e-9) + 1;
  const at = times[index];
  return index >= known || at === undefined ? undefined : { at, value: totalAt(total, at) };
}

function lastUntil(
  total: Float64Array,
  times: readonly number[],
  known: number,
  end: number,
): Point | undefined {
  const at = times[lastIndex(times, known, end)];
  return at === undefined ? undefined : { at, value: totalAt(total, at) };
}
