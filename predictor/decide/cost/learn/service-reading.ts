import { hasCpuLimits, mainContainers, meanOfKnown } from "@tradewind/core/measure/main-containers.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import type { ThrottledContainer } from "../../../models/queue/cpu-bursts.ts";
import type { ProfileObservation } from "../../../models/queue/take-window.ts";
import type { CostSettings } from "../../facts/cost-settings.ts";
import { isSaturated } from "../../facts/need.ts";
import type { Observation } from "../../facts/observation.ts";
import type { CostWindow } from "./cost-window.ts";

/** What a window says of a service, worked out once. */
export interface ServiceReading {
  /** The program that was measured, or the one before where that is not known. */
  readonly revision: string | undefined;
  /** The first window of another program. */
  readonly isAfterDeploy: boolean;
  /** As its profile takes it in; undefined without ready replicas, and where most requests were turned away. */
  readonly taken: ProfileObservation | undefined;
  /** A container was killed for lack of memory. */
  readonly isKilled: boolean;
  readonly throttled: readonly ThrottledContainer[];
}

/** @param revisionBefore the program that was measured before */
export function readingOf(
  window: Window,
  observation: Observation,
  revisionBefore: string | undefined,
  { application, settings }: Pick<CostWindow, "application" | "settings">,
): ServiceReading {
  const revision = revisionOf(window) ?? revisionBefore;
  const isAfterDeploy = revisionBefore !== undefined && revision !== revisionBefore;
  return {
    revision,
    isAfterDeploy,
    taken: isTurningAway(observation, application.objective)
      ? undefined
      : profileObservation(window, isAfterDeploy, settings.cost),
    isKilled: mainContainers(window).some(({ oomKills = 0 }) => oomKills > 0),
    throttled: throttledContainers(window),
  };
}

/** What a window says of a service, as its profile takes it in; undefined without ready replicas. */
export function profileObservation(
  window: Window,
  isAfterDeploy: boolean,
  { youngSeconds }: Pick<CostSettings, "youngSeconds">,
): ProfileObservation | undefined {
  const containers = mainContainers(window);
  const { endMs, ownLatency, replicasReady = containers.length, requestsPerSecond, startMs } = window;
  const { responseLatency } = window;
  if (replicasReady === 0) return undefined;
  const windowSeconds = (endMs - startMs) / 1e3;
  const requests = (requestsPerSecond ?? 0) * windowSeconds;
  const usage = isShareKnown(window, 1e3 * youngSeconds)
    ? meanOfKnown(containers.map((each) => each.cpuUsageCores))
    : undefined;
  const throttled = meanOfKnown(containers.map((each) => each.cpuThrottledRatio));
  return {
    atMs: endMs,
    windowSeconds,
    cpuCores: hasCpuLimits(window) ? meanOfKnown(containers.map((each) => each.cpuLimitCores)) : undefined,
    isAfterDeploy,
    ...(usage !== undefined && { cpuUsageCores: usage }),
    ...(requestsPerSecond !== undefined && { loadPerContainer: requestsPerSecond / replicasReady }),
    ...(ownLatency && {
      calls: ownLatency.count,
      ...(requests > 0 && { keptRatio: Math.min(1, ownLatency.count / requests) }),
      meanSeconds: ownLatency.meanSeconds,
      p50Seconds: ownLatency.p50Seconds,
      p95Seconds: ownLatency.p95Seconds,
      p99Seconds: ownLatency.p99Seconds,
    }),
    ...(responseLatency && { responseSeconds: responseLatency.meanSeconds }),
    ...(throttled !== undefined && { throttledRatio: throttled }),
    youngShare: youngShare(window, replicasReady, 1e3 * youngSeconds),
  };
}

/**
 * The containers whose CPU was measured had an equal share of the requests. Those that have just started are not measured, and how many
 * requests they took from the others is not known.
 */
const isShareKnown = (window: Window, youngMs: number): boolean =>
  !mainContainers(window).some(
    ({ cpuUsageCores, startedAtMs }) =>
      cpuUsageCores === undefined && startedAtMs !== undefined && window.endMs - startedAtMs < youngMs,
  );

/** Share of the containers that started so recently that they may still warm up. */
function youngShare(window: Window, replicasReady: number, youngMs: number): number {
  const isYoung = (startedMs: number | undefined): boolean =>
    startedMs !== undefined && window.endMs - startedMs < youngMs;
  const containers = mainContainers(window).filter(({ startedAtMs }) => startedAtMs !== undefined);
  if (containers.length === 0) return isYoung(window.lastStartedAtMs) ? 1 / replicasReady : 0;
  return containers.filter(({ startedAtMs }) => isYoung(startedAtMs)).length / containers.length;
}

/** Its containers whose use and throttling under a CPU limit were measured. */
const throttledContainers = (window: Window): ThrottledContainer[] =>
  mainContainers(window).flatMap(({ cpuLimitCores, cpuThrottledRatio: throttledRatio, cpuUsageCores }) =>
    cpuLimitCores === undefined || throttledRatio === undefined || cpuUsageCores === undefined
      ? []
      : [
          {
            cpuLimitCores,
            cpuUsageCores,
            throttledRatio,
            windowSeconds: (window.endMs - window.startMs) / 1e3,
          },
        ],
  );

/** Most of its requests fail, or it is full and fails some: how much of their work was done is not known. */
const isTurningAway = (
  { demand, window }: Observation,
  { percentile }: { readonly percentile: number },
): boolean =>
  isFailing(window) ||
  (demand !== undefined && isSaturated(demand) && (window?.errorRatio ?? 0) > 1 - percentile);

/** The median request fails: times and CPU of the window are those of failures. */
const isFailing = (window: Pick<Window, "errorRatio"> | undefined): boolean =>
  (window?.errorRatio ?? 0) > 0.5;

/** Share of the ready pods from which on a new revision is what is measured. */
const DEPLOYED_SHARE = 0.5;

/** The program that a window measured; undefined where that is not known. */
const revisionOf = ({ newestRevisionShare = 1, revision }: Window): string | undefined =>
  newestRevisionShare >= DEPLOYED_SHARE ? revision : undefined;
