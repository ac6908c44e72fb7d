import type { ContainerWindow, FlowWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { application, flow, START_MS, window, windowSet } from "../measurements.ts";

/** A service of processor sharing: what it gets and bears, and from that what is measured of it. */
export interface ModelledService {
  readonly service: string;
  readonly replicas: number;
  /** Of each container. */
  readonly cores: number;
  readonly cpuSecondsPerRequest: number;
  /** Own p95 without load. */
  readonly baseSeconds: number;
  readonly requestsPerSecond: number;
  readonly memoryBytes?: number;
  readonly usedBytes?: number;
}

function utilisationOf(facts: ModelledService): number {
  const { cores, cpuSecondsPerRequest, replicas, requestsPerSecond } = facts;
  return replicas === 0 ? 0 : (requestsPerSecond * cpuSecondsPerRequest) / (replicas * cores);
}

/** The window of such a service, measured without error. */
export function modelledWindow(facts: ModelledService, startMs = START_MS): Window {
  const { service, replicas, cores, requestsPerSecond, baseSeconds, memoryBytes, usedBytes } = facts;
  const utilisation = utilisationOf(facts);
  const p95 = baseSeconds / (1 - Math.min(0.95, utilisation));
  return {
    ...window({ service, replicas, rate: requestsPerSecond, ownSeconds: p95 / 3 }, startMs),
    containers: Array.from({ length: replicas }, (_, pod): ContainerWindow => ({
      id: `${service}-${pod}-main`,
      podName: `${service}-${pod}`,
      cpuLimitCores: cores,
      cpuUsageCores: Math.min(1, utilisation) * cores,
      ...(memoryBytes !== undefined && { memoryLimitBytes: memoryBytes }),
      ...(usedBytes !== undefined && { memoryWorkingSetBytes: usedBytes }),
    })),
  };
}

/** A chain of services, each called once by the one before it, and the flow through all of them. */
export function chained(services: readonly ModelledService[], startMs = START_MS, tailFactor = 1): WindowSet {
  const windows = services.map((each) => modelledWindow(each, startMs));
  const calls = services.slice(1).map(({ service }, at) => ({
    caller: services[at]!.service,
    callee: service,
    callsPerRequest: 1,
    parallelRatio: 0,
  }));
  const tail = windows.reduce((sum, { ownLatency }) => sum + ownLatency!.p95Seconds, 0) * tailFactor;
  const through: FlowWindow = flow(
    services.map(({ service }) => service),
    tail,
    { calls, entryService: services[0]!.service },
  );
  return windowSet(windows, [through]);
}

export const RESIZABLE = application({ resize: "limits" });
