import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { serviceSpecs } from "@tradewind/core/contract/application.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import type { MemoryPeak } from "@tradewind/predictor/facts/state.ts";
import { containerSize } from "@tradewind/predictor/facts/size.ts";
import type { Size } from "@tradewind/predictor/facts/size.ts";
import { compileFlow, serviceIndex } from "@tradewind/predictor/models/route/call-graph.ts";
import { FlowTail } from "@tradewind/predictor/models/route/flow-tail.ts";
import { predictOwnTime } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import type { OwnTime } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { surroundingsOf } from "@tradewind/predictor/models/residual/inputs.ts";
import { ServedResidual } from "@tradewind/predictor/models/residual/residual.ts";
import { meanOverTail } from "../endtoend/data.ts";
import type { ServiceModel } from "./learn.ts";

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

const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };

/** Whether a step of memory moves the share of it that is in use, which the residual has seen, or changes nothing as in a decision. */
export type MemorySteps = "without effect" | "by the residual";

/** Self-time p95 of a service by size. */
function ownTails(
  window: Window,
  { profile, residual }: ServiceModel,
  memorySteps: MemorySteps,
): (size: Size) => number {
  const now = sizeOf(window).memoryBytes;
  const seen = surroundingsOf(window);
  const servedAt = (memoryBytes: number): ServedResidual | undefined => {
    const change = memorySteps === "by the residual" ? now / memoryBytes : 1;
    return (
      residual &&
      new ServedResidual(residual, profile, { ...seen, memoryRatio: seen.memoryRatio * change }, 0.95)
    );
  };
  return ({ cpuCores, memoryBytes, replicas }) => {
    const place = { cpuCores, loadPerContainer: (window.requestsPerSecond ?? 0) / replicas };
    predictOwnTime(profile, place, 0.95, out);
    servedAt(memoryBytes)?.apply(place, out);
    return out.tailSeconds;
  };
}

/** Every step up of every service, by the models of the predictor: tracked profiles with their residuals, and the call graph. */
export function predictedSteps(
  { application, known, windowSet }: Seen,
  memorySteps: MemorySteps = "without effect",
): PredictedStep[] {
  const { windows } = windowSet;
  const [flow] = windowSet.flows;
  const index = serviceIndex(windows.map(({ service }) => service));
  const graph = flow && compileFlow(flow, windowSet, index);
  if (graph === undefined) return [];
  const models = windows.map((window) => {
    const of = known.get(window.service);
    return of && ownTails(window, of, memorySteps);
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
