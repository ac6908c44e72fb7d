import type { ApplicationModel, CallModel, ServiceModel, StepModel } from "../model/application-model.ts";
import { fixed, lognormal, scaled } from "../model/distribution.ts";
import type { Distribution } from "../model/distribution.ts";
import type { ClusterModel, TelemetryModel } from "../model/plant-model.ts";

export const MEBIBYTE = 2 ** 20;

export const cpu = (time: Distribution): StepModel => ({ kind: "cpu", time });
export const wait = (dependency: string, time: Distribution): StepModel => ({
  kind: "wait",
  dependency,
  time,
});
export const call = (...calls: readonly CallModel[]): StepModel => ({ kind: "call", calls });
export const to = (service: string, other: Partial<CallModel> = {}): CallModel => ({
  service,
  operation: "serve",
  ...other,
});

/** CPU time of a request: log-normal with a standard deviation of 60 % of the mean. */
export const work = (meanMs: number): Distribution => lognormal(meanMs, 0.6);

/** A service of one operation on containers of half a core and 256 MiB with 8 threads; small ones, so that little load fills them. */
export function service(
  name: string,
  steps: readonly StepModel[],
  other: Partial<ServiceModel> = {},
): ServiceModel {
  return {
    name,
    operations: { serve: steps },
    container: {
      cpuRequestCores: 0.5,
      cpuLimitCores: 0.5,
      memoryRequestBytes: 256 * MEBIBYTE,
      memoryLimitBytes: 256 * MEBIBYTE,
    },
    threads: 8,
    queueLimit: 200,
    memory: { baseBytes: 120 * MEBIBYTE, perRequestBytes: 128 * 1_024, leakBytesPerRequest: 0 },
    replicas: 2,
    ...other,
  };
}

/**
 * Six services of 4 to 20 ms of CPU a request: the front calls search, which asks price and stock side by side, then the cart
 * for every other request and the profile for every fifth. 28 ms of CPU a request in all, p95 about 50 ms without load.
 */
export const SHOP_SERVICES: readonly ServiceModel[] = [
  service("front", [
    cpu(work(4)),
    call(to("search")),
    call(
      to("cart", { count: { kind: "chance", chance: 0.5 } }),
      to("profile", { count: { kind: "chance", chance: 0.2 } }),
    ),
  ]),
  service("search", [cpu(work(7)), call(to("price"), to("stock"))]),
  service("price", [cpu(work(4))]),
  service("stock", [cpu(work(6)), wait("database", lognormal(6, 0.7))]),
  service("cart", [cpu(work(5)), wait("sessions", lognormal(3, 0.5))]),
  service("profile", [cpu(work(20))]),
];

/** The service with `factor` times the CPU for each request. */
export function withWork(each: ServiceModel, factor: number): ServiceModel {
  const operations = Object.fromEntries(
    Object.entries(each.operations).map(([name, steps]) => [
      name,
      steps.map((step) => (step.kind === "cpu" ? { ...step, time: scaled(step.time, factor) } : step)),
    ]),
  );
  return { ...each, operations };
}

/** @param change makes another service of some */
export function shop(
  change: (service: ServiceModel) => ServiceModel = (each) => each,
  other: Partial<ApplicationModel> = {},
): ApplicationModel {
  return {
    name: "shop",
    entry: "front",
    services: SHOP_SERVICES.map((each) => change(each)),
    routes: [{ name: "GET /", service: "front", operation: "serve", share: 1 }],
    networkMs: fixed(0.3),
    ...other,
  };
}

/** Nodes with room for everything; pods are ready 45 to 60 s after a node took them. */
export const CLUSTER: ClusterModel = {
  nodes: 12,
  nodeCores: 16,
  nodeMemoryBytes: 64 * 1_024 * MEBIBYTE,
  podStartMs: { kind: "uniform", low: 45_000, high: 60_000 },
};

export const TELEMETRY: TelemetryModel = { sampledRatio: 0.25, spanDelaySeconds: 2 };
