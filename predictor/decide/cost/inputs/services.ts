import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { hasCpuLimits } from "@tradewind/core/measure/main-containers.ts";
import { changeInterval } from "../../../models/queue/change-interval.ts";
import type { ContainerPlace } from "../../../models/queue/change-interval.ts";
import { stalledShares } from "../../../models/queue/cpu-bursts.ts";
import { demandOf, isCalibrated, predictOwnTime, withDemand } from "../../../models/queue/tracked-profile.ts";
import type { ProfileState } from "../../../models/queue/tracked-profile.ts";
import { ProfileTails } from "../../../models/queue/profile-tails.ts";
import { surroundingsHeld } from "../../../models/residual/held.ts";
import { ServedResidual } from "../../../models/residual/residual.ts";
import type { CoresBounds } from "../price/cheapest-cores.ts";
import { roundedUp } from "../../facts/size.ts";
import type { Size } from "../../facts/size.ts";
import type { Observation } from "../../facts/observation.ts";
import { bounded } from "../../facts/target.ts";
import type { ServiceToSize } from "../price/cost-inputs.ts";
import type { Elsewhere, OwnChange, OwnTimes } from "../price/cost-inputs.ts";
import { AGAIN_MS } from "../learn/outlook.ts";
import type { LoadOutlook } from "../learn/outlook.ts";
import { modelPercentile, ownTailSeconds } from "../learn/percentile.ts";
import { podSpeedsOf } from "./pod-speeds.ts";
import type { PodSpeeds } from "./pod-speeds.ts";
import type { CostRequest, Known } from "./request.ts";
import { podRoom } from "./pod-room.ts";
import { resizeRoomOf } from "./resize-room.ts";
import { UNSEEN_WARM_UP } from "../learn/warm-up.ts";

/** Replicas that a decision may ask for beyond the factor of growth, as the scaler's guard allows. */
const GROWTH_PODS = 4;

/** Tolerates the rounding of sums: 3.0000000001 replicas are 3. */
const ROUNDING = 1e-6;

/** A service as the search sees it: what it may be made, and how long its own time is then. */
export function serviceToSize(one: Observation, request: CostRequest, known: Known): ServiceToSize {
  const { service, window } = one;
  const base = baseOf(one);
  const common = {
    name: service,
    requestsPerSecond: loadOf(one, known),
    base,
    measured: measuredOwn(window, request),
    ...(one.runningContainer && { runningCores: one.runningContainer.cpuCores }),
    pods: podRoom(one),
  };
  const ownOf = one.container === undefined ? undefined : ownTimesOf(one, request.context.application, known);
  const speeds = podSpeedsOf(window, known.classLogs, known.classRooms);
  const own = ownOf?.(speeds && ((replicas) => speeds.at(replicas)));
  if (own === undefined) return { ...common, floor: base, ceiling: base, stepCpuCores: 0 };
  const stepCpuCores = one.resizable.cpu ? one.spec.cpu.stepCores : 0;
  const ownChange = ownChangeOf(one, request.context.application, known);
  const stalled = stalledOf(one, known);
  return {
    ...common,
    ...bounds(one, base, request, known),
    stepCpuCores,
    ...(speeds && ownOf && { elsewhere: elsewhereOf(speeds, ownOf, bounded(one, 1), known) }),
    warmUpFactor: known.models.get(service)?.warmUpFactor ?? known.warmUpFactor ?? UNSEEN_WARM_UP,
    own,
    ...(stalled && { stalled }),
    ...(ownChange && { ownChange }),
  };
}

/** What it has been asked to be, as far as its containers can become it where they run. */
function baseOf(one: Observation): Size {
  const { baseReplicas: replicas, container = { cpuCores: 0, memoryBytes: 0 } } = one;
  const { cpuCores: running = container.cpuCores } = one.runningContainer ?? {};
  const cpuCores = Math.min(container.cpuCores, Math.max(running, roomOf(one)));
  return { replicas, ...container, cpuCores };
}

/** In whole steps: a size is rounded up to one when it is stated. */
const roomOf = ({ spec: { cpu }, window }: Observation): number =>
  cpu.stepCores * Math.floor(resizeRoomOf(window) / cpu.stepCores + ROUNDING);

function measuredOwn(window: Window | undefined, { context }: CostRequest): ServiceToSize["measured"] {
  const { percentile } = context.application.objective;
  const tailSeconds = ownTailSeconds(window?.ownLatency, percentile) ?? 0;
  return { meanSeconds: window?.ownLatency?.meanSeconds ?? 0, tailSeconds };
}

/**
 * A service that requests pass and that has no workload, or one elsewhere: it takes its time, and what it calls is reached
 * through it. Its size is nobody's to change here.
 */
