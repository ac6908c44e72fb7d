import { contentHash } from "@tradewind/core/values/hash.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { profileObservation } from "@tradewind/predictor/decide/cost/learn/learn-services.ts";
import {
  demandOf,
  emptyProfile,
  isCalibrated,
  predictOwnTime,
  track,
} from "@tradewind/predictor/models/queue/tracked-profile.ts";
import type { OwnTime, ProfileState } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { surroundingsOf } from "@tradewind/predictor/models/residual/inputs.ts";
import type { Surroundings } from "@tradewind/predictor/models/residual/inputs.ts";
import { ServedResidual } from "@tradewind/predictor/models/residual/residual.ts";
import type { ServiceWindow } from "@tradewind/predictor/models/residual/served-rows.ts";
import { Standing } from "@tradewind/predictor/models/residual/standing.ts";
import type { InUse } from "@tradewind/predictor/models/residual/standing.ts";
import { trainResidual } from "@tradewind/predictor/models/residual/train-residual.ts";
import type { ResidualJob } from "@tradewind/predictor/models/residual/train-residual.ts";
import { median } from "@tradewind/core/values/statistics.ts";

/** A size and load of one container, as a policy would have it. */
export interface ContainerLoad {
  readonly cpuCores: number | undefined;
  /** Requests per second. */
  readonly loadPerContainer: number;
}

/** Whose windows a model was made from, and how. */
export interface FitOptions {
  /** Only windows that began before this belong to the part that residuals are trained on. */
  readonly fitUntilMs: number;
  readonly seed: number;
}

/** A window of a service, with the profile that the windows before it made. */
export interface ModelledWindow {
  readonly atMs: number;
  readonly profile: ProfileState;
  readonly surroundings: Surroundings;
  /** As it ran. */
  readonly load: ContainerLoad;
}

/** What predicts the self time of one service. */
export interface ServiceModel {
  readonly service: string;
  /** Absent where later windows bear out nothing of it. */
  readonly residual: InUse | undefined;
  /** All windows with a calibrated profile, the later ones too, oldest first; at least one. */
  readonly windows: readonly ModelledWindow[];
  /** Self time's mean over its tail, median of the fitted part. */
  readonly meanOverTail: number;
}

const YOUNG = { youngSeconds: 120 } as const;
const PERCENTILE = 0.95;

/**
 * The product's own models of a service: its queueing profile, tracked window by window, and the residual that is trained on the
 * windows before `fitUntilMs` where it passes the product's own test.
 * @param windows of one service, any order
 * @returns undefined where the windows before `fitUntilMs` do not calibrate a profile
 */
export function fitService(
  service: string,
  windows: readonly Window[],
  { fitUntilMs, seed }: FitOptions,
  rng: Rng,
): ServiceModel | undefined {
  const ordered = windows
    .filter(({ missing }) => missing === undefined)
    .toSorted((a, b) => a.endMs - b.endMs);
  const seen: { readonly window: ServiceWindow; readonly startMs: number; readonly profile: ProfileState }[] =
    [];
  let profile = emptyProfile();
  for (const window of ordered) {
    const observation = profileObservation(window, false, YOUNG);
    if (observation === undefined) continue;
    const { startMs } = window;
    seen.push({ window: { observation, surroundings: surroundingsOf(window) }, startMs, profile });
    profile = track(profile, observation);
  }
  const fitted = seen.filter(({ startMs }) => startMs < fitUntilMs);
  if (!fitted.some((each) => isCalibrated(each.profile))) return undefined;
  const job = {
    namespace: ordered[0]?.namespace ?? "default",
    service,
    windows: fitted.map(({ window }) => window),
    percentile: PERCENTILE,
    version: 1,
    nowMs: fitUntilMs,
    seed,
  } as const;
  const shares = fitted.flatMap(({ window: { observation } }) => {
    const { meanSeconds = 0, p95Seconds = 0 } = observation;
    return p95Seconds > 0 ? [meanSeconds / p95Seconds] : [];
  });
  return {
    service,
    residual: provenResidual(job, rng),
    windows: seen.flatMap(({ profile: before, window: { observation, surroundings } }): ModelledWindow[] => {
      const { atMs, cpuCores, loadPerContainer } = observation;
      if (!isCalibrated(before) || loadPerContainer === undefined) return [];
      return [{ atMs, profile: before, surroundings, load: { cpuCores, loadPerContainer } }];
    }),
    meanOverTail: median(shares),
  };
}

/** Trains a residual, and weighs it by the windows after those that trained it; undefined where they bear out nothing of it. */
export function provenResidual(job: ResidualJob, rng: Rng): InUse | undefined {
  const outcome = trainResidual(job, rng);
  if (outcome.kind !== "trained") return undefined;
  const standing = new Standing();
  standing.offer({ hash: contentHash(job.service), model: outcome.model }, outcome.judgements);
  return standing.inUse;
}

const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };

/** Self time's tail at a window's time if a container had this size and load, seconds. @param load default: as it ran */
export function selfTimeSeconds(
  { residual }: ServiceModel,
  { profile, surroundings, load: asItRan }: ModelledWindow,
  load: ContainerLoad = asItRan,
): number {
  predictOwnTime(profile, load, PERCENTILE, out);
  if (residual !== undefined)
    new ServedResidual(residual.model, profile, surroundings, PERCENTILE, residual).apply(load, out);
  return out.tailSeconds;
}

/** CPU that one container uses at a window's time under this load, cores: without a limit to it. */
export function cpuUseCores({ profile }: ModelledWindow, loadPerContainer: number): number {
  const { cpuSecondsPerRequest = 0, housekeepingCores = 0 } = demandOf(profile) ?? {};
  return housekeepingCores + loadPerContainer * cpuSecondsPerRequest;
}

/** The window that ended at `endMs`, or the last one before it; the first where none is earlier. */
export function windowAt(windows: readonly ModelledWindow[], endMs: number): ModelledWindow | undefined {
  let low = 0;
  let high = windows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((windows[middle]?.atMs ?? 0) <= endMs) low = middle + 1;
    else high = middle;
  }
  return windows[Math.max(0, low - 1)];
}
