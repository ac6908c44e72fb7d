import { chanceAt, emptyTimeAnswer, timeAt } from "../queue/own-time.ts";
import type { Program } from "../queue/own-time.ts";
import { PROGRAMS } from "../queue/profile-state.ts";
import { P50, P95, P99 } from "../queue/queue-curve.ts";
import { disturbance, isPositive, LEAST_CALLS, SATURATED } from "../queue/take-window.ts";
import {
  emptyProfile,
  isCalibrated,
  predictOwnTime,
  residualVariance,
  track,
} from "../queue/tracked-profile.ts";
import type { OwnTime, ProfileObservation, ProfileState } from "../queue/tracked-profile.ts";
import type { Place, Surroundings } from "./inputs.ts";
import { ServedResidual } from "./residual.ts";
import type { Percentile } from "./residual.ts";
import type { ResidualModel } from "./residual-model.ts";

/** A window of one service as residuals see it. */
export interface ServiceWindow {
  readonly observation: ProfileObservation;
  readonly surroundings: Surroundings;
}

/** How far a profile that had not seen the window was off in it. */
export interface ServedRow {
  readonly atMs: number;
  readonly place: Place;
  readonly surroundings: Surroundings;
  /** The profile before the window. */
  readonly state: ProfileState;
  readonly percentile: Percentile;
  /** ln(measured / tracked). */
  readonly error: number;
  /** Variance of `error` by chance, by what disturbed the window and by what the profile did not know yet. */
  readonly variance: number;
}

const STATISTICS = { 0.5: P50, 0.95: P95, 0.99: P99 } as const;

const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
const answer = emptyTimeAnswer();

/**
 * What a window says of the profile before it. Undefined where it says nothing: no latency, too few calls for the percentile, a
 * full container (a queue of any length may be left over), or a profile that is not calibrated.
 */
export function servedRow(
  state: ProfileState,
  { observation, surroundings }: ServiceWindow,
  percentile: Percentile,
): ServedRow | undefined {
  const { atMs, calls = 0, cpuCores, cpuUsageCores = 0, loadPerContainer, windowSeconds } = observation;
  const statistic = STATISTICS[percentile];
  const measured = [observation.p50Seconds, observation.p95Seconds, observation.p99Seconds][statistic - P50];
  if (!isCalibrated(state) || !isPositive(loadPerContainer) || !isPositive(measured)) return undefined;
  if (!(calls >= LEAST_CALLS[statistic])) return undefined;
  const likeliest = state.weights.indexOf(Math.max(...state.weights));
  const program = PROGRAMS[likeliest] as Program;
  if (cpuUsageCores >= SATURATED * Math.min(cpuCores ?? Infinity, program.parallelism)) return undefined;
  const place = { cpuCores, loadPerContainer };
  const means = state.means[likeliest] ?? [];
  timeAt(means, program, { ...place, windowSeconds }, statistic, answer);
  const { cpuShare } = answer;
  const chance = chanceAt(means, program, { ...place, windowSeconds }, statistic, { calls, cpuShare });
  predictOwnTime(state, place, percentile, out);
  const unknown = Math.max(0, out.sigma ** 2 - residualVariance(state, percentile));
  const error = Math.log(measured / out.tailSeconds);
  const variance = chance + disturbance(state, observation) + unknown;
  return { atMs, place, surroundings, state, percentile, error, variance };
}

/** Tracks a service through its windows, oldest first: what each says of the profile that the ones before it made. */
export function servedRows(windows: readonly ServiceWindow[], percentile: Percentile): ServedRow[] {
  let state = emptyProfile();
  return windows.flatMap((window) => {
    const row = servedRow(state, window, percentile);
    state = track(state, window.observation);
    return row ?? [];
  });
}

/** What a model says of a row: ln of its factor on the tracked tail. */
export function residualAt(model: ResidualModel, row: ServedRow): number {
  const { percentile, place, state, surroundings } = row;
  predictOwnTime(state, place, percentile, out);
  return new ServedResidual(model, state, surroundings, percentile).apply(place, out);
}
