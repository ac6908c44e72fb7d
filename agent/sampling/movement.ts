/** What is known of how a signal moves, in the square of its unit. */
export interface Movement {
  readonly kind: "counter" | "gauge";
  /** Variance of what does not last: of a counter's rate over one second, of one reading of a gauge. */
  readonly noise: number;
  /** Variance that a second adds for good. */
  readonly diffusion: number;
}

/** Variance of the difference of two readings: of the means over two gaps of a counter, of two levels of a gauge. */
export function differenceVariance(
  { kind, noise, diffusion }: Movement,
  gapSeconds: number,
  beforeSeconds: number,
): number {
  if (kind === "gauge") return 2 * noise + diffusion * gapSeconds;
  return noise * (1 / gapSeconds + 1 / beforeSeconds) + (diffusion * (gapSeconds + beforeSeconds)) / 3;
}

/**
 * Tells noise from movement by two neighbouring differences d', d over the gaps s, t (Roll 1984, with the overlap of means
 * that Working 1960 describes). Noise makes neighbours oppose each other, movement makes them agree:
 * E d d' = -noise / s + diffusion s / 6 for a counter, -noise for a gauge. Together with E d^2 of
 * {@link differenceVariance} each pair gives one unbiased, possibly negative, value of both.
 */
export function movementOf(
  kind: "counter" | "gauge",
  difference: number,
  before: number,
  gapSeconds: number,
  beforeSeconds: number,
): { noise: number; diffusion: number } {
  const product = difference * before;
  const square = difference ** 2;
  if (kind === "gauge") return { noise: -product, diffusion: (square + 2 * product) / gapSeconds };
  const ratio = 1 + beforeSeconds / gapSeconds;
  const span = (beforeSeconds * ratio) / 6 + (gapSeconds + beforeSeconds) / 3;
  const diffusion = (square + ratio * product) / span;
  return { diffusion, noise: (diffusion * beforeSeconds ** 2) / 6 - product * beforeSeconds };
}

/**
 * The longest time T between readings for which a window that is not read has an error of at most the given variance when the
 * mean over the T before stands for it: noise (1 / window + 1 / T) + 2/3 diffusion T for a counter, 2 noise + diffusion T
 * for a gauge. 0 when even the shortest is too long, Infinity for a signal that never moves.
 */
export function longestHold(
  { kind, noise, diffusion }: Movement,
  variance: number,
  windowSeconds: number,
): number {
  if (kind === "gauge") return Math.max(0, variance - 2 * noise) / diffusion;
  const left = variance - noise / windowSeconds;
  const slope = (2 * diffusion) / 3;
  const inner = left ** 2 - 4 * slope * noise;
  if (!(left > 0) || inner < 0) return 0;
  return (left + Math.sqrt(inner)) / (2 * slope);
}
