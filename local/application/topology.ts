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
  /** Requests per second over a run unless `--load` gives others: name of a file in `local/load/`. */
  readonly load: string;
}

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
