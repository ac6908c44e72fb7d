type Numbers = Float32Array | Float64Array;

/** What Adam keeps between steps. */
export interface AdamState<Kept extends Numbers = Numbers> {
  readonly first: Kept;
  readonly second: Kept;
  steps: number;
}

/** Before the first step, in arrays like that of the values. */
export const adamState = <Kept extends Numbers>(values: Kept): AdamState<Kept> => ({
  first: values.slice().fill(0) as Kept,
  second: values.slice().fill(0) as Kept,
  steps: 0,
});

/**
 * One step of Adam (Kingma and Ba 2015) down the gradient, of AdamW (Loshchilov and Hutter 2019) with a decay. In place.
 * @param decay share of each value that a step of rate 1 takes off it
 */
export function adamStep(
  values: Numbers,
  gradient: Numbers,
  state: AdamState,
  { decay = 0, rate }: { readonly rate: number; readonly decay?: number },
): void {
  state.steps += 1;
  const { first, second, steps } = state;
  const [firstBias, secondBias] = [1 - 0.9 ** steps, 1 - 0.999 ** steps];
  for (let i = 0; i < values.length; i += 1) {
    const slope = gradient[i] as number;
    const value = values[i] as number;
    first[i] = 0.9 * (first[i] as number) + 0.1 * slope;
    second[i] = 0.999 * (second[i] as number) + 0.001 * slope * slope;
    const moved = (first[i] as number) / firstBias / (Math.sqrt((second[i] as number) / secondBias) + 1e-8);
    values[i] = value - rate * (moved + decay * value);
  }
}
