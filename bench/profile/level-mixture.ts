/** Weight of an error over that of the next one. */
const KEPT = 0.93;
/** A forecast weighs e times less when its recent error exceeds the least one by this share of that and {@link LEAST_APART}. */
const APART = 0.12;
const LEAST_APART = 0.004;

/**
 * Weights forecasts of one number by their recent errors, and follows within a dozen windows when another one becomes the best. It
 * answers with the weighted median, which one far forecast does not move.
 */
export class LevelMixture {
  private readonly errors: number[];
  private weight = 0;

  /** @param count number of forecasts, at least 1; all begin with the same weight */
  constructor(count: number) {
    this.errors = Array.from({ length: count }, () => 0);
  }

  /** Shares of the forecasts, 1 in all. */
  get weights(): number[] {
    if (this.weight === 0) return this.errors.map(() => 1 / this.errors.length);
    const means = this.errors.map((each) => each / this.weight);
    const least = Math.min(...means);
    const raised = means.map((each) => Math.exp(-(each - least) / (APART * least + LEAST_APART)));
    const sum = raised.reduce((total, each) => total + each, 0);
    return raised.map((each) => each / sum);
  }

  /** @param forecasts finite */
  mix(forecasts: readonly number[]): number {
    const { weights } = this;
    const order = forecasts
      .map((_, i) => i)
      .toSorted((a, b) => (forecasts[a] as number) - (forecasts[b] as number));
    let below = 0;
    for (const i of order) {
      below += weights[i] as number;
      if (below >= 0.5) return forecasts[i] as number;
    }
    return forecasts[order.at(-1) as number] as number;
  }

  /** @param forecasts those that were made of `actual` */
  learn(forecasts: readonly number[], actual: number): void {
    this.weight = KEPT * this.weight + 1;
    for (const [i, each] of forecasts.entries())
      this.errors[i] = KEPT * (this.errors[i] as number) + Math.abs(each - actual);
  }
}
