import { mean } from "../values/statistics.ts";
import type { ContainerWindow, Window } from "../contract/window.ts";

/**
 * The containers of a service that its requests are served by and that decisions size: one of each pod. A proxy or a log
 * shipper beside it has limits and use of its own, and says nothing about how full the service is.
 */
export function mainContainers({ containers }: Pick<Window, "containers">): readonly ContainerWindow[] {
  return containers.some(({ sidecar }) => sidecar === true)
    ? containers.filter(({ sidecar }) => sidecar !== true)
    : containers;
}

/** A request of zero allocates nothing, as no request does. */
const positive = (amount: number | undefined): number | undefined =>
  amount !== undefined && amount > 0 ? amount : undefined;

/** CPU a container may use: its limit, else its request; cores, above 0. Absent where none is allocated. */
export const allocatedCpuCores = (container: ContainerWindow): number | undefined =>
  container.cpuLimitCores ?? positive(container.cpuRequestCores);

/** Whether CPU limits stand above what the main containers of a service request. */
export const hasCpuLimits = (window: Pick<Window, "containers">): boolean =>
  mainContainers(window).every(({ cpuLimitCores }) => cpuLimitCores !== undefined);

/** Memory a container may use: its limit, else its request; bytes, above 0. Absent where none is allocated. */
export const allocatedMemoryBytes = (container: ContainerWindow): number | undefined =>
  container.memoryLimitBytes ?? positive(container.memoryRequestBytes);

/** Mean of the values that are known; undefined of none. */
export function meanOfKnown(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : mean(known);
}
