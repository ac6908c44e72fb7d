import { CallEdge, Window } from "@tradewind/core/contract/window.ts";
import type { LatencySummary } from "@tradewind/core/contract/window.ts";
import { ObjectName } from "@tradewind/core/contract/quantity.ts";
import type { ResourceView, ServiceResources } from "../../window/resources.ts";
import { replicas } from "../../window/window-set.ts";
import { windowEndMs } from "./grid.ts";
import { ownLatency } from "./own-latency.ts";
import type { OutgoingCalls, OwnLatency } from "./own-latency.ts";
import type { RedReading, ServiceReading } from "./reading.ts";

export interface WindowContext {
  /** Namespace of services whose metrics do not tell theirs. */
  readonly namespace: string;
  readonly resources: ResourceView;
}

/**
 * The windows of one interval from what the metrics said about it. A service of which nothing is known in this
 * interval, and which runs nowhere, has no window; what is known of a service is in its window, the rest is absent.
 */
export function windowsOf(reading: RedReading, index: number, context: WindowContext): Window[] {
  const endMs = windowEndMs(reading.grid, index);
  const startMs = endMs - reading.grid.stepMs;
  const windows: Window[] = [];
  const seen = new Set<string>();
  for (const service of reading.services.values()) {
    const resources = context.resources.services.get(service.service);
    const namespace = namespaceOf(service, resources, context);
    if (seen.has(`${namespace}/${service.service}`) || !saysSomething(service, index, resources)) continue;
    const parsed = Window.safeParse({
      ...traffic(reading, service, index),
      ...running(resources),
      namespace,
      service: service.service,
      startMs,
      endMs,
    });
    if (!parsed.success) continue;
    seen.add(`${namespace}/${service.service}`);
    windows.push(parsed.data);
  }
  for (const [service, resources] of context.resources.services) {
    if (seen.has(`${resources.namespace}/${service}`)) continue;
    const parsed = Window.safeParse({
      ...running(resources),
      namespace: resources.namespace,
      service,
      startMs,
      endMs,
      callees: [],
    });
    if (parsed.success) windows.push(parsed.data);
  }
  return windows;
}

function namespaceOf(
  reading: ServiceReading,
  resources: ServiceResources | undefined,
  context: WindowContext,
): string {
  const told = ObjectName.safeParse(reading.namespace);
  if (told.success) return told.data;
  return resources?.namespace ?? context.namespace;
}

function saysSomething(
  reading: ServiceReading,
  index: number,
  resources: ServiceResources | undefined,
): boolean {
  const rate = known(reading.requestsPerSecond[index]);
  return rate !== undefined || reading.latency[index] !== undefined || resources !== undefined;
}

const running = (resources: ServiceResources | undefined): Partial<Window> & Pick<Window, "containers"> => ({
  containers: [...(resources?.containers ?? [])],
  ...replicas(resources),
});

function traffic(
  reading: RedReading,
  service: ServiceReading,
  index: number,
): Partial<Window> & Pick<Window, "callees"> {
  const requestsPerSecond = known(service.requestsPerSecond[index]);
  const errors = known(service.errorsPerSecond[index]);
  const response = service.latency[index];
  const own = derivedOwn(reading, service, index, requestsPerSecond, response);
  const callees = edges(reading, service, index, own?.calls === "parallel" ? 1 : 0);
  if (requestsPerSecond === undefined)
    return { callees, ...(response === undefined ? {} : { responseLatency: response }) };
  return {
    requestsPerSecond,
    callees,
    ...(errors === undefined || requestsPerSecond === 0
      ? {}
      : { errorRatio: Math.min(1, errors / requestsPerSecond) }),
    ...(response === undefined
      ? {}
      : { responseLatency: response, inFlight: requestsPerSecond * response.meanSeconds }),
    ...(own === undefined
      ? {}
      : {
          ownLatency: own.latency,
          ownLatencyDerived: true,
          ownInFlight: requestsPerSecond * own.latency.meanSeconds,
        }),
  };
}

function derivedOwn(
  reading: RedReading,
  service: ServiceReading,
  index: number,
  requestsPerSecond: number | undefined,
  response: LatencySummary | undefined,
): OwnLatency | undefined {
  if (response === undefined || requestsPerSecond === undefined) return undefined;
  const waiting = waitingSeconds(reading, service, index);
  const calls: OutgoingCalls[] = [];
  let areTimed = true;
  for (const { callsPerSecond, secondsPerSecond } of service.edges.values()) {
    const rate = known(callsPerSecond[index]);
    const seconds = known(secondsPerSecond[index]);
    if (rate === undefined || rate === 0) continue;
    if (seconds !== undefined) calls.push({ callsPerSecond: rate, meanSeconds: seconds / rate });
    else areTimed = false;
  }
  if (waiting !== undefined) {
    const whole = ownLatency(response, requestsPerSecond, [{ callsPerSecond: 1, meanSeconds: waiting }]);
    // Calls that wait longer than the response takes overlap: how long the longest of them is only the graph shows.
    if (whole !== undefined || calls.length === 0) return whole;
  }
  return areTimed && reading.graphKnown ? ownLatency(response, requestsPerSecond, calls) : undefined;
}

function waitingSeconds(reading: RedReading, service: ServiceReading, index: number): number | undefined {
  if (service.waitingSecondsPerSecond !== undefined) return known(service.waitingSecondsPerSecond[index]);
  return reading.waitingKnown ? 0 : undefined;
}

function edges(
  reading: RedReading,
  service: ServiceReading,
  index: number,
  parallelRatio: number,
): CallEdge[] {
  const callees: CallEdge[] = [];
  for (const [callee, { callsPerSecond, secondsPerSecond }] of service.edges) {
    const rate = known(callsPerSecond[index]);
    if (rate === undefined || rate === 0) continue;
    const seconds = known(secondsPerSecond[index]);
    const served = reading.named(callee, service.namespace)?.latency[index]?.meanSeconds;
    const transit = seconds === undefined || served === undefined ? -1 : seconds / rate - served;
    const edge = CallEdge.safeParse({
      callee,
      callsPerSecond: rate,
      parallelRatio,
      ...(transit >= 0 ? { transitSeconds: transit } : {}),
    });
    if (edge.success) callees.push(edge.data);
  }
  return callees.sort((a, b) => b.callsPerSecond - a.callsPerSecond).slice(0, 1_000);
}

function known(value: number | undefined): number | undefined {
  return value === undefined || Number.isNaN(value) ? undefined : value;
}
