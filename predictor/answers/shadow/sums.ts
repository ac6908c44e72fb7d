import type { ShadowComparison, ShadowRange } from "@tradewind/core/contract/shadow.ts";

const HOUR_MS = 3_600_000;

/** Hours that begin before `toMs`, of which something lies after `fromMs`, as one; undefined where there is none. */
export function summedUp(
  hours: readonly ShadowComparison[],
  fromMs: number,
  toMs: number,
): ShadowComparison | undefined {
  let sum: ShadowComparison | undefined;
  for (const hour of hours)
    if (hour.toMs > fromMs && hour.fromMs < toMs) sum = sum === undefined ? hour : addedUp(sum, hour);
  return sum;
}

/** The same hours with a window, which begins another one where the last is over. */
export function withWindow(
  hours: readonly ShadowComparison[],
  window: ShadowComparison,
  most: number,
): ShadowComparison[] {
  const last = hours.at(-1);
  const isSame = last !== undefined && hourOf(last.fromMs) === hourOf(window.fromMs);
  return (isSame ? [...hours.slice(0, -1), addedUp(last, window)] : [...hours, window]).slice(-most);
}

const hourOf = (ms: number): number => Math.floor(ms / HOUR_MS);

export const addedUp = (a: ShadowComparison, b: ShadowComparison): ShadowComparison => ({
  fromMs: Math.min(a.fromMs, b.fromMs),
  toMs: Math.max(a.toMs, b.toMs),
  seconds: a.seconds + b.seconds,
  requests: a.requests + b.requests,
  requestsOver: a.requestsOver + b.requestsOver,
  cost: a.cost + b.cost,
  hpaRequestsOver: addedRanges(a.hpaRequestsOver, b.hpaRequestsOver),
  hpaCost: addedRanges(a.hpaCost, b.hpaCost),
});

const addedRanges = (a: ShadowRange, b: ShadowRange): ShadowRange => ({
  low: a.low + b.low,
  middle: a.middle + b.middle,
  high: a.high + b.high,
});
