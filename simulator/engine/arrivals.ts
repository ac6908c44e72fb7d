import { seededRng } from "@tradewind/core/rng.ts";
import type { Rng } from "@tradewind/core/rng.ts";

/**
 * Arrivals of one route: a Poisson process whose rate is constant within each second. Gaps are drawn from a stream of its
 * own, so that they depend on the seed and the rate alone.
 */
export class ArrivalStream {
  /** Requests begun so far. */
  count = 0;
  private readonly rng: Rng;
  /** Requests per ms, by second of the run. */
  private readonly rates: Float64Array;

  /** @param requestsPerSecond by second of the run */
  constructor(requestsPerSecond: Float64Array, seed: number) {
    this.rng = seededRng(seed);
    this.rates = requestsPerSecond.map((rate) => rate / 1e3);
  }

  /** The time of the next arrival after `nowMs`; Infinity when the run is over before. */
  nextAfter(nowMs: number): number {
    let left = -Math.log1p(-this.rng());
    let fromMs = nowMs;
    for (let second = Math.floor(nowMs / 1e3); second < this.rates.length; second += 1) {
      const rate = this.rates[second] ?? 0;
      const endMs = 1e3 * (second + 1);
      const expected = rate * (endMs - fromMs);
      if (left < expected) return fromMs + left / rate;
      left -= expected;
      fromMs = endMs;
    }
    return Infinity;
  }
}
