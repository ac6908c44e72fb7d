import { mainContainers } from "@tradewind/core/main-containers.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { compileFlow, serviceIndex } from "../endtoend/call-graph.ts";
import { FlowTail } from "../endtoend/flow-tail.ts";
import { emptyProfile, track } from "../models/queue/tracked-profile.ts";
import type { ProfileObservation } from "../models/queue/tracked-profile.ts";
import type { Observation } from "../policy/observe/observation.ts";
import type { Verdict } from "../policy/observe/verdict.ts";
import { chanceOfTail, median } from "../profile/order-statistics.ts";
import { allocatedCpuCores } from "../profile/window-inputs.ts";
import { flowTailSeconds } from "../queue/objective.ts";
import { observeLoad } from "./outlook.ts";
import type { CostSettings } from "./settings.ts";
import type { CostMemory, RouteMemory, ServiceModelMemory } from "./state.ts";

/** One window, as much of it as the models learn from. */
export interface Lesson {
  readonly windowSet: WindowSet;
  readonly observations: readonly Observation[];
  readonly verdict: Verdict;
  /** Requests that arrived at the application, by when they began where that was counted. */
  readonly arrivalsPerSecond: number;
  readonly percentile: number;
  /** A part of the traffic was not seen: then only the sizes are taken up. */
  readonly isComplete: boolean;
  readonly settings: CostSettings;
}

/** Calls from which on a tail tells anything. */
const TELLING_CALLS = 20;
/** Excesses of this many windows are kept; the later ones are one of {@link EVERY} windows. */
const MOST_EXCESSES = 64;
const EVERY = 4;
const FIRST_EXCESSES = 8;
/** Weight of a window in what is learnt of a route's spread and error. */
const ROUTE_SHARE = 0.1;
/** Until it has been seen, predictions of a route count as off by so much, as ln. */
const UNSEEN_ERROR = 0.3;
/** Widest spread between median and p95 that one standard normal quantile stands for. */
const P95_QUANTILE = 1.6448536269514722;
const LEAST_SPREAD = 0.1;
const DAY_MS = 86_400_000;

/** What the models know after one more window. */
export function learn(memory: CostMemory, lesson: Lesson): CostMemory {
  const { isComplete, settings, verdict, windowSet } = lesson;
  const windowMs = windowSet.endMs - windowSet.startMs;
  const isGap = windowSet.startMs - (memory.windowEndMs ?? windowSet.startMs) > windowMs / 2;
  const perSecond = lesson.arrivalsPerSecond;
  const count = verdict.flows.reduce((sum, { flow }) => sum + flow.latency.count, 0);
  const before = isGap ? { ...memory.outlook, points: [] } : memory.outlook;
  const outlook =
    isComplete && perSecond > 0
      ? observeLoad(before, { endMs: windowSet.endMs, perSecond, count }, windowMs, 1e3 * memory.startSeconds)
      : before;
  const services = servicesAfter(memory, lesson);
  return {
    windowEndMs: windowSet.endMs,
    worth: memory.worth,
    startSeconds: startSecondsAfter(memory, services, lesson),
    outlook,
    routes: isComplete ? routesAfter(memory, lesson) : memory.routes,
    services,
  };
}

const mean = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
const known = (values: readonly (number | undefined)[]): number[] =>
  values.filter((value) => value !== undefined);

function servicesAfter(memory: CostMemory, lesson: Lesson): ServiceModelMemory[] {
  const before = new Map(memory.services.map((each) => [each.service, each]));
  return lesson.observations.map((observation) => {
    const { service, window } = observation;
    const had = before.get(service) ?? { service, profile: emptyProfile(), windows: 0 };
    if (window === undefined || window.missing !== undefined) return had;
    return serviceAfter(had, window, lesson);
  });
}

/** Share of the ready pods from which on a new revision is what is measured. */
const DEPLOYED_SHARE = 0.5;
/** A container that was killed for memory used at least its limit, and as much more as VPA adds. */
const AFTER_KILL = 1.2;