export function passedService(window: Window, request: CostRequest): ServiceToSize {
  const none: Size = { replicas: 0, cpuCores: 0, memoryBytes: 0 };
  return {
    name: window.service,
    requestsPerSecond: window.requestsPerSecond ?? 0,
    base: none,
    floor: none,
    ceiling: none,
    stepCpuCores: 0,
    measured: measuredOwn(window, request),
  };
}

const loadOf = ({ service, window }: Observation, { loads }: Pick<Known, "loads">): number =>
  loads.get(service) ?? window?.requestsPerSecond ?? 0;

/** Where all of its pods could be, on nodes of one class that has room or some of them. */
function elsewhereOf(
  speeds: PodSpeeds,
  ownOf: (logOf: (replicas: number) => number) => OwnTimes,
  leastReplicas: number,
  { classRooms }: Known,
): readonly Elsewhere[] {
  const classes = [...new Set([...speeds.mix.keys(), ...classRooms.keys()])].sort();
  return classes.map((nodeClass) => {
    const log = speeds.on(nodeClass);
    const roomCores = classRooms.get(nodeClass) ?? 0;
    return { nodeClass, log, own: ownOf(() => log), roomCores, leastReplicas, mix: speeds.mix };
  });
}

/**
 * Self times where requests take more or less of the CPU than they do of the pods that run.
 * @returns a function of ln of how much more, by replicas; absent: nowhere
 */
function ownTimesOf(
  one: Observation,
  application: Application,
  { models, residuals }: Known,
): ((logOf?: (replicas: number) => number) => OwnTimes) | undefined {
  const { profile, surroundings } = models.get(one.service) ?? {};
  if (profile === undefined || one.window === undefined || !isCalibrated(profile)) return undefined;
  const percentile = modelPercentile(application.objective.percentile);
  const isLimited = hasCpuLimits(one.window);
  const used = residuals.get(one.service);
  const residual =
    used?.model.percentile === percentile && surroundings !== undefined
      ? new ServedResidual(used.model, profile, surroundingsHeld(surroundings), percentile, used)
      : undefined;
  return (logOf) => {
    const made = new Map<number, Curve>();
    // Where a request takes exp(log) times the CPU; each made once.
    const curveWith = (log: number): Curve => {
      const state = withDemand(profile, log);
      const curve = { state, tails: new ProfileTails(state, percentile) };
      made.set(log, curve);
      return curve;
    };
    return ({ cpuCores, replicas }, loadPerContainer, out, isTailAlone = false) => {
      const place = { cpuCores: isLimited ? cpuCores : undefined, loadPerContainer };
      const log = logOf?.(replicas) ?? 0;
      const { state, tails } = made.get(log) ?? curveWith(log);
      if (isTailAlone) out.tailSeconds = tails.at(place);
      else predictOwnTime(state, place, percentile, out, tails.demands);
      residual?.apply(place, out);
    };
  };
}

function stalledOf(one: Observation, { models }: Known): ServiceToSize["stalled"] {
  const { bursts, profile } = models.get(one.service) ?? {};
  const taken = profile && demandOf(profile);
  if (bursts === undefined || taken === undefined || one.window === undefined || !hasCpuLimits(one.window))
    return undefined;
  return stalledShares(bursts, taken);
}

interface Curve {
  readonly state: ProfileState;
  readonly tails: ProfileTails;
}

/** Of a tracked profile as it is; a residual's part of the change has no interval of its own. */
function ownChangeOf(
  one: Observation,
  application: Application,
  { models, residuals }: Known,
): OwnChange | undefined {
  const profile = models.get(one.service)?.profile;
  if (profile === undefined || one.window === undefined || residuals.has(one.service)) return undefined;
  const percentile = modelPercentile(application.objective.percentile);
  const isLimited = hasCpuLimits(one.window);
  const placed = (place: ContainerPlace): ContainerPlace =>
    isLimited ? place : { ...place, cpuCores: undefined };
  return (from, to) => changeInterval(profile, placed(from), placed(to), percentile);
}

/** What the CPU that is asked for is known by. */
export type DemandKnown = Pick<Known, "loads" | "models"> & { readonly outlook: Pick<LoadOutlook, "ratio"> };

/** CPU that the load to come asks for, cores. */
export function demandCores(one: Observation, known: DemandKnown): number {
  const profile = known.models.get(one.service)?.profile;
  const { cpuSecondsPerRequest = 0, housekeepingCores = 0 } = (profile && demandOf(profile)) ?? {};
  return (
    loadOf(one, known) * known.outlook.ratio * cpuSecondsPerRequest +
    housekeepingCores * Math.max(1, one.baseReplicas)
  );
}

/** Replicas in place of so many that are as fast as those that run. */
const replicasFor = (alike: number, { window }: Observation, { classLogs, classRooms }: Known): number =>
  podSpeedsOf(window, classLogs, classRooms)?.replicasFor(alike) ?? alike;

