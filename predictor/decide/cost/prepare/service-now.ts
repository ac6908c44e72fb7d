import type { Application } from "@tradewind/core/contract/application.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { allocatedCpuCores, hasCpuLimits, mainContainers } from "@tradewind/core/measure/main-containers.ts";
import { MixedShape } from "../../../models/level/mixed-shape.ts";
import { changeInterval } from "../../../models/queue/change-interval.ts";
import type { ContainerPlace } from "../../../models/queue/change-interval.ts";
import { stalledShares } from "../../../models/queue/cpu-bursts.ts";
import { ProfileTails } from "../../../models/queue/profile-tails.ts";
import { demandOf, isCalibrated, predictOwnTime, withDemand } from "../../../models/queue/tracked-profile.ts";
import { isPositive } from "../../../models/queue/take-window.ts";
import type { OwnTime, ProfileState } from "../../../models/queue/tracked-profile.ts";
import { median } from "../../../models/statistics.ts";
import type { ClassMix } from "../../../nodes/class-mix.ts";
import { logsOf } from "../../../nodes/class-speeds.ts";
import { podSpeedsOf } from "../../../nodes/pod-speeds.ts";
import type { PodSpeeds } from "../../../nodes/pod-speeds.ts";
import type { Observation } from "../../facts/observation.ts";
import type { Size } from "../../facts/size.ts";
import { bounded } from "../../facts/target.ts";
import type { CostWindow } from "../learn/cost-window.ts";
import { heardNetworkOf } from "../learn/learn-levels.ts";
import { profileObservation } from "../learn/service-reading.ts";
import { modelPercentile, ownTailSeconds } from "../learn/percentile.ts";
import type { CostMemory, ServiceModelMemory } from "../learn/state.ts";
import type { LoadNow } from "./arrivals.ts";
import type { Elsewhere, OwnChange, OwnTimes, PodRoom, ServiceToSize } from "../price/cost-inputs.ts";

/** Tolerates the rounding of sums: 3.0000000001 replicas are 3. */
export const ROUNDING = 1e-6;

export const NO_SIZE: Size = { replicas: 0, cpuCores: 0, memoryBytes: 0 };

/** A service with a workload on users' routes, worked out once for a decision. */
export interface ServiceNow {
  readonly observation: Observation;
  readonly model: ServiceModelMemory | undefined;
  /** The latency network has a say in what is said of it. */
  readonly hasNetwork: boolean;
  /** At the size that it was asked for, which nothing changes. */
  readonly fixed: ServiceToSize;
  /** How fast its pods are; undefined where all nodes are equally fast. */
  readonly speeds: PodSpeeds | undefined;
  /** CPU that its containers can be given where they run, cores each, in whole steps. */
  readonly resizeCores: number;
}

/** The services that requests of users pass. */
export interface ServicesNow {
  /** Those with a workload here. */
  readonly measured: readonly ServiceNow[];
  /** The others: each takes its time, and what it calls is reached through it. */
  readonly passed: readonly ServiceToSize[];
}

export function servicesNow(
  costWindow: CostWindow,
  memory: Pick<CostMemory, "classSpeeds" | "services">,
  { onRoute, perSecond }: Pick<LoadNow, "onRoute" | "perSecond">,
): ServicesNow {
  const { application, observations, platform, settings, windows } = costWindow;
  const { cost } = settings;
  const modelOf = new Map(memory.services.map((model) => [model.service, model]));
  const warmUps = memory.services.flatMap(({ warmUpFactor }) => warmUpFactor ?? []);
  const warmUpFactor = warmUps.length === 0 ? 1 : median(warmUps);
  const classLogs = logsOf(memory.classSpeeds);
  const classRooms = new Map(classLogs.size === 0 ? [] : Object.entries(platform.roomByNodeClass ?? {}));
  const measured = observations
    .filter(({ service }) => onRoute.has(service))
    .map((observation): ServiceNow => {
      const { runningContainer, service, unscheduled, window } = observation;
      const model = modelOf.get(service);
      const speeds = podSpeedsOf(window, classLogs, classRooms);
      const resizeCores = resizeCoresOf(observation);
      const fixedFacts = {
        ...fixedService(service, baseOf(observation, resizeCores), window, application),
        requestsPerSecond: perSecond.get(service) ?? 0,
        ...(runningContainer && { runningCores: runningContainer.cpuCores }),
        pods: podRoom(observation),
        unscheduled,
        ...modelled(
          { model, observation },
          application.objective,
          { classRooms, speeds },
          { isNetworkUsed: cost.network, warmUpFactor },
        ),
      };
      const hasNetwork = cost.network && model !== undefined && heardNetworkOf(model) !== undefined;
      return { observation, model, hasNetwork, fixed: fixedFacts, speeds, resizeCores };
    });
  const names = new Set(measured.map(({ fixed }) => fixed.name));
  const passed = windows
    .filter(({ service }) => onRoute.has(service) && !names.has(service))
    .map((window) => fixedService(window.service, NO_SIZE, window, application));
  return { measured, passed };
}