function serviceAfter(had: ServiceModelMemory, window: Window, lesson: Lesson): ServiceModelMemory {
  const containers = mainContainers(window);
  const isDeployed = (window.newestRevisionShare ?? 1) >= DEPLOYED_SHARE && window.revision !== undefined;
  const revision = isDeployed ? window.revision : had.revision;
  const isAfterDeploy = had.revision !== undefined && revision !== had.revision;
  const observation = profileObservation(window, isAfterDeploy, lesson.settings);
  const used = containers.map(({ memoryWorkingSetBytes = 0, oomKills = 0, ...each }) =>
    oomKills > 0
      ? Math.max(memoryWorkingSetBytes, AFTER_KILL * (each.memoryLimitBytes ?? 0))
      : memoryWorkingSetBytes,
  );
  const forgotten = (had.memoryPeakBytes ?? 0) * 0.5 ** ((window.endMs - window.startMs) / DAY_MS);
  const memoryPeakBytes = Math.max(forgotten, ...used);
  const isRising = had.rising !== undefined && (window.replicasReady ?? 0) < had.rising.replicas;
  return {
    service: had.service,
    profile: observation === undefined ? had.profile : track(had.profile, observation),
    windows: had.windows + 1,
    ...(revision !== undefined && { revision }),
    ...(isRising && { rising: had.rising }),
    ...(memoryPeakBytes > 0 && { memoryPeakBytes }),
  };
}

/** Share of the newest start in what is learnt of how long starts take. */
const START_SHARE = 0.2;

/** A start that is over counts with its length; one that takes longer than any before says so at once. */
function startSecondsAfter(
  { services: before, startSeconds }: CostMemory,
  after: readonly ServiceModelMemory[],
  { windowSet }: Lesson,
): number {
  const still = new Set(after.flatMap(({ rising, service }) => (rising === undefined ? [] : [service])));
  let seconds = startSeconds;
  for (const { rising, service } of before) {
    if (rising === undefined) continue;
    const elapsed = (windowSet.endMs - rising.sinceMs) / 1e3;
    if (still.has(service)) seconds = Math.max(seconds, Math.min(elapsed, MOST_START_SECONDS));
    else seconds += START_SHARE * (Math.min(elapsed, MOST_START_SECONDS) - seconds);
  }
  return seconds;
}

/** A start that takes longer than this is none: the cluster is full. */
const MOST_START_SECONDS = 600;

function profileObservation(
  window: Window,
  isAfterDeploy: boolean,
  settings: CostSettings,
): ProfileObservation | undefined {
  const containers = mainContainers(window);
  const { endMs, ownLatency, replicasReady = containers.length, requestsPerSecond, startMs } = window;
  if (replicasReady === 0) return undefined;
  const usage = mean(known(containers.map((each) => each.cpuUsageCores)));
  const throttled = mean(known(containers.map((each) => each.cpuThrottledRatio)));
  return {
    atMs: endMs,
    windowSeconds: (endMs - startMs) / 1e3,
    cpuCores: mean(known(containers.map((each) => allocatedCpuCores(each)))),
    isAfterDeploy,
    ...(usage !== undefined && { cpuUsageCores: usage }),
    ...(requestsPerSecond !== undefined && { loadPerContainer: requestsPerSecond / replicasReady }),
    ...(ownLatency && {
      calls: ownLatency.count,
      meanSeconds: ownLatency.meanSeconds,
      p50Seconds: ownLatency.p50Seconds,
      p95Seconds: ownLatency.p95Seconds,
      p99Seconds: ownLatency.p99Seconds,
    }),
    ...(throttled !== undefined && { throttledRatio: throttled }),
    youngShare: youngShare(window, replicasReady, 1e3 * settings.youngSeconds),
  };
}

/** Share of the containers that started so recently that they may still warm up. */
function youngShare(window: Window, replicasReady: number, youngMs: number): number {
  const isYoung = (startedMs: number | undefined): boolean =>
    startedMs !== undefined && window.endMs - startedMs < youngMs;
  const containers = mainContainers(window).filter(({ startedAtMs }) => startedAtMs !== undefined);
  if (containers.length === 0) return isYoung(window.lastStartedAtMs) ? 1 / replicasReady : 0;
  return containers.filter(({ startedAtMs }) => isYoung(startedAtMs)).length / containers.length;
}

