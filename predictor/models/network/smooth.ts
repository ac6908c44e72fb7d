/** ln(1 + eˣ), exact for any size. */
export const softplus = (x: number): number =>
  x > 0 ? x + Math.log1p(Math.exp(-x)) : Math.log1p(Math.exp(x));

/** Slope of {@link softplus}. */
export const logistic = (x: number): number => 1 / (1 + Math.exp(-x));

/** The number itself near 0, never beyond ±`most`. */
export const squash = (x: number, most: number): number => most * Math.tanh(x / most);

/** Slope of {@link squash}, from what it gave. */
export const squashSlope = (squashed: number, most: number): number => 1 - (squashed / most) ** 2;
