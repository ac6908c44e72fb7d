import type { Window } from "@tradewind/core/contract/window.ts";
import { profileObservation } from "@tradewind/predictor/decide/cost/learn/service-reading.ts";
import {
  demandOf,
  emptyProfile,
  isCalibrated,
  predictOwnTime,
} from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { track } from "@tradewind/predictor/models/queue/track.ts";
import type {
  OwnTime,
  ProfileObservation,
  ProfileState,
} from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { median } from "@tradewind/core/values/statistics.ts";

/** A size and load of one container, as a policy would have it. */
export interface ContainerLoad {
  readonly cpuCores: number | undefined;
  /** Requests per second. */
  readonly loadPerContainer: number;
}

/** A window of a service, with the profile that the windows before it made. */
export interface ModelledWindow {
  readonly atMs: number;
  readonly profile: ProfileState;
  /** As it ran. */
  readonly load: ContainerLoad;
}

/** What predicts the self time of one service. */
export interface ServiceModel {
  readonly service: string;
  /** All windows with a calibrated profile, the later ones too, oldest first; at least one. */
  readonly windows: readonly ModelledWindow[];
  /** Self time's mean over its tail, median of the fitted part. */
  readonly meanOverTail: number;
}

const YOUNG = { youngSeconds: 120 } as const;
const PERCENTILE = 0.95;

/**
 * The product's queueing profile of a service, tracked window by window.
 * @param windows of one service, any order
 * @param fitUntilMs windows that began before this are the fitted part
 * @returns undefined where the fitted windows do not calibrate a profile
 */
export function fitService(
  service: string,
  windows: readonly Window[],
  fitUntilMs: number,
): ServiceModel | undefined {
  const ordered = windows
    .filter(({ missing }) => missing === undefined)
    .toSorted((a, b) => a.endMs - b.endMs);
  const seen: {
    readonly observation: ProfileObservation;
    readonly startMs: number;
    readonly profile: ProfileState;
  }[] = [];
  let profile = emptyProfile();
  for (const window of ordered) {
    const observation = profileObservation(window, false, YOUNG);
    if (observation === undefined) continue;
    seen.push({ observation, startMs: window.startMs, profile });
    profile = track(profile, observation);
  }
  const fitted = seen.filter(({ startMs }) => startMs < fitUntilMs);
  if (!fitted.some((each) => isCalibrated(each.profile))) return undefined;
  const shares = fitted.flatMap(({ observation: { meanSeconds = 0, p95Seconds = 0 } }) =>
    p95Seconds > 0 ? [meanSeconds / p95Seconds] : [],
  );
  return {
    service,
    windows: seen.flatMap(({ observation, profile: before }): ModelledWindow[] => {
      const { atMs, cpuCores, loadPerContainer } = observation;
      if (!isCalibrated(before) || loadPerContainer === undefined) return [];
      return [{ atMs, profile: before, load: { cpuCores, loadPerContainer } }];
    }),
    meanOverTail: median(shares),
  };
}

const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };

/** Self time's tail at a window's time if a container had this size and load, seconds. @param load default: as it ran */
export function selfTimeSeconds(
  { profile, load: asItRan }: ModelledWindow,
  load: ContainerLoad = asItRan,
): number {
  predictOwnTime(profile, load, PERCENTILE, out);
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
