import type { CpuInflation } from "./cpu-inflation.ts";

/** What a profile says of one input vector, beside the value; overwritten by the next call. */
export interface Verdict {
  /** Bounds that the measured value lies within nine times in ten, seconds. */
  lowerSeconds: number;
  upperSeconds: number;
  /** False when an input lay outside what the profile has seen (it was held at the edge) or was absent. */
  inRange: boolean;
}

/**
 * Own tail latency of one container of a service as a function of what it gets and bears, with its slope.
 * Never throws and never returns anything but finite numbers, whatever the input.
 */
export interface LatencyProfile {
  /** `prior`: the queueing prior alone; `trained`: with a trained network. */
  readonly maturity: "prior" | "trained";
  /** Whether more interference never lowers the value. */
  readonly isMonotone: boolean;
  /** How interference inflates the CPU seconds of a request, where that was learnt. */
  readonly inflation?: CpuInflation;
  /** Of the last {@link evaluate}. */
  readonly verdict: Verdict;
  /**
   * @param input see `INPUTS`, NaN where absent; left as it is
   * @param gradientOut receives ∂latency/∂input in seconds per unit of each input, 0 where absent or held at an edge of
   *   the prior's domain; omit it when only the value is wanted
   * @returns seconds, finite and > 0
   */
  evaluate(input: Float64Array, gradientOut?: Float64Array): number;
}

/**
 * How far a plan may trust a verdict, in [0, 1]: 1 for an exact prediction, 0.5 when the interval spans a factor of e,
 * halved outside the range seen.
 */
export function confidence({ lowerSeconds, upperSeconds, inRange }: Verdict): number {
  const span = Math.log(Math.max(upperSeconds, 1e-9) / Math.max(lowerSeconds, 1e-9));
  return (inRange ? 1 : 0.5) / (1 + Math.max(0, span));
}

/** Largest slope stated: absurd inputs (1e300 cores) shall not overflow. */
const LARGEST_SLOPE = 1e100;

/** Holds every slope within finite bounds, in place. */
export function bounded(gradient: Float64Array): void {
  for (let i = 0; i < gradient.length; i += 1) {
    const slope = gradient[i] as number;
    gradient[i] = slope >= -LARGEST_SLOPE ? Math.min(LARGEST_SLOPE, slope) : slope < 0 ? -LARGEST_SLOPE : 0;
  }
}
