/** Weight of an error over that of the next one. */
export const KEPT = 0.93;
/** A forecast weighs e times less when its recent error exceeds the least one by this share of that and {@link LEAST_APART}. */
const APART = 0.12;
const LEAST_APART = 0.004;

/** Fading sums of |error| of several forecasts of one number, and of their weights. */
export interface MixtureState {
  readonly errors: readonly number[];
  readonly weight: number;
}

/** @param count number of forecasts, at least 1; all begin with the same share */
export const emptyMixture = (count: number): MixtureState => ({
  errors: Array.from({ length: count }, () => 0),
  weight: 0,
});

/** Shares of the forecasts, 1 in all. */
export function sharesOf({ errors, weight }: MixtureState): number[] {
  if (weight === 0) return errors.map(() => 1 / errors.length);
  const means = errors.map((each) => each / weight);
  const least = Math.min(...means);
  const raised = means.map((each) => Math.exp(-(each - least) / (APART * least + LEAST_APART)));
  const sum = raised.reduce((total, each) => total + each, 0);
  return raised.map((each) => each / sum);
}

/**
 * What the mixture says: the median by shares, which one far forecast does not move. Within a dozen windows it follows another one when
 * that becomes the best.
 * @param forecasts finite
 */
export function mixed(state: MixtureState, forecasts: readonly number[]): number {
  const shares = sharesOf(state);
  const order = forecasts
    .map((_, i) => i)
    .toSorted((a, b) => (forecasts[a] as number) - (forecasts[b] as number));
  let below = 0;
  for (const i of order) {
    below += shares[i] as number;
    if (below >= 0.5) return forecasts[i] as number;
  }
  return forecasts[order.at(-1) as number] as number;
}

/** @param forecasts those that were made of `actual` */
export const mixtureAfter = (
  { errors, weight }: MixtureState,
  forecasts: readonly number[],
  actual: number,
): MixtureState => ({
  errors: errors.map((each, i) => KEPT * each + Math.abs((forecasts[i] as number) - actual)),
  weight: KEPT * weight + 1,
});
