import type { Window } from "@tradewind/core/contract/window.ts";
import { learnInflation } from "../profile/cpu-inflation.ts";
import type { CpuInflation } from "../profile/cpu-inflation.ts";
import { BASE_SECONDS, CPU_SECONDS_PER_REQUEST } from "../profile/inputs.ts";
import { observedState } from "../profile/present-state.ts";
import { estimatePriorWeight } from "../profile/prior-weight.ts";
import { estimateState, tellsCost } from "../profile/service-state.ts";
import type { Observation, ServiceState } from "../profile/service-state.ts";
import { inputsOf, observationOf } from "../profile/window-inputs.ts";
import type { TailPercentile } from "../profile/window-inputs.ts";

/** A window of one service as a training needs it: a few numbers, however many containers the service has. */
export interface ObservedWindow {
  readonly observation: Observation;
  /** See `INPUTS`; without a state. */
  readonly input: Float64Array;
  /** Calls that the latency was measured on. */
  readonly calls: number;
}

/** Windows of one service without those that have no load, latency or allocation. */
export function observedWindows(windows: readonly Window[], percentile: TailPercentile): ObservedWindow[] {
  return windows.flatMap((window): ObservedWindow[] => {
    const observation = observationOf(window, percentile);
    if (observation === undefined || !(observation.latencySeconds > 0)) return [];
    return [{ observation, input: inputsOf(window, undefined), calls: window.ownLatency?.count ?? 0 }];
  });
}

/** One row to learn from: what a service got and bore, and the own tail latency it had. */
export interface TrainingRow {
  readonly atMs: number;
  /** See `INPUTS`. */
  readonly input: Float64Array;
  readonly latencySeconds: number;
  /** What the row's state was corrected for interference with; predictions need the same. */
  readonly inflation?: CpuInflation;
}

export interface TrainingData {
  /** Oldest first. */
  readonly rows: readonly TrainingRow[];
  readonly priorWeight: number;
}

/** How far back the state of a service is measured: 40 windows of 15 s are ten minutes. */
export const STATE_WINDOWS = 40;

/**
 * Rows from the windows of one service. Each row's state comes from the windows before it and from the CPU that its requests
 * take now, as in a plan: training sees what prediction will see.
 * @param observed of one service, any order
 */
export function trainingData(observed: readonly ObservedWindow[]): TrainingData {
  const windows = [...observed].sort((a, b) => a.observation.atMs - b.observation.atMs);
  const observations = windows.map(({ observation }) => observation);
  const priorWeight = estimatePriorWeight(observations);
  const inflation = inflationOf(observations);
  const rows: TrainingRow[] = [];
  for (const [i, { calls, input, observation }] of windows.entries()) {
    const before = observations.slice(Math.max(0, i - STATE_WINDOWS), i);
    const state = estimateState(before, priorWeight, inflation);
    if (state === undefined) continue;
    rows.push({
      atMs: observation.atMs,
      input: withState(input, observedState(state, observation, calls, inflation)),
      latencySeconds: observation.latencySeconds,
      ...(inflation && { inflation }),
    });
  }
  return { rows, priorWeight };
}

function withState(input: Float64Array, { baseSeconds, cpuSecondsPerRequest }: ServiceState): Float64Array {
  const whole = input.slice();
  whole[CPU_SECONDS_PER_REQUEST] = cpuSecondsPerRequest;
  whole[BASE_SECONDS] = baseSeconds;
  return whole;
}

function inflationOf(observations: readonly Observation[]): CpuInflation | undefined {
  return learnInflation(
    observations.flatMap((observation) => {
      const { cpuUsageCores, interference, loadPerContainer } = observation;
      if (interference === undefined || !tellsCost(observation)) return [];
      return [{ cpuSecondsPerRequest: cpuUsageCores / loadPerContainer, interference }];
    }),
  );
}

/** Rows by what they are for. */
export interface RowSets {
  /** Each network trains on all folds but one, and stops by that one. No row is in two folds. */
  readonly folds: readonly (readonly TrainingRow[])[];
  /** Calibrates the interval and judges the result; later than all folds. */
  readonly later: readonly TrainingRow[];
}

export const FOLDS = 5;

/** Length of the blocks of time that stay together, so that neighbours do not end up on both sides. */
const BLOCK_MS = 10 * 60_000;

/**
 * The last fifth of the rows is the later block; what comes before is dealt out to five folds in blocks of ten minutes, so
 * that all regimes the service went through are in each.
 * @param rows oldest first
 */
export function splitByTime(rows: readonly TrainingRow[]): RowSets {
  const cut = Math.floor(rows.length * 0.8);
  const start = rows[0]?.atMs ?? 0;
  const span = (rows[cut]?.atMs ?? start) - start;
  const blockMs = Math.min(BLOCK_MS, Math.max(1, span / (3 * FOLDS)));
  const folds: TrainingRow[][] = Array.from({ length: FOLDS }, () => []);
  for (const row of rows.slice(0, cut)) folds[Math.floor((row.atMs - start) / blockMs) % FOLDS]?.push(row);
  return { folds: folds.filter((fold) => fold.length > 0), later: rows.slice(cut) };
}