/** It has containers that serve, and no calibrated model yet. */
export function lacksModel({ model, observation: { container, window } }: ServiceNow): boolean {
  if (container === undefined || !((window?.replicasReady ?? 0) > 0)) return false;
  return model === undefined || !isCalibrated(model.profile);
}

/** A service at a size that nothing changes, with the self time that was measured. */
function fixedService(
  name: string,
  size: Size,
  window: Window | undefined,
  { objective }: Application,
): ServiceToSize {
  const tailSeconds = ownTailSeconds(window?.ownLatency, objective.percentile) ?? 0;
  const meanSeconds = window?.ownLatency?.meanSeconds ?? 0;
  return {
    name,
    requestsPerSecond: window?.requestsPerSecond ?? 0,
    base: size,
    floor: size,
    ceiling: size,
    stepCpuCores: 0,
    measured: { meanSeconds, tailSeconds },
  };
}

/** The service at the size that runs. */
export function atRunningSize({ fixed, observation }: ServiceNow): ServiceToSize {
  const { cpuCores = fixed.base.cpuCores } = observation.runningContainer ?? {};
  const { readyReplicas: replicas = fixed.base.replicas } = observation;
  const size = { ...fixed.base, cpuCores, replicas };
  return { ...fixed, base: size, floor: size, ceiling: size };
}

/** What it has been asked to be, as far as its containers can become it where they run. */
function baseOf({ baseReplicas, container, runningContainer }: Observation, resizeCores: number): Size {
  const { cpuCores, memoryBytes } = container ?? NO_SIZE;
  const reachedCores = Math.max(runningContainer?.cpuCores ?? cpuCores, resizeCores);
  return { replicas: baseReplicas, cpuCores: Math.min(cpuCores, reachedCores), memoryBytes };
}

/** Limits grow with requests, which have the CPU left on the node. Infinity where the nodes are not known. */
function resizeCoresOf({ spec: { cpu }, window }: Observation): number {
  const leftCores = window?.nodeRoomCores;
  if (window === undefined || leftCores === undefined) return Number.POSITIVE_INFINITY;
  let mostCores = Number.POSITIVE_INFINITY;
  for (const container of mainContainers(window)) {
    const { cpuRequestCores = 0 } = container;
    if (cpuRequestCores === 0) continue;
    const cores = allocatedCpuCores(container) ?? cpuRequestCores;
    mostCores = Math.min(mostCores, (cores * (cpuRequestCores + leftCores)) / cpuRequestCores);
  }
  return cpu.stepCores * Math.floor(mostCores / cpu.stepCores + ROUNDING);
}

/** What pods of a service take of nodes, in the mean of those that serve; a request is all of a size where none serves. */
function podRoom({ baseReplicas, readyReplicas = 0, window }: Observation): PodRoom {
  const { podsUnscheduled = 0, replicasWanted = baseReplicas } = window ?? {};
  const main = window === undefined ? [] : mainContainers(window);
  const requested = main.reduce((sum, { cpuRequestCores = 0 }) => sum + cpuRequestCores, 0);
  const allocated = main.reduce((sum, container) => sum + (allocatedCpuCores(container) ?? 0), 0);
  const all = window?.containers.reduce((sum, { cpuRequestCores = 0 }) => sum + cpuRequestCores, 0) ?? 0;
  return {
    taken: Math.max(readyReplicas, replicasWanted - podsUnscheduled),
    requestRatio: allocated > 0 ? requested / allocated : 1,
    sidecarCores: main.length > 0 ? Math.max(0, all - requested) / main.length : 0,
  };
}

type Source = Pick<ServiceNow, "model" | "observation">;

interface NodeSpeeds {
  readonly speeds: PodSpeeds | undefined;
  /** CPU that nodes have left, cores by class. */
  readonly classRooms: ClassMix;
}

