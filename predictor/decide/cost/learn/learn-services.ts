import { hasCpuLimits, mainContainers, meanOfKnown } from "@tradewind/core/measure/main-containers.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { hold } from "../../../models/residual/held.ts";
import { surroundingsOf } from "../../../models/residual/inputs.ts";
import { burstsAfter } from "../../../models/queue/cpu-bursts.ts";
import type { ThrottledContainer } from "../../../models/queue/cpu-bursts.ts";
import { emptyProfile, track, withDemand } from "../../../models/queue/tracked-profile.ts";
import type { ProfileObservation, ProfileState } from "../../../models/queue/tracked-profile.ts";
import { costOfMix, mixOf } from "../../../nodes/class-mix.ts";
import type { ClassLogs } from "../../../nodes/class-mix.ts";
import type { Lesson } from "./lesson.ts";
import type { CostSettings } from "../../facts/cost-settings.ts";
import { isSaturated } from "../../facts/need.ts";
import type { Observation } from "../../facts/observation.ts";
import { mostStartSeconds, risingAfter } from "./starts.ts";
import type { CostMemory, ServiceModelMemory } from "./state.ts";
import { warmUpAfter } from "./warm-up.ts";

/** What the windows say of each service after one more. */
export function servicesAfter(
  memory: Pick<CostMemory, "services">,
  lesson: Lesson,
  classLogs: ClassLogs,
): ServiceModelMemory[] {
  const before = new Map(memory.services.map((each) => [each.service, each]));
  return lesson.observations.map((observation) => {
    const { service, window } = observation;
    const known = before.get(service) ?? { service, profile: emptyProfile(), windows: 0 };
    const calls = lesson.calls?.get(service);
    const had = calls === undefined ? known : { ...known, calls };
    if (window === undefined || window.missing !== undefined) return withoutStarted(had, window, lesson);
    const moved = onNodesOf(had, window, classLogs);
    return serviceAfter(moved, window, lesson, isTurningAway(observation, lesson));
  });
}

/**
 * Its profile as that of requests on the nodes of its pods now: where pods came or went on faster or slower nodes, a request takes
 * more or less of the CPU than before by what is known of those nodes. What is learnt is so the demand on the reference class.
 */
function onNodesOf(had: ServiceModelMemory, window: Window, classLogs: ClassLogs): ServiceModelMemory {
  const mix = mixOf(window);
  const { onClasses: _before, ...rest } = had;
  if (mix.size === 0) return had.onClasses === undefined ? had : rest;
  const before = new Map(Object.entries(had.onClasses ?? {}));
  const log = before.size === 0 ? 0 : Math.log(costOfMix(mix, classLogs) / costOfMix(before, classLogs));
  return { ...rest, profile: withDemand(had.profile, log), onClasses: Object.fromEntries(mix) };
}

/** Without the note of replicas that start, once that is over, see {@link risingAfter}: this is known whatever else is missing. */
function withoutStarted(
  had: ServiceModelMemory,
  window: Window | undefined,
  { settings, windowSet }: Lesson,
): ServiceModelMemory {
  const { rising, ...rest } = had;
  const mostSeconds = mostStartSeconds(settings);
  return risingAfter(rising, window, { endMs: windowSet.endMs, mostSeconds }) === undefined ? rest : had;
}

/** Its requests are no usual ones: most of them fail, or it is full and fails some, of which nobody knows how much of their work was done. */
const isTurningAway = ({ demand, window }: Observation, { percentile }: Lesson): boolean =>
  isFailing(window) ||
  (demand !== undefined && isSaturated(demand) && (window?.errorRatio ?? 0) > 1 - percentile);

/** Its median request fails: what a window says of times and CPU is said of failures. */
export const isFailing = (window: Pick<Window, "errorRatio"> | undefined): boolean =>
  (window?.errorRatio ?? 0) > 0.5;

/** Share of the ready pods from which on a new revision is what is measured. */
const DEPLOYED_SHARE = 0.5;

/** The program that a window measured; undefined where that is not known. */
export const revisionOf = ({ newestRevisionShare = 1, revision }: Window): string | undefined =>
  newestRevisionShare >= DEPLOYED_SHARE ? revision : undefined;

function serviceAfter(
  had: ServiceModelMemory,
  window: Window,
  lesson: Lesson,
  isUntypical: boolean,
): ServiceModelMemory {
  const containers = mainContainers(window);
  const revision = revisionOf(window) ?? had.revision;
  const isAfterDeploy = had.revision !== undefined && revision !== had.revision;
  const observation = profileObservation(window, isAfterDeploy, lesson.settings);
  const warmUpFactor = warmUpAfter(had.warmUpFactor, window, 1e3 * lesson.settings.youngSeconds);
  const killedMs = containers.some(({ oomKills = 0 }) => oomKills > 0) ? window.endMs : had.killedMs;
  const { rising } = withoutStarted(had, window, lesson);
  const isTaken = observation !== undefined && !isUntypical;
  const bursts = burstsAfter(isAfterDeploy ? undefined : had.bursts, throttledContainers(window));
  // A deploy is one to the first window of it that is taken in.
  const learnt = isTaken ? revision : had.revision;
  return {
    service: had.service,
    profile: isTaken ? tracked(had.profile, observation) : had.profile,
    windows: had.windows + 1,
    surroundings: hold(had.surroundings, surroundingsOf(window), {
      atMs: window.endMs,
      holdMs: 1e3 * lesson.settings.standSeconds,
    }),
    ...(had.calls && { calls: had.calls }),
    ...(learnt !== undefined && { revision: learnt }),
    ...(warmUpFactor !== undefined && { warmUpFactor }),
    ...(killedMs !== undefined && { killedMs }),
    ...(rising && { rising }),
    ...(bursts && { bursts }),
    ...(had.grownAtLimit && { grownAtLimit: had.grownAtLimit }),
    ...(had.onClasses && { onClasses: had.onClasses }),
  };
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

/** The profile after a window; without it where its numbers are so far off that the filter overflows. */
function tracked(before: ProfileState, observation: ProfileObservation): ProfileState {
  const after = track(before, observation);
  const isFinite = [...after.means, ...after.covariances, after.weights, after.residuals].every(areFinite);
  return isFinite ? after : before;
}

const areFinite = (numbers: readonly number[]): boolean => numbers.every((each) => Number.isFinite(each));

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