/**
 * Price per hour of the least size that carries the load. Containers that may be made smaller have a floor far under it: theirs
 * is the price of the CPU that the load asks for.
 */
export function leastPerHour(
  one: Observation,
  floor: Size,
  { context, settings }: CostRequest,
  known: Known,
): number {
  const { prices } = context.application;
  if (!one.resizable.cpu) return costPerHour(floor, prices);
  const cores = Math.max(demandCores(one, known) / settings.mostUtilisation, floor.replicas * floor.cpuCores);
  return costPerHour({ ...floor, cpuCores: cores / Math.max(1, floor.replicas) }, prices);
}

/** Nothing is taken from a service of whose load or replicas a part is not known, nor of one to keep. */
const isDoubtful = ({ service, window }: Observation, { context }: CostRequest, { toKeep }: Known): boolean =>
  context.missing !== undefined ||
  window?.replicasReady === undefined ||
  window.requestsPerSecond === undefined ||
  toKeep.has(service);

function bounds(
  one: Observation,
  base: Size,
  request: CostRequest,
  known: Known,
): Pick<ServiceToSize, "floor" | "ceiling"> {
  const { readyReplicas = base.replicas, resizable, spec } = one;
  const { largestContainer, settings } = request;
  const { memoryBytes } = base;
  const isHeld = isDoubtful(one, request, known);
  const most = Math.max(base.replicas, Math.ceil(settings.mostGrowth * readyReplicas) + GROWTH_PODS);
  const alike = demandCores(one, known) / settings.mostUtilisation / Math.max(base.cpuCores, ROUNDING);
  const needed = replicasFor(alike, one, known);
  const least = resizable.cpu ? 1 : Math.min(most, Math.ceil(needed - ROUNDING));
  const running = one.runningContainer?.cpuCores ?? base.cpuCores;
  const { killedMs = Number.NEGATIVE_INFINITY } = known.models.get(one.service) ?? {};
  // Where a container may be killed for memory another serves meanwhile.
  const isCrashing = request.context.windowSet.endMs - killedMs < AGAIN_MS;
  const spared = isCrashing ? Math.max(least, 2) : least;
  const mostCores = Math.min(
    spec.cpu.maxCores,
    settings.mostGrowth * running,
    largestContainer?.cpuCores ?? Number.POSITIVE_INFINITY,
    roomOf(one),
  );
  const leastCores = Math.min(base.cpuCores, roundedUp(spec.cpu.minCores, spec.cpu.stepCores));
  return {
    floor: {
      replicas: bounded(one, isHeld ? Math.max(base.replicas, readyReplicas, spared) : spared),
      cpuCores: resizable.cpu && !isHeld ? leastCores : base.cpuCores,
      memoryBytes,
    },
    ceiling: {
      replicas: bounded(one, most),
      cpuCores: resizable.cpu ? Math.max(base.cpuCores, mostCores) : base.cpuCores,
      memoryBytes,
    },
  };
}

/** What CPU of a container may be advised where nothing moves it: what the load takes, and no less than it has in doubt. */
export function advisedBounds(one: Observation, size: Size, request: CostRequest, known: Known): CoresBounds {
  const { maxCores, minCores } = one.spec.cpu;
  const { largestContainer, settings } = request;
  const most = Math.min(maxCores, largestContainer?.cpuCores ?? Number.POSITIVE_INFINITY);
  const needed = demandCores(one, known) / settings.mostUtilisation / Math.max(1, size.replicas);
  const held = isDoubtful(one, request, known) ? size.cpuCores : 0;
  return { least: Math.min(most, Math.max(minCores, needed, held)), most };
}

/** The same of the containers that it has: larger in place of more. */
export function largeSize(roomy: Size, { base, ceiling, stepCpuCores }: ServiceToSize): Size {
  if (stepCpuCores === 0) return base;
  const cores = (roomy.replicas * roomy.cpuCores) / Math.max(1, base.replicas);
  const cpuCores = Math.max(base.cpuCores, Math.min(ceiling.cpuCores, roundedUp(cores, stepCpuCores)));
  return { ...base, cpuCores };
}

/** The service with room for the load to come, within what it may be made. */
export function roomySize(
  one: Observation,
  service: ServiceToSize,
  request: CostRequest,
  known: Known,
): Size {
  const { base, ceiling, floor } = service;
  const { mostRatio, ratio, sigma } = known.outlook;
  const cores = demandCores(one, known) * Math.min(mostRatio / ratio, Math.exp(sigma));
  const alike = cores / request.settings.roomyUtilisation / Math.max(base.cpuCores, ROUNDING);
  const needed = replicasFor(alike, one, known);
  const replicas = Math.max(base.replicas, floor.replicas, Math.ceil(needed) + 1);
  return { ...base, replicas: Math.min(ceiling.replicas, replicas) };
}
