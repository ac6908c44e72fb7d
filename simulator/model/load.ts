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

export interface Week {
  /** Rate at night and at the evening peak of a working day. */
  readonly night: number;
  readonly peak: number;
  /** Rate of a Saturday or Sunday as a share of a working day's. Default 0.6. */
  readonly weekendShare?: number;
  /** Days, 0 for the first, on which people behave as on a Sunday. */
  readonly holidays?: readonly number[];
}

const DAY_SECONDS = 86_400;
const SATURDAY = 5;

/** A week from Monday, 00:00: low at night, a first peak at noon, a higher one at 20:00. */
export function week({ holidays = [], night, peak, weekendShare = 0.6 }: Week): Load {
  return (atSeconds) => {
    const day = Math.floor(atSeconds / DAY_SECONDS);
    const hour = (atSeconds % DAY_SECONDS) / 3_600;
    const shape = Math.min(1, bump(hour, 12, 4) * 0.7 + bump(hour, 20, 3) + 0.15 * bump(hour, 16, 6));
    const isFree = day % 7 >= SATURDAY || holidays.includes(day);
    return night + (peak - night) * shape * (isFree ? weekendShare : 1);
  };
}

/** A bell around an hour of the day, which goes round midnight. */
function bump(hour: number, centre: number, width: number): number {
  const away = Math.abs(hour - centre);
  return Math.exp(-0.5 * (Math.min(away, 24 - away) / width) ** 2);
}

/** Rates that were recorded, one for each step; 0 after the last one. */
export function replay(rates: ArrayLike<number>, stepSeconds: number): Load {
  return (atSeconds) => rates[Math.floor(atSeconds / stepSeconds)] ?? 0;
}
