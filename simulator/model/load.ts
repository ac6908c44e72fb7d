import { uniform } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
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

/** A draw: a crowd, a wave, an even change or a steady load. @param aboutSeconds when a crowd or a change begins, more or less */
export function surgeOf(rng: Rng, base: number, aboutSeconds: number): Load {
  const kind = rng();
  const startSeconds = aboutSeconds + uniform(rng, -20, 60);
  if (kind < 0.45) {
    const [riseSeconds, holdSeconds] = [uniform(rng, 8, 60), uniform(rng, 200, 420)];
    return flashCrowd({ base, peak: base * uniform(rng, 1.5, 5), startSeconds, riseSeconds, holdSeconds });
  }
  if (kind < 0.7) return wave(base * 0.5, base * uniform(rng, 1.2, 3), uniform(rng, 400, 1_000));
  if (kind < 0.85)
    return ramp(base, base * uniform(rng, 0.4, 3), startSeconds, startSeconds + uniform(rng, 60, 600));
  return steady(base);
}
