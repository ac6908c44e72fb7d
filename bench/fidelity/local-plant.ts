import type { ServiceDefinition, Topology } from "@tradewind/local/application/topology.ts";
import type { ApplicationModel, ServiceModel, StepModel } from "../../simulator/model/application-model.ts";
import type { MeasuredUse } from "./real-run.ts";
import { fixed, lognormal } from "../../simulator/model/distribution.ts";

/** Spread of the work of single requests on the local platform (`local/application/demand.ts`: σ of the logarithm is 0.5). */
const WORK_CV = Math.sqrt(Math.exp(0.25) - 1);
/** What callers and replicas of the platform allow. */
const TIMEOUT_MS = 2_000;
const MOST_AT_ONCE = 32;
/** A way over loopback between two processes. */
const NETWORK_MS = 0.2;
/** HTTP, tracing and the handling of calls where nothing was measured, ms a request. */
const USUAL_OVERHEAD_MS = 1.5;

/** CPU seconds that one more request takes in each service, everything included, as measured on the platform. */
export type MeasuredCost = ReadonlyMap<string, number>;

/**
 * What one more request takes, by two runs at different rates: what a process uses beside requests is the same in both. Where that cannot be
 * told, all of the CPU of the faster run over its requests.
 */
export function costBetween(slow: MeasuredUse, fast: MeasuredUse): MeasuredCost {
  return new Map(
    [...fast].map(([service, { cpuCores, perSecond }]) => {
      const all = cpuCores / perSecond;
      const before = slow.get(service);
      if (before === undefined || before.perSecond >= perSecond) return [service, all];
      const more = (cpuCores - before.cpuCores) / (perSecond - before.perSecond);
      return [service, more > 0 && more < all ? more : all];
    }),
  );
}

/** Mean work of a request to a service over the mix of its routes, ms: what `cpuMillis` says, weighted by how often each is called. */
function meanWorkMs({ flows, services }: Topology, service: string): number {
  const calls = new Map<string, number>();
  const visit = (name: string, route: string, weight: number): void => {
    const found = services.find((each) => each.name === name)?.routes[route];
    if (name === service) calls.set(route, (calls.get(route) ?? 0) + weight);
    for (const call of found?.stages.flat() ?? []) visit(call.service, call.route, weight);
  };
  const [entry] = services;
  for (const { route, share } of flows) visit(entry?.name ?? "", route, share);
  const routes = services.find((each) => each.name === service)?.routes ?? {};
  const total = [...calls.values()].reduce((sum, each) => sum + each, 0);
  const sum = [...calls].reduce((all, [route, weight]) => all + weight * (routes[route]?.cpuMillis ?? 0), 0);
  return total === 0 ? 0 : sum / total;
}

function serviceModel(topology: Topology, definition: ServiceDefinition, cost: MeasuredCost): ServiceModel {
  const { name, routes, size } = definition;
  const work = meanWorkMs(topology, name);
  const measured = cost.get(name);
  const overheadMs = measured === undefined ? USUAL_OVERHEAD_MS : Math.max(0.1, 1e3 * measured - work);
  const operations = Object.entries(routes).map(([route, { cpuMillis, stages }]): [string, StepModel[]] => {
    const half: StepModel[] = [
      { kind: "cpu", time: fixed(overheadMs / 2) },
      { kind: "cpu", time: lognormal(cpuMillis / 2, WORK_CV) },
    ];
    const calls = stages.map((stage): StepModel => ({
      kind: "call",
      calls: stage.map((call) => ({
        service: call.service,
        operation: call.route,
        timeoutMs: TIMEOUT_MS,
      })),
    }));
    return [route, [...half, ...calls, ...half]];
  });
  return {
    name,
    operations: Object.fromEntries(operations),
    container: {
      cpuRequestCores: size.cpuCores,
      cpuLimitCores: size.cpuCores,
      memoryRequestBytes: size.memoryBytes,
      memoryLimitBytes: size.memoryBytes,
    },
    // A replica is one Node.js process.
    threads: 1,
    queueLimit: MOST_AT_ONCE,
    memory: { baseBytes: 80 * 2 ** 20, perRequestBytes: 50_000, leakBytesPerRequest: 0 },
    replicas: 1,
    balancing: "least-connections",
  };
}

/** The application of the local platform as the simulator sees it. @param cost of the services that it was measured for */
export function localModel(topology: Topology, cost: MeasuredCost): ApplicationModel {
  const { entry, flows, name, services } = topology;
  return {
    name,
    entry,
    services: services.map((definition) => serviceModel(topology, definition, cost)),
    routes: flows.map(({ route, share }) => ({
      name: route,
      service: entry,
      operation: route,
      share,
      timeoutMs: TIMEOUT_MS,
    })),
    networkMs: fixed(NETWORK_MS),
  };
}
