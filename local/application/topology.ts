/** One call of a service to a route of another, for example `search` → `GET /nearby`. */
export interface Call {
  readonly service: string;
  readonly route: string;
}

/** What a replica does for one request: half of the CPU work, the stages one after the other, the other half. */
export interface Route {
  /** Mean CPU time of the work itself, ms; the cost of HTTP and tracing comes on top. */
  readonly cpuMillis: number;
  /** Stages follow one another; the calls of one stage run in parallel. */
  readonly stages: readonly (readonly Call[])[];
}

/** What one replica may use. */
export interface ContainerSize {
  /** CPU limit, cores. */
  readonly cpuCores: number;
  readonly memoryBytes: number;
}

/** Between which sizes, and in which steps, a recommendation may move the replicas of a service. */
export interface SizeBounds {
  readonly min: ContainerSize;
  readonly max: ContainerSize;
  readonly step: ContainerSize;
}

export interface ServiceDefinition {
  readonly name: string;
  /** Size of a replica until a recommendation changes it. */
  readonly size: ContainerSize;
  readonly sizeBounds: SizeBounds;
  /** Share of the CPU time that walks memory instead of registers, 0 to 1: what suffers from a busy memory bus. */
  readonly memoryBoundRatio: number;
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** By `METHOD /path`. */
  readonly routes: Readonly<Record<string, Route>>;
}

export interface Flow {
  /** Route of the entry service, and name of the root span. */
  readonly route: string;
  /** Share of all requests. */
  readonly share: number;
}

export interface Topology {
  readonly name: string;
  readonly entry: string;
  readonly services: readonly ServiceDefinition[];
  readonly flows: readonly Flow[];
}

const MEBIBYTE = 2 ** 20;

/** A replica resides in 70 to 90 MiB; the smallest CPU limit still serves a few requests per second. */
const SIZE_BOUNDS: SizeBounds = {
  min: { cpuCores: 0.04, memoryBytes: 128 * MEBIBYTE },
  max: { cpuCores: 0.5, memoryBytes: 512 * MEBIBYTE },
  step: { cpuCores: 0.02, memoryBytes: 32 * MEBIBYTE },
};

const service = (
  name: string,
  routes: Readonly<Record<string, Route>>,
  rest: Partial<ServiceDefinition> = {},
): ServiceDefinition => ({
  name,
  size: { cpuCores: 0.12, memoryBytes: 256 * MEBIBYTE },
  sizeBounds: SIZE_BOUNDS,
  memoryBoundRatio: 0.2,
  minReplicas: 1,
  maxReplicas: 4,
  ...rest,
  routes,
});

/**
 * A hotel-reservation application: the call graph of the well-known benchmark of that name, with its in-memory stores
 * folded into the services. Sized so that three replicas of every busy service fit on two cores beside everything else.
 */
export const HOTEL: Topology = {
  name: "hotel",
  entry: "frontend",
  services: [
    service("frontend", {
      "GET /hotels": {
        cpuMillis: 2,
        stages: [
          [{ service: "search", route: "GET /nearby" }],
          [{ service: "profile", route: "GET /profiles" }],
        ],
      },
      "GET /recommendations": {
        cpuMillis: 2,
        stages: [
          [{ service: "recommendation", route: "GET /ranking" }],
          [{ service: "profile", route: "GET /profiles" }],
        ],
      },
      "POST /reservation": {
        cpuMillis: 2,
        stages: [
          [{ service: "user", route: "POST /check" }],
          [{ service: "reservation", route: "POST /booking" }],
        ],
      },
      "POST /user": { cpuMillis: 2, stages: [[{ service: "user", route: "POST /check" }]] },
    }),
    service("search", {
      "GET /nearby": {
        cpuMillis: 3,
        stages: [
          [
            { service: "geo", route: "GET /points" },
            { service: "rate", route: "GET /rates" },
          ],
        ],
      },
    }),
    service("geo", { "GET /points": { cpuMillis: 4, stages: [] } }),
    service("rate", { "GET /rates": { cpuMillis: 5, stages: [] } }, { memoryBoundRatio: 0.5 }),
    service("profile", { "GET /profiles": { cpuMillis: 4, stages: [] } }, { memoryBoundRatio: 0.5 }),
    service("recommendation", { "GET /ranking": { cpuMillis: 5, stages: [] } }),
    service("user", { "POST /check": { cpuMillis: 2, stages: [] } }),
    service("reservation", { "POST /booking": { cpuMillis: 5, stages: [] } }),
  ],
  flows: [
    { route: "GET /hotels", share: 0.6 },
    { route: "GET /recommendations", share: 0.3 },
    { route: "POST /reservation", share: 0.05 },
    { route: "POST /user", share: 0.05 },
  ],
};

/** Services that a service calls, without repeats. */
export function calleesOf(definition: ServiceDefinition): readonly string[] {
  const calls = Object.values(definition.routes).flatMap(({ stages }) => stages.flat());
  return [...new Set(calls.map((call) => call.service))];
}

/** @throws Error when the topology does not have the service: a mistake of the caller */
export function serviceOf(topology: Topology, name: string): ServiceDefinition {
  const found = topology.services.find((each) => each.name === name);
  if (found === undefined) throw new Error(`application '${topology.name}' has no service '${name}'`);
  return found;
}
