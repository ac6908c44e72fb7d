import type { Row } from "./table.ts";

/** Growth of the interval per calm reading after a jump, and its first length after one that a guard announced. */
const RELEASE_FACTOR = 3;
/** Part of the longest hold time that a steady slope allows before the held rate is off by the tolerance. */
const SLOPE_PART = 0.67;
/**
 * A jump found later than this after it happened was missed by the guard. Such jumps shorten the longest interval, to
 * the cap after a first one and never below the shortest, and are forgotten with this memory: where the guard is blind to
 * a signal the signal is read often, elsewhere it is not.
 */
const LATE_INTERVALS = 1.5;
const LATE_CAP_INTERVALS = 3.5;
const LATE_SHORTEST_INTERVALS = 2;
const LATE_MEMORY_SECONDS = 300;
/** Stays between jumps are regular after this many, when they vary by no more than this many shortest intervals. */
const REGULAR_STAYS = 4;
const REGULAR_INTERVALS = 2;
/** An expected jump is awaited from this much before to this much after its time. */
const AWAIT_INTERVALS = 1.5;
const STAY_WEIGHT = 0.25;

/**
 * A reading jumped, or may have: a counter's mean over the gap mixes before and after, so the next reading settles it.
 * @param beforeSeconds how long before this reading the rate before held, on average
 */
export function jumpFound(row: Row, beforeRate: number, beforeSeconds: number): void {
  row.beforeRate = beforeRate;
  row.beforeSeconds = beforeSeconds;
  row.settling = 1;
  row.announced = row.awake;
}

/**
 * The reading after a jump: what it jumped to. Nothing, when it is back where it was. A jump that no guard announced
 * may be the middle of a ramp, so the slope it could have decides how soon to look again.
 * Expects `lastMs` of the row still to be the time of the jump's own reading.
 */
export function settleJump(row: Row, rate: number, tolerance: number): void {
  row.settling = 0;
  const change = rate - row.beforeRate;
  if (Math.abs(change) <= tolerance) {
    row.releaseSeconds = row.maxSeconds;
    return;
  }
  countLate(row, ((row.rate - row.beforeRate) * row.gapSeconds) / change);
  rememberStay(row, (row.lastMs - row.jumpMs) / 1e3, change > 0 ? 1 : -1);
  if (row.announced === 1) row.releaseSeconds = RELEASE_FACTOR * row.minSeconds;
  else row.releaseSeconds = slopeSeconds(row, change, row.beforeSeconds, tolerance);
}

/**
 * The mean over the gap tells when in it the jump happened: (mean - before) T / (after - before) seconds before it was
 * read. For a gauge, which tells nothing of the kind, this is the whole gap.
 */
function countLate(row: Row, foundAfterSeconds: number): void {
  row.lateJumps = lateJumps(row, row.lastMs);
  row.lateMs = row.lastMs;
  if (foundAfterSeconds > LATE_INTERVALS * row.minSeconds) row.lateJumps += 1;
}

function lateJumps(row: Row, nowMs: number): number {
  return row.lateJumps * Math.exp(-Math.max(0, nowMs - row.lateMs) / 1e3 / LATE_MEMORY_SECONDS);
}

/** Longest interval while jumps are found late; Infinity when none was. */
export function lateSeconds(row: Row, nowMs: number): number {
  const capped = LATE_CAP_INTERVALS / lateJumps(row, nowMs);
  return Math.max(LATE_SHORTEST_INTERVALS, capped) * row.minSeconds;
}

/** A reading without a jump: the interval may grow again, as far as a trend that may lie in the difference allows. */
export function release(row: Row, trend: number, seconds: number, tolerance: number): void {
  const grown = Math.min(row.maxSeconds, row.releaseSeconds * RELEASE_FACTOR);
  row.releaseSeconds = Math.min(grown, slopeSeconds(row, trend, seconds, tolerance));
}

/** A ramp of slope b is 1.5 b T away from the mean of the gap before when the gap T ends. */
function slopeSeconds(row: Row, change: number, seconds: number, tolerance: number): number {
  return Math.max(row.minSeconds, (SLOPE_PART * tolerance * seconds) / Math.abs(change));
}

/** How long the signal stayed after its last rise, or fall, until it jumped the other way: mean and mean deviation. */
function rememberStay(row: Row, seconds: number, sign: number): void {
  if (row.jumpSign === 1 && sign === -1) {
    row.highDeviation = follow(row.highDeviation, Math.abs(seconds - row.highSeconds), row.highStays);
    row.highSeconds = follow(row.highSeconds, seconds, row.highStays);
    row.highStays += 1;
  } else if (row.jumpSign === -1 && sign === 1) {
    row.lowDeviation = follow(row.lowDeviation, Math.abs(seconds - row.lowSeconds), row.lowStays);
    row.lowSeconds = follow(row.lowSeconds, seconds, row.lowStays);
    row.lowStays += 1;
  }
  row.jumpMs = row.lastMs;
  row.jumpSign = sign;
}

function follow(mean: number, value: number, count: number): number {
  return count === 0 ? value : mean + STAY_WEIGHT * (value - mean);
}

function isRegular(row: Row): boolean {
  if (row.jumpSign === 0) return false;
  const stays = row.jumpSign === 1 ? row.highStays : row.lowStays;
  const deviation = row.jumpSign === 1 ? row.highDeviation : row.lowDeviation;
  return stays >= REGULAR_STAYS && deviation <= REGULAR_INTERVALS * row.minSeconds;
}

/**
 * The interval shortened so that a jump that is expected by regularity (a job every minute) is met awake: the signal is
 * read often from just before its time until it comes or fails to come.
 */
export function anticipatedSeconds(row: Row, nowMs: number, seconds: number): number {
  if (!isRegular(row)) return seconds;
  const stay = row.jumpSign === 1 ? row.highSeconds : row.lowSeconds;
  const deviation = row.jumpSign === 1 ? row.highDeviation : row.lowDeviation;
  const margin = AWAIT_INTERVALS * Math.max(row.minSeconds, deviation);
  const untilJump = stay - (nowMs - row.jumpMs) / 1e3;
  if (untilJump < -margin) return seconds;
  return Math.max(row.minSeconds, Math.min(seconds, untilJump - margin));
}
