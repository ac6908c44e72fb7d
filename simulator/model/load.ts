import type { Load } from "./plant-model.ts";

/** Always the same rate. */
export const steady =
  (requestsPerSecond: number): Load =>
  () =>
    requestsPerSecond;

/** A sine between two rates that begins at the lower one. */
export function wave(low: number, high: number, periodSeconds: number): Load {
  return (atSeconds) => low + ((high - low) * (1 - Math.cos((2 * Math.PI * atSeconds) / periodSeconds))) / 2;
}

export interface Crowd {
  readonly base: number;
  readonly peak: number;
  readonly startSeconds: number;
  /** From the base to the peak, and back again. */
  readonly riseSeconds: number;
  /** At the peak. */
  readonly holdSeconds: number;
}

/** A flash crowd: the rate rises evenly to a peak, holds, and falls again. */
export function flashCrowd({ base, holdSeconds, peak, riseSeconds, startSeconds }: Crowd): Load {
  const endSeconds = startSeconds + 2 * riseSeconds + holdSeconds;
  return (atSeconds) => {
    const since = Math.min(atSeconds - startSeconds, endSeconds - atSeconds);
    return base + (peak - base) * Math.max(0, Math.min(1, since / riseSeconds));
  };
}

/** An even rise (or fall) from one rate to another, which then holds. */
export function ramp(from: number, to: number, startSeconds: number, endSeconds: number): Load {
  return (atSeconds) => {
    const share = (atSeconds - startSeconds) / (endSeconds - startSeconds);
    return from + (to - from) * Math.max(0, Math.min(1, share));
  };
}

/** Rates that were recorded, one for each step; 0 after the last one. */
export function replay(rates: ArrayLike<number>, stepSeconds: number): Load {
  return (atSeconds) => rates[Math.floor(atSeconds / stepSeconds)] ?? 0;
}
