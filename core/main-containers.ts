import type { ContainerWindow, Window } from "./contract/window.ts";

/**
 * The containers of a service that its requests are served by and that decisions size: one of each pod. A proxy or a log
 * shipper beside it has limits and use of its own, and says nothing about how full the service is.
 */
export function mainContainers({ containers }: Pick<Window, "containers">): readonly ContainerWindow[] {
  return containers.some(({ sidecar }) => sidecar === true)
    ? containers.filter(({ sidecar }) => sidecar !== true)
    : containers;
}

/** CPU a container may use: its limit, else its request; cores. */
export const allocatedCpuCores = (container: ContainerWindow): number | undefined =>
  container.cpuLimitCores ?? container.cpuRequestCores;

/** Whether CPU limits stand above what the main containers of a service request. */
export const hasCpuLimits = (window: Pick<Window, "containers">): boolean =>
  mainContainers(window).every(({ cpuLimitCores }) => cpuLimitCores !== undefined);

export const allocatedMemoryBytes = (container: ContainerWindow): number | undefined =>
  container.memoryLimitBytes ?? container.memoryRequestBytes;

/** Mean of the values that are known; undefined of none. */
export function meanOfKnown(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0) / known.length;
}
