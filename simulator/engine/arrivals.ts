import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";

/**
 * Arrivals of one route: a Poisson process whose rate is constant within each second, or one request whenever the rate adds up to
 * the next whole one. What is random comes from a stream of its own, so that it depends on the seed and the rate alone.
 */
export class ArrivalStream {
  /** Requests begun so far. */
  count = 0;
  private readonly rng: Rng;
  /** Requests per ms, by second of the run. */
  private readonly rates: Float64Array;

  private readonly isEven: boolean;

  /** @param requestsPerSecond by second of the run */
  constructor(requestsPerSecond: Float64Array, seed: number, isEven: boolean) {
    this.isEven = isEven;
    this.rng = seededRng(seed);
    this.rates = requestsPerSecond.map((rate) => rate / 1e3);
  }

  /** The time of the next arrival after `nowMs`; Infinity when the run is over before. */
  nextAfter(nowMs: number): number {
    let left = this.expectedUntilNext();
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

  /** Requests that come in the mean until the next one does. */
  private expectedUntilNext(): number {
    if (this.isEven) return this.count === 0 ? this.rng() : 1;
    return -Math.log1p(-this.rng());
  }
}