/** Nothing starts, drains or changes its size on the way of the route. */
function isSteady(services: readonly string[], observations: ReadonlyMap<string, Observation>): boolean {
  return services.every((service) => {
    const one = observations.get(service);
    return one === undefined || !(one.settling || one.draining || one.resizing);
  });
}

function routesAfter(memory: CostMemory, lesson: Lesson): RouteMemory[] {
  const { observations, percentile, verdict, windowSet } = lesson;
  const before = new Map(memory.routes.map((each) => [each.route, each]));
  const byName = new Map(observations.map((each) => [each.service, each]));
  const windows = observations.flatMap(({ window }) => (window === undefined ? [] : [window]));
  const index = serviceIndex(windows.map(({ service }) => service));
  const own = Float64Array.from(windows, ({ ownLatency }) => ownLatency?.p95Seconds ?? 0);
  const meanOverTail = Float64Array.from(windows, ({ ownLatency }) =>
    ownLatency !== undefined && ownLatency.p95Seconds > 0
      ? Math.min(1, ownLatency.meanSeconds / ownLatency.p95Seconds)
      : 1,
  );
  const seen = new Set(verdict.flows.map(({ flow }) => flow.flow));
  const learnt = verdict.flows.map(({ flow }): RouteMemory => {
    const had = before.get(flow.flow) ?? {
      route: flow.flow,
      excessSeconds: [],
      excessRatios: [],
      windows: 0,
      spread: 0,
      square: UNSEEN_ERROR ** 2,
    };
    const { count, p50Seconds, p95Seconds } = flow.latency;
    if (count < TELLING_CALLS || !isSteady(flow.services, byName)) return had;
    const graph = compileFlow(flow, windowSet, index);
    const composed = graph === undefined ? 0 : new FlowTail(graph, own, meanOverTail).tailSeconds;
    const measured = flowTailSeconds(flow.latency, percentile);
    if (!(composed > 0) || !(measured > 0)) return had;
    const spreadNow = Math.max(LEAST_SPREAD, Math.log(p95Seconds / p50Seconds) / P95_QUANTILE);
    const isKept = had.windows < FIRST_EXCESSES || had.windows % EVERY === 0;
    const kept = (values: readonly number[], value: number): number[] =>
      isKept ? [...values, value].slice(-MOST_EXCESSES) : [...values];
    const predicted = withExcess(composed, excessOf(had));
    const error = Math.log(measured / predicted) ** 2 - chanceOfTail(count) ** 2;
    return {
      route: had.route,
      windows: had.windows + 1,
      excessSeconds: kept(had.excessSeconds, measured - composed),
      excessRatios: kept(had.excessRatios, measured / composed),
      spread: had.spread === 0 ? spreadNow : had.spread + ROUTE_SHARE * (spreadNow - had.spread),
      square: Math.max(0, had.square + ROUTE_SHARE * (error - had.square)),
    };
  });
  return [...learnt, ...memory.routes.filter(({ route }) => !seen.has(route))].slice(0, 1_000);
}

/** What a route takes beyond its services: seconds on top, or a factor below 1 where it takes less than composed. */
export interface Excess {
  readonly excessSeconds: number;
  readonly factor: number;
}

/**
 * The median of steady windows of up to an hour: what is slow for a while outside of the services is no reason to size them
 * otherwise, and what is always there is none either.
 */
export function excessOf({ excessRatios, excessSeconds }: RouteMemory): Excess {
  if (excessSeconds.length === 0) return { excessSeconds: 0, factor: 1 };
  return { excessSeconds: Math.max(0, median(excessSeconds)), factor: Math.min(1, median(excessRatios)) };
}

const withExcess = (composed: number, { excessSeconds, factor }: Excess): number =>
  factor * composed + excessSeconds;
