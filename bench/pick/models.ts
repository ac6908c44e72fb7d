import { networkOf } from "@tradewind/predictor/decide/cost/learn/learn-levels.ts";
import { MixedShape } from "@tradewind/predictor/models/level/mixed-shape.ts";
import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import type { MemoryPeak } from "@tradewind/predictor/decide/facts/state.ts";
import { CostSettings } from "@tradewind/predictor/decide/facts/cost-settings.ts";
import { containerSize } from "@tradewind/predictor/decide/facts/size.ts";
import type { Size } from "@tradewind/predictor/decide/facts/size.ts";
import { compileFlow, serviceIndex } from "@tradewind/predictor/models/route/call-graph.ts";
import type { FlowGraph } from "@tradewind/predictor/models/route/call-graph.ts";
import { FlowTail } from "@tradewind/predictor/models/route/flow-tail.ts";
import { predictOwnTime } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import type { OwnTime, ProfileState } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { meanOverTail } from "../endtoend/data.ts";
import type { ServiceModel } from "./learn.ts";

/** Memory over its highest use that a decision asks for. */
const MEMORY_RATIO = CostSettings.parse({}).memoryRatio;

export const RESOURCES = ["cpu", "memory", "replicas"] as const;
export type Resource = (typeof RESOURCES)[number];

/** One step up of one service. */
export interface Choice {
  readonly service: number;
  readonly resource: Resource;
}

/** What is seen of an application that misses its objective, and what is known of its services, by name. */
export interface Seen {
  readonly application: Application;
  readonly windowSet: WindowSet;
  readonly known: ReadonlyMap<string, ServiceModel>;
  /** Highest memory use of a container so far, by service. */
  readonly memoryPeaks: ReadonlyMap<string, readonly MemoryPeak[]>;
}

/** A step as the models see it. */
export interface PredictedStep extends Choice {
  /** Change of the service's self-time p95, seconds. */
  readonly ownGainSeconds: number;
  /** Change of the route's p95, seconds. */
  readonly gainSeconds: number;
  readonly costPerHour: number;
}

export function sizeOf(window: Window): Size {
  const { cpuCores = 0, memoryBytes = 0 } = containerSize(window) ?? {};
  return { replicas: window.replicasReady ?? 1, cpuCores, memoryBytes };
}

/** The size one step further within the service's bounds: one replica, or the next multiple of its step for every container. */
export function stepUp(
  application: Application,
  service: string,
  size: Size,
  resource: Resource,
): Size | undefined {
  const { cpu, maxReplicas, memory } = serviceSpecs(application)(service);
  const next = (value: number, step: number): number => step * (Math.floor(value / step + 1e-9) + 1);
  if (resource === "replicas") {
    return size.replicas < maxReplicas ? { ...size, replicas: size.replicas + 1 } : undefined;
  }
  if (resource === "cpu") {
    const cpuCores = Math.min(next(size.cpuCores, cpu.stepCores), cpu.maxCores);
    return cpuCores > size.cpuCores ? { ...size, cpuCores } : undefined;
  }
  const memoryBytes = Math.min(next(size.memoryBytes, memory.stepBytes), memory.maxBytes);
  return memoryBytes > size.memoryBytes ? { ...size, memoryBytes } : undefined;
}

const base: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };

/** Whether a step of memory changes nothing, as in a decision's search, or spares the CPU that a lack of it seems to cost. */
export type MemorySteps = "without effect" | "spares CPU";

/**
 * The profile with a part of what requests take beyond their demand: with more memory, the part of the shortage that stays. Memory is
 * enough from {@link MEMORY_RATIO} times its highest use on, by the rule of the decision, and in between it counts evenly.
 */
function withMemory(profile: ProfileState, peakBytes: number, now: number, then: number): ProfileState {
  const shortage = (memoryBytes: number): number => Math.max(0, peakBytes / memoryBytes - 1 / MEMORY_RATIO);
  if (then === now || shortage(now) === 0) return profile;
  const left = shortage(then) / shortage(now);
  const inflations = profile.inflations.map((each) =>
    each > 0 ? Math.log1p(left * Math.expm1(each)) : each,
  );
  return { ...profile, inflations };
}

/** Self-time p95 of a service by size. */
function ownTails(
  window: Window,
  model: ServiceModel,
  requestsPerSecond: number,
  peakBytes: number,
): (size: Size) => number {
  const { profile } = model;
  const now = sizeOf(window);
  const here = { cpuCores: now.cpuCores, loadPerContainer: (window.requestsPerSecond ?? 0) / now.replicas };
  const served =
    here.loadPerContainer > 0
      ? new MixedShape(profile, 0.95, { here, level: model.level, network: networkOf(model) })
      : undefined;
  return ({ cpuCores, memoryBytes, replicas }) => {
    const place = { cpuCores, loadPerContainer: requestsPerSecond / replicas };
    const sized = withMemory(profile, peakBytes, now.memoryBytes, memoryBytes);
    predictOwnTime(profile, place, 0.95, base);
    predictOwnTime(sized, place, 0.95, out);
    served?.apply(place, out, true, base);
    return out.tailSeconds;
  };
}

/** Requests per second that come to each service, as a decision counts them: those that began, by the calls that each makes. */
function arrivingLoads({ windows, flows: [flow] }: WindowSet, { nodeOf, visits }: FlowGraph): number[] {
  const answered = flow?.requestsPerSecond ?? 0;
  const began = windows.find(({ service }) => service === flow?.entryService)?.beganPerSecond ?? answered;
  return windows.map((_, at) => began * (visits[nodeOf[at] ?? 0] ?? 0));
}

/** Every step up of every service, by the models of the predictor: levels, curves and the latency network, and the call graph. */
export function predictedSteps(
  { application, known, memoryPeaks, windowSet }: Seen,
  memorySteps: MemorySteps = "without effect",
): PredictedStep[] {
  const { windows } = windowSet;
  const [flow] = windowSet.flows;
  const index = serviceIndex(windows.map(({ service }) => service));
  const graph = flow && compileFlow(flow, windowSet, index);
  if (graph === undefined) return [];
  const loads = arrivingLoads(windowSet, graph);
  const models = windows.map((window, at) => {
    const of = known.get(window.service);
    const peaks = memorySteps === "spares CPU" ? (memoryPeaks.get(window.service) ?? []) : [];
    return of && ownTails(window, of, loads[at] ?? 0, Math.max(0, ...peaks.map(({ bytes }) => bytes)));
  });
  const own = Float64Array.from(
    windows,
    (window, at) => models[at]?.(sizeOf(window)) ?? window.ownLatency?.p95Seconds ?? 0,
  );
  const shares = Float64Array.from(windows, meanOverTail);
  const route = new FlowTail(graph, own, shares);
  return windows.flatMap((window, service) =>
    RESOURCES.flatMap((resource): PredictedStep[] => {
      const size = sizeOf(window);
      const to = stepUp(application, window.service, size, resource);
      const after = to && models[service]?.(to);
      if (to === undefined || after === undefined) return [];
      const gainSeconds = route.tailSeconds - route.tailIf(service, after);
      const price = costPerHour(to, application.prices) - costPerHour(size, application.prices);
      return [
        { service, resource, gainSeconds, ownGainSeconds: (own[service] ?? 0) - after, costPerHour: price },
      ];
    }),
  );
}
