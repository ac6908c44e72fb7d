/**
 * Weights of several forecasts of one number by how they have done, after AdaHedge: shares of `exp(−rate × loss)` at a rate that
 * follows from the losses alone (de Rooij, van Erven, Grünwald and Koolen, JMLR 15, 2014). The loss of a forecast is its part in the error of the
 * mixture: it is compared with the best mixture of all, and not only with the best forecast.
 */
export class Mixture {
  private readonly losses: number[];
  /** By how much the mixture has lost more than the one at the rate in use would have: the rate falls with it. */
  private gap = 0;

  /** @param count number of forecasts, at least 1; all begin with the same weight */
  constructor(count: number) {
    this.losses = Array.from({ length: count }, () => 0);
  }

  /** Shares of the forecasts, 1 in all. */
  get weights(): number[] {
    const least = Math.min(...this.losses);
    const { rate } = this;
    const shares = this.losses.map((loss) => (loss === least ? 1 : Math.exp(-rate * (loss - least))));
    const sum = shares.reduce((total, each) => total + each, 0);
    return shares.map((each) => each / sum);
  }

  /**
   * Takes up what came.
   * @param forecasts each method's, in any unit
   * @param mixed what was made of them
   * @param actual what they were forecasts of
   */
  learn(forecasts: readonly number[], mixed: number, actual: number): void {
    const { rate, weights } = this;
    const side = Math.sign(mixed - actual);
    const losses = forecasts.map((each) => side * (each - mixed));
    const mean = losses.reduce((sum, each, at) => sum + each * (weights[at] ?? 0), 0);
    this.gap += Math.max(0, mean - mixLoss(losses, weights, rate));
    for (const [at, loss] of losses.entries()) this.losses[at] = (this.losses[at] ?? 0) + loss;
  }

  private get rate(): number {
    return this.gap > 0 ? Math.log(this.losses.length) / this.gap : Number.POSITIVE_INFINITY;
  }
}

/** `−ln Σ weight × exp(−rate × loss) / rate`; at an infinite rate the least loss of those that have a weight. */
function mixLoss(losses: readonly number[], weights: readonly number[], rate: number): number {
  const least = losses.reduce(
    (low, each, at) => ((weights[at] ?? 0) > 0 ? Math.min(low, each) : low),
    Infinity,
  );
  if (rate === Number.POSITIVE_INFINITY) return least;
  const sum = losses.reduce(
    (total, each, at) => total + (weights[at] ?? 0) * Math.exp(-rate * (each - least)),
    0,
  );
  return least - Math.log(sum) / rate;
}
