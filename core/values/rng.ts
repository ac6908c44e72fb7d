/** A source of uniform numbers in [0, 1). */
export type Rng = () => number;

/**
 * Seeded generator sfc32 (Doty-Humphrey's Small Fast Counter, 128-bit state): the same seed gives the same sequence on
 * every machine.
 */
export function seededRng(seed: number): Rng {
  let a = 0x9e3779b9 | 0;
  let b = 0x243f6a88 | 0;
  let c = Math.trunc(seed) | 0;
  let counter = 1;
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let warmUp = 0; warmUp < 16; warmUp += 1) next();
  return next;
}

/** An exponentially distributed number with the given mean (> 0): the gap to the next arrival of a Poisson process. */
export function exponential(rng: Rng, mean: number): number {
  return -Math.log1p(-rng()) * mean;
}

/** A standard normal number (Box-Muller, one of the pair). */
export function standardNormal(rng: Rng): number {
  return Math.sqrt(-2 * Math.log1p(-rng())) * Math.cos(2 * Math.PI * rng());
}

/** A draw from [low, high). */
export const uniform = (rng: Rng, low: number, high: number): number => low + (high - low) * rng();
