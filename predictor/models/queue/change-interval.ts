import { normalCdf } from "../normal.ts";
import { emptyTimeAnswer, PARAMETER_COUNT, parametersNow, timeAt } from "./own-time.ts";
import type { TimePlace } from "./own-time.ts";
import { PROGRAMS } from "./profile-state.ts";
import type { ProfileState } from "./profile-state.ts";
import { P50 } from "./queue-curve.ts";
import { HORIZON_SECONDS, STATISTICS } from "./tracked-profile.ts";

/** Size and load of one container. */
export interface ContainerPlace {
  /** CPU limit; undefined: none. */
  readonly cpuCores: number | undefined;
  /** Requests per second to it. */
  readonly loadPerContainer: number;
}

/** How a self-time tail changes, as a share of the tail before, with 90 % probability; -0.2: a fifth less. */
export interface ChangeInterval {
  readonly low: number;
  readonly high: number;
}

/**
 * Standard deviation of the curve's error of d ln tail / d ln of load or of CPU limit. Chosen on 40 simulated services so that
 * the interval holds the change in nine cases of ten, see docs/models.md; steady windows do not show it.
 */
const SLOPE_ERROR = 0.25;
const LOW = 0.05;
const HIGH = 0.95;
/** The quantile of a mixture lies within so many standard deviations of one of its parts. */
const MOST_DEVIATIONS = 2;
const ROUNDS = 30;

const now = new Float64Array(PARAMETER_COUNT);
const before = emptyTimeAnswer();
const after = emptyTimeAnswer();
const means = new Float64Array(PROGRAMS.length);
const deviations = new Float64Array(PROGRAMS.length);

const placed = ({ cpuCores, loadPerContainer }: ContainerPlace): TimePlace => ({
  cpuCores,
  loadPerContainer,
  windowSeconds: HORIZON_SECONDS,
});

/**
 * What a tracked profile knows of the change of its tail from one place to another. Under each kind of program the change is
 * normal: its variance is that of the parameters by the delta method (gradient of the difference, times their covariance),
 * that of a factor on the change for what steady windows missed, and that of the curve's own slopes. The kinds count by their
 * chances: the interval holds the middle 90 % of the mixture. Pure.
 */
export function changeInterval(
  state: ProfileState,
  from: ContainerPlace,
  to: ContainerPlace,
  percentile: keyof typeof STATISTICS,
): ChangeInterval {
  const statistic = STATISTICS[percentile];
  const residual = state.residuals[statistic - P50] as number;
  const [here, there] = [placed(from), placed(to)];
  // Of the limit, not of what the program can use of it: a limit somewhat above its threads still counts a little.
  const apart =
    logRatio(from.loadPerContainer, to.loadPerContainer) + logRatio(from.cpuCores ?? 1, to.cpuCores ?? 1);
  let log = 0;
  for (const [i, program] of PROGRAMS.entries()) {
    const parameters = parametersNow(state, i, now);
    timeAt(parameters, program, here, statistic, before);
    timeAt(parameters, program, there, statistic, after);
    log += (state.weights[i] as number) * Math.log(before.seconds);
    const change = after.seconds - before.seconds;
    const ofCurve = SLOPE_ERROR * apart * after.cpuShare * after.seconds;
    deviations[i] = Math.sqrt(
      varianceOfChange(state.covariances[i] as number[]) + change * change * residual + ofCurve * ofCurve,
    );
    means[i] = change;
  }
  const tailSeconds = Math.exp(log);
  return {
    low: quantileOf(LOW, state.weights) / tailSeconds,
    high: quantileOf(HIGH, state.weights) / tailSeconds,
  };
}

/** How far apart two loads or limits are; an idle container has no distance. */
const logRatio = (a: number, b: number): number => (a > 0 && b > 0 ? Math.abs(Math.log(a / b)) : 0);

/** Of the seconds {@link after} less those {@link before}, from the covariance of the parameters. */
function varianceOfChange(covariance: readonly number[]): number {
  let variance = 0;
  for (let i = 0; i < PARAMETER_COUNT; i += 1) {
    let row = 0;
    for (let j = 0; j < PARAMETER_COUNT; j += 1)
      row += (covariance[i * PARAMETER_COUNT + j] as number) * slope(j);
    variance += row * slope(i);
  }
  return Math.max(0, variance);
}

const slope = (parameter: number): number =>
  after.seconds * (after.byParameter[parameter] as number) -
  before.seconds * (before.byParameter[parameter] as number);

/** Quantile of the mixture of the kinds of programs, by bisection. */
function quantileOf(share: number, weights: readonly number[]): number {
  let low = Infinity;
  let high = -Infinity;
  for (const [i, mean] of means.entries()) {
    low = Math.min(low, mean - MOST_DEVIATIONS * (deviations[i] as number));
    high = Math.max(high, mean + MOST_DEVIATIONS * (deviations[i] as number));
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    const middle = (low + high) / 2;
    if (shareBelow(middle, weights) < share) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

function shareBelow(value: number, weights: readonly number[]): number {
  let sum = 0;
  for (const [i, weight] of weights.entries()) {
    const distance = value - (means[i] as number);
    const deviation = deviations[i] as number;
    sum += weight * (deviation > 0 ? normalCdf(distance / deviation) : Number(distance >= 0));
  }
  return sum;
}
