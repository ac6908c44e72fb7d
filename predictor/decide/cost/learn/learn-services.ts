import { hasCpuLimits, mainContainers, meanOfKnown } from "@tradewind/core/measure/main-containers.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { surroundingsOf } from "../../../models/network/surroundings.ts";
import { burstsAfter } from "../../../models/queue/cpu-bursts.ts";
import type { ThrottledContainer } from "../../../models/queue/cpu-bursts.ts";
import { emptyProfile, track, withDemand } from "../../../models/queue/tracked-profile.ts";
import type { ProfileObservation, ProfileState } from "../../../models/queue/tracked-profile.ts";
import { costOfMix, mixOf } from "../../../nodes/class-mix.ts";
import type { ClassLogs } from "../../../nodes/class-mix.ts";
import { callsAfter } from "./calls.ts";
import { namesIn } from "./cost-window.ts";
import type { CostWindow } from "./cost-window.ts";
import { ROUTE_SHARE } from "./learn-routes.ts";
import { modelPercentile, ownTailSeconds } from "./percentile.ts";
import type { CostSettings } from "../../facts/cost-settings.ts";
import { isSaturated } from "../../facts/need.ts";
import type { Observation } from "../../facts/observation.ts";
import { levelsAfter } from "./learn-levels.ts";
import { withoutStarted } from "./starts.ts";
import type { CostMemory, ServiceModelMemory } from "./state.ts";
import { warmUpAfter } from "./warm-up.ts";

/** What the windows say of each service after one more. */
export function servicesAfter(
  memory: Pick<CostMemory, "services">,
  costWindow: CostWindow,
  classLogs: ClassLogs,
): ServiceModelMemory[] {
  const remembered = new Map(memory.services.map((model) => [model.service, model]));
  const callsOf = callsAfter(costWindow, memory.services);
  const {
    application: {
      objective: { percentile },
    },
    endMs,
    settings: { cost },
  } = costWindow;
  const met = servicesOfMet(costWindow);
  return costWindow.observations.map((observation) => {
    const { service, window } = observation;
    const known = remembered.get(service) ?? { service, profile: emptyProfile(), windows: 0 };
    const calls = callsOf.get(service);
    const modelBefore = withoutStarted(
      calls === undefined ? known : { ...known, calls },
      window,
      endMs,
      cost,
    );
    if (window === undefined || window.missing !== undefined) return modelBefore;
    const isUntypical = isTurningAway(observation, costWindow.application.objective);
    const taking = { settings: cost, percentile: modelPercentile(percentile), isUntypical };
    const after = serviceAfter(onNodesOf(modelBefore, window, classLogs), window, taking);
    const metTailSeconds = metTailAfter(modelBefore, met.has(service) ? window : undefined, percentile);
    return metTailSeconds === undefined ? after : { ...after, metTailSeconds };
  });
}

/** @param window undefined where a route through the service missed its objective, or none passes it */
function metTailAfter(
  { metTailSeconds }: ServiceModelMemory,
  window: Window | undefined,
  percentile: number,
): number | undefined {
  const seconds = ownTailSeconds(window?.ownLatency, percentile);
  if (seconds === undefined || metTailSeconds === undefined) return seconds ?? metTailSeconds;
  return metTailSeconds + ROUTE_SHARE * (seconds - metTailSeconds);
}

/** Services on routes, none of which missed its objective. */
function servicesOfMet({ index, routes }: CostWindow): ReadonlySet<string> {
  const met = new Set(routes.flatMap(({ graph }) => namesIn(graph, index)));
  for (const { graph, severity } of routes)
    if (severity > 1) for (const service of namesIn(graph, index)) met.delete(service);
  return met;
}

/**
 * The profile on the nodes of its pods now. Where pods came or went on faster or slower nodes a request takes more or less CPU,
 * by the measured speeds. So what is learnt is the demand on the reference class.
 */
