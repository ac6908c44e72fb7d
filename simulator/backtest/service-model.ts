import type { Window } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/rng.ts";
import {
  CPU_CORES,
  CPU_SECONDS_PER_REQUEST,
  LOAD_PER_CONTAINER,
  MEMORY_BYTES,
} from "@tradewind/predictor/profile/inputs.ts";
import type { LatencyProfile } from "@tradewind/predictor/profile/latency-profile.ts";
import { ALL_ON } from "@tradewind/predictor/profile/model.ts";
import { median } from "@tradewind/predictor/profile/order-statistics.ts";
import { priorProfile } from "@tradewind/predictor/profile/prior-profile.ts";
import { TrainedProfile } from "@tradewind/predictor/profile/trained-profile.ts";
import { observationOf } from "@tradewind/predictor/profile/window-inputs.ts";
import type { TailPercentile } from "@tradewind/predictor/profile/window-inputs.ts";
import { trainingData } from "@tradewind/predictor/training/rows.ts";
import type { TrainingRow } from "@tradewind/predictor/training/rows.ts";
import { trainService } from "@tradewind/predictor/training/train-service.ts";

/** A size and load of one container, as a policy would have it. */
export interface ContainerLoad {
  readonly cpuCores: number;
  readonly memoryBytes: number;
  readonly requestsPerSecond: number;
}

/** Whose windows a model was made from, and how. */
export interface FitOptions {
  readonly percentile: TailPercentile;
  /** Only windows that began before this belong to the part that models see. */
  readonly fitUntilMs: number;
  /** False skips training: the queueing prior alone predicts. */
  readonly train: boolean;
  readonly seed: number;
}

/** What predicts the self time of one service. */
export interface ServiceModel {
  readonly service: string;
  /** `trained`: a network took the prior's place by the product's own test; `prior`: it did not, or was not asked for. */
  readonly kind: "trained" | "prior";
  /** Rows of all windows of the service, the later ones too, each with the state that was known before it. */
  readonly rows: readonly TrainingRow[];
  readonly profile: LatencyProfile;
  /** Self time's mean over its tail, median of the fitted part. */
  readonly meanOverTail: number;
  /** CPU use that does not follow load, cores for each container. */
  readonly idleCores: number;
  /** CPU seconds of one request at a row's time. */
  cpuSecondsPerRequest(row: TrainingRow): number;
}

/**
 * Fits the product's own latency profile on the windows before `fitUntilMs`.
 * @param windows of one service, any order
 * @returns undefined where the windows do not carry what a profile needs (load, self time, CPU use and size)
 */
export function fitService(
  service: string,
  windows: readonly Window[],
  { fitUntilMs, percentile, seed, train }: FitOptions,
  rng: Rng,
): ServiceModel | undefined {
  const fitted = windows.filter(({ startMs }) => startMs < fitUntilMs);
  const observations = fitted.flatMap((window) => observationOf(window, percentile) ?? []);
  const prior = priorProfile(observations);
  if (prior === undefined) return undefined;
  const outcome = train
    ? trainService(
        {
          namespace: windows[0]?.namespace ?? "default",
          service,
          windows: fitted,
          percentile,
          switches: ALL_ON,
          current: undefined,
          nowMs: fitUntilMs,
          seed,
        },
        rng,
      )
    : undefined;
  const trained = outcome?.kind === "replaced" ? new TrainedProfile(outcome.model) : undefined;
  const latencies = fitted.flatMap(({ ownLatency }) => (ownLatency === undefined ? [] : [ownLatency]));
  const cost = prior.state.cpuSecondsPerRequest;
  return {
    service,
    kind: trained === undefined ? "prior" : "trained",
    rows: trainingData(windows, percentile).rows,
    profile: trained ?? prior,
    meanOverTail: median(
      latencies.filter(({ p95Seconds }) => p95Seconds > 0).map((each) => each.meanSeconds / each.p95Seconds),
    ),
    idleCores: Math.max(
      0,
      median(observations.map((each) => each.cpuUsageCores - cost * each.loadPerContainer)),
    ),
    cpuSecondsPerRequest: ({ input }) => {
      const seconds = input[CPU_SECONDS_PER_REQUEST] ?? Number.NaN;
      return seconds > 0 ? seconds : cost;
    },
  };
}

/** Self time's tail at the row's time if a container had this size and load, seconds. */
export function selfTimeSeconds(model: ServiceModel, row: TrainingRow, load: ContainerLoad): number {
  const input = row.input.slice();
  input[CPU_CORES] = load.cpuCores;
  input[MEMORY_BYTES] = load.memoryBytes;
  input[LOAD_PER_CONTAINER] = load.requestsPerSecond;
  return model.profile.evaluate(input);
}

/** The row of the window that ended at `endMs`, or the last one before it; the first where none is earlier. */
export function rowAt(rows: readonly TrainingRow[], endMs: number): TrainingRow | undefined {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.atMs ?? 0) <= endMs) low = middle + 1;
    else high = middle;
  }
  return rows[Math.max(0, low - 1)];
}