/** What a model adds to the service: its self time at other sizes, and steps of its CPU; nothing before it is calibrated. */
function modelled(
  source: Source,
  { percentile }: Application["objective"],
  { classRooms, speeds }: NodeSpeeds,
  { isNetworkUsed, warmUpFactor }: { readonly isNetworkUsed: boolean; readonly warmUpFactor: number },
): Partial<ServiceToSize> {
  const { model, observation } = source;
  const { container, resizable, spec, window } = observation;
  if (model === undefined || container === undefined || window === undefined) return {};
  if (!isCalibrated(model.profile)) return {};
  const isLimited = hasCpuLimits(window);
  const shape = isNetworkUsed ? mixedShape(model, window, modelPercentile(percentile)) : undefined;
  const timesWith = selfTimes(model, modelPercentile(percentile), isLimited, shape);
  const demand = demandOf(model.profile);
  return {
    stepCpuCores: resizable.cpu ? spec.cpu.stepCores : 0,
    warmUpFactor: model.warmUpFactor ?? warmUpFactor,
    own: timesWith((replicas) => speeds?.at(replicas) ?? 0),
    ...(speeds && { elsewhere: elsewhereOf(speeds, timesWith, bounded(observation, 1), classRooms) }),
    ...(isLimited && model.bursts && demand && { stalled: stalledShares(model.bursts, demand) }),
    ownChange: changeOf(model.profile, modelPercentile(percentile), isLimited, shape),
  };
}

/** Self times of pods, by ln of the CPU seconds that a request takes there over those on the nodes of now. */
type SelfTimes = (logOf: (replicas: number) => number) => OwnTimes;

/** Undefined where the network has no say, or the last window does not say at what load the service runs: then the curve alone says all. */
function mixedShape(
  model: ServiceModelMemory,
  window: Window,
  percentile: ReturnType<typeof modelPercentile>,
): MixedShape | undefined {
  const network = heardNetworkOf(model);
  if (network === undefined) return undefined;
  const { cpuCores, loadPerContainer } = profileObservation(window, false, { youngSeconds: 0 }) ?? {};
  if (!isPositive(loadPerContainer)) return undefined;
  const here = { cpuCores, loadPerContainer };
  return new MixedShape(model.profile, percentile, { here, level: model.level, network });
}

/** @param isLimited CPU limits bind; without one the size of a container changes no time */
function selfTimes(
  { profile }: ServiceModelMemory,
  percentile: ReturnType<typeof modelPercentile>,
  isLimited: boolean,
  shape: MixedShape | undefined,
): SelfTimes {
  const curves = new Map<number, { state: ProfileState; tails: ProfileTails }>();
  const curveAt = (log: number) => {
    const known = curves.get(log);
    if (known !== undefined) return known;
    const state = withDemand(profile, log);
    const curve = { state, tails: new ProfileTails(state, percentile) };
    curves.set(log, curve);
    return curve;
  };
  const write = (log: number, place: ContainerPlace, ownTime: OwnTime, isTailAlone: boolean): void => {
    const { state, tails } = curveAt(log);
    if (isTailAlone) ownTime.tailSeconds = tails.at(place);
    else predictOwnTime(state, place, percentile, ownTime, tails.demands);
  };
  const base: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
  return (logOf) =>
    ({ cpuCores, replicas }, loadPerContainer, ownTime, isTailAlone = false) => {
      const place = { cpuCores: isLimited ? cpuCores : undefined, loadPerContainer };
      const log = logOf(replicas);
      write(log, place, ownTime, isTailAlone);
      if (log !== 0) write(0, place, base, isTailAlone);
      shape?.apply(place, ownTime, isTailAlone, log === 0 ? ownTime : base);
    };
}

function changeOf(
  profile: ProfileState,
  percentile: ReturnType<typeof modelPercentile>,
  isLimited: boolean,
  shape: MixedShape | undefined,
): OwnChange {
  const placed = (place: ContainerPlace): ContainerPlace =>
    isLimited ? place : { ...place, cpuCores: undefined };
  return (from, to) => {
    const [here, there] = [placed(from), placed(to)];
    const { high, low } = changeInterval(profile, here, there, percentile);
    const factor = shape?.factorOver(profile, percentile, here, there) ?? 1;
    return { low: (1 + low) * factor - 1, high: (1 + high) * factor - 1 };
  };
}

/** All of its pods on nodes of one class, for each class that they run on or that has CPU left. */
function elsewhereOf(
  speeds: PodSpeeds,
  timesWith: SelfTimes,
  leastReplicas: number,
  classRooms: ClassMix,
): readonly Elsewhere[] {
  const classes = [...new Set([...speeds.mix.keys(), ...classRooms.keys()])].sort();
  return classes.map((nodeClass) => {
    const log = speeds.on(nodeClass);
    const roomCores = classRooms.get(nodeClass) ?? 0;
    return { nodeClass, log, own: timesWith(() => log), roomCores, leastReplicas, mix: speeds.mix };
  });
}
