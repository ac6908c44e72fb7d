/** A random time in milliseconds, or a random factor where said so. Means are above 0, `cv` is standard deviation / mean. */
export type Distribution =
  | { readonly kind: "fixed"; readonly mean: number }
  | { readonly kind: "exponential"; readonly mean: number }
  | { readonly kind: "lognormal"; readonly mean: number; readonly cv: number }
  | { readonly kind: "uniform"; readonly low: number; readonly high: number }
  /** Log-normal around `low`, or around `high` with the chance `highShare`: cache hits and misses. */
  | {
      readonly kind: "bimodal";
      readonly low: number;
      readonly high: number;
      readonly highShare: number;
      readonly cv: number;
    };

export const fixed = (mean: number): Distribution => ({ kind: "fixed", mean });
export const exponential = (mean: number): Distribution => ({ kind: "exponential", mean });
export const lognormal = (mean: number, cv: number): Distribution => ({ kind: "lognormal", mean, cv });
export const bimodal = (low: number, high: number, highShare: number, cv = 0.3): Distribution => ({
  kind: "bimodal",
  low,
  high,
  highShare,
  cv,
});

export function meanOf(distribution: Distribution): number {
  switch (distribution.kind) {
    case "fixed":
    case "exponential":
    case "lognormal":
      return distribution.mean;
    case "uniform":
      return (distribution.low + distribution.high) / 2;
    case "bimodal":
    default:
      return distribution.low + (distribution.high - distribution.low) * distribution.highShare;
  }
}

/** The same shape with its mean and its values multiplied. */
export function scaled(distribution: Distribution, factor: number): Distribution {
  switch (distribution.kind) {
    case "fixed":
    case "exponential":
    case "lognormal":
      return { ...distribution, mean: distribution.mean * factor };
    case "uniform":
    case "bimodal":
    default:
      return { ...distribution, low: distribution.low * factor, high: distribution.high * factor };
  }
}

/** How many times a call is made. Drawn anew for each request. */
export type Count =
  | { readonly kind: "fixed"; readonly count: number }
  /** Once with this chance, else not at all. */
  | { readonly kind: "chance"; readonly chance: number }
  /** Each whole number from `low` to `high` with the same chance. */
  | { readonly kind: "uniform"; readonly low: number; readonly high: number };
