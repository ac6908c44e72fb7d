import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { containerSize } from "@tradewind/predictor/decide/size.ts";
import type { Size } from "@tradewind/predictor/decide/size.ts";
import type { AttentionModel } from "@tradewind/predictor/endtoend/attention-model.ts";
import { compileFlow, serviceIndex } from "@tradewind/predictor/endtoend/call-graph.ts";
import { bindResidual, FlowPredictor } from "@tradewind/predictor/endtoend/flow-predictor.ts";
import { meanOverTail } from "@tradewind/predictor/endtoend/lognormal.ts";
import type { LatencyProfile } from "@tradewind/predictor/profile/latency-profile.ts";
import { WorstContainer } from "@tradewind/predictor/profile/own-tail.ts";
import { presentState } from "@tradewind/predictor/profile/present-state.ts";
import type { ServiceState } from "@tradewind/predictor/profile/service-state.ts";

/** Measured over predicted is believed within these bounds. */
const BELIEVED = { least: 0.5, most: 4 };

/** Measured over predicted as far as it is believed; undefined when either is not known. */
function shownBy(ratio: number): number | undefined {
  if (!(ratio > 0) || !Number.isFinite(ratio)) return undefined;
  return Math.min(BELIEVED.most, Math.max(BELIEVED.least, ratio));
}

export const RESOURCES = ["cpu", "memory", "replicas"] as const;
export type Resource = (typeof RESOURCES)[number];

/** One step up of one service. */
export interface Choice {
  readonly service: number;
  readonly resource: Resource;
}

/** A profile of a service, and its state when the window began. */
export interface Known {
  readonly profile: LatencyProfile | undefined;
  readonly state: ServiceState | undefined;
}

/** What is seen of an application that misses its objective, and what is known of its services, by name. */
export interface Seen {
  readonly application: Application;
  readonly windowSet: WindowSet;
  readonly known: ReadonlyMap<string, Known>;
  readonly residuals: readonly AttentionModel[];
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

/** Self-time p95 of a service by size, corrected by what is measured at its present one; undefined without a profile. */
function ownTails(window: Window, { profile, state }: Known): ((size: Size) => number) | undefined {
  if (profile === undefined) return undefined;
  const present = state && presentState(state, window, profile.inflation);
  const worst = new WorstContainer(profile, window, present);
  const load = ({ replicas }: Size): number => (window.requestsPerSecond ?? 0) / replicas;
  const size = sizeOf(window);
  const predicted = worst.settle(size.cpuCores, size.memoryBytes, load(size));
  const factor = shownBy((window.ownLatency?.p95Seconds ?? Number.NaN) / predicted) ?? 1;
  return (to) => factor * worst.ownTailSeconds(to.cpuCores, to.memoryBytes, load(to));
}

/** Every step up of every service, by the models of the predictor: profiles, call graph, and residual where there is one. */
export function predictedSteps({ application, known, residuals, windowSet }: Seen): PredictedStep[] {
  const { windows } = windowSet;
  const [flow] = windowSet.flows;
  const index = serviceIndex(windows.map(({ service }) => service));
  const graph = flow && compileFlow(flow, windowSet, index);
  if (graph === undefined) return [];
  const models = windows.map((window) => {
    const of = known.get(window.service);
    return of && ownTails(window, of);
  });
  const own = Float64Array.from(
    windows,
    (window, at) => models[at]?.(sizeOf(window)) ?? window.ownLatency?.p95Seconds ?? 0,
  );
  const shares = Float64Array.from(windows, ({ ownLatency }) => meanOverTail(ownLatency));
  const [residual] = residuals;
  const route = new FlowPredictor(graph, own, shares, residual && bindResidual(residual, index));
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
