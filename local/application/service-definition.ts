import type { Route, ServiceDefinition, SizeBounds } from "./topology.ts";

const MEBIBYTE = 2 ** 20;

/** A replica resides in 70 to 90 MiB. Below 0.1 cores its quota per CFS period is less than four requests. */
const SIZE_BOUNDS: SizeBounds = {
  min: { cpuCores: 0.1, memoryBytes: 128 * MEBIBYTE },
  max: { cpuCores: 1, memoryBytes: 512 * MEBIBYTE },
  step: { cpuCores: 0.05, memoryBytes: 32 * MEBIBYTE },
};

/**
 * A service of the usual size. 0.2 cores are 20 ms of CPU in a CFS period of 100 ms, 8 to 10 times what a request takes in
 * it (2 to 2.5 ms, most of it HTTP and tracing). Containers of a cluster have 10 to 100 times as much: with less, stalls
 * within a request would be all that latency shows.
 */
export function service(
  name: string,
  routes: Readonly<Record<string, Route>>,
  rest: Partial<ServiceDefinition> = {},
): ServiceDefinition {
  return {
    name,
    size: { cpuCores: 0.2, memoryBytes: 256 * MEBIBYTE },
    sizeBounds: SIZE_BOUNDS,
    memoryBoundRatio: 0.2,
    minReplicas: 1,
    maxReplicas: 4,
    ...rest,
    routes,
  };
}