function onNodesOf(model: ServiceModelMemory, window: Window, classLogs: ClassLogs): ServiceModelMemory {
  const mix = mixOf(window);
  const { onClasses: _before, ...rest } = model;
  if (mix.size === 0) return model.onClasses === undefined ? model : rest;
  const mixBefore = new Map(Object.entries(model.onClasses ?? {}));
  const log =
    mixBefore.size === 0 ? 0 : Math.log(costOfMix(mix, classLogs) / costOfMix(mixBefore, classLogs));
  return { ...rest, profile: withDemand(model.profile, log), onClasses: Object.fromEntries(mix) };
}

/** Most of its requests fail, or it is full and fails some: how much of their work was done is not known. */
const isTurningAway = (
  { demand, window }: Observation,
  { percentile }: { readonly percentile: number },
): boolean =>
  isFailing(window) ||
  (demand !== undefined && isSaturated(demand) && (window?.errorRatio ?? 0) > 1 - percentile);

/** The median request fails: times and CPU of the window are those of failures. */
export const isFailing = (window: Pick<Window, "errorRatio"> | undefined): boolean =>
  (window?.errorRatio ?? 0) > 0.5;

/** Share of the ready pods from which on a new revision is what is measured. */
const DEPLOYED_SHARE = 0.5;

/** The program that a window measured; undefined where that is not known. */
export const revisionOf = ({ newestRevisionShare = 1, revision }: Window): string | undefined =>
  newestRevisionShare >= DEPLOYED_SHARE ? revision : undefined;

interface Taking {
  readonly settings: CostSettings;
  readonly percentile: ReturnType<typeof modelPercentile>;
  /** The window says nothing of usual requests. */
  readonly isUntypical: boolean;
}

function serviceAfter(
  model: ServiceModelMemory,
  window: Window,
  { isUntypical, percentile, settings: { network: hasNetwork, youngSeconds } }: Taking,
): ServiceModelMemory {
  const containers = mainContainers(window);
  const revision = revisionOf(window) ?? model.revision;
  const isAfterDeploy = model.revision !== undefined && revision !== model.revision;
  const observation = profileObservation(window, isAfterDeploy, { youngSeconds });
  const killedMs = containers.some(({ oomKills = 0 }) => oomKills > 0) ? window.endMs : model.killedMs;
  const isTaken = observation !== undefined && !isUntypical;
  const profile = isTaken ? tracked(model.profile, observation) : model.profile;
  const learntLevel = isTaken
    ? levelsAfter(model, { observation, surroundings: surroundingsOf(window) }, profile, {
        hasNetwork,
        percentile,
      })
    : { ...(model.network && { network: model.network }), ...(model.level && { level: model.level }) };
  const warmUpFactor = warmUpAfter(model.warmUpFactor, window, 1e3 * youngSeconds);
  const bursts = burstsAfter(isAfterDeploy ? undefined : model.bursts, throttledContainers(window));
  // A deploy is one to the first window of it that is taken in.
  const learnt = isTaken ? revision : model.revision;
  return {
    service: model.service,
    profile,
    ...learntLevel,
    windows: model.windows + 1,
    ...(model.calls && { calls: model.calls }),
    ...(learnt !== undefined && { revision: learnt }),
    ...(warmUpFactor !== undefined && { warmUpFactor }),
    ...(killedMs !== undefined && { killedMs }),
    ...(model.rising && { rising: model.rising }),
    ...(bursts && { bursts }),
    ...(model.grownAtLimit && { grownAtLimit: model.grownAtLimit }),
    ...(model.ownQueue && { ownQueue: model.ownQueue }),
    ...(model.onClasses && { onClasses: model.onClasses }),
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
function tracked(profile: ProfileState, observation: ProfileObservation): ProfileState {
  const after = track(profile, observation);
  const isFinite = [...after.means, ...after.covariances, after.weights, after.residuals].every(areFinite);
  return isFinite ? after : profile;
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
