import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";
import type { ContainerWindow, Window } from "@tradewind/core/contract/window.ts";
import { mainContainers } from "@tradewind/core/main-containers.ts";
import {
  BASE_SECONDS,
  CPU_CORES,
  CPU_SECONDS_PER_REQUEST,
  INPUT_COUNT,
  INTERFERENCE,
  LOAD_PER_CONTAINER,
  MEMORY_BYTES,
} from "./inputs.ts";
import type { Observation, ServiceState } from "./service-state.ts";

/** Tail percentiles a window carries. */
export type TailPercentile = 0.5 | 0.95 | 0.99;

export function ownTailSeconds({ ownLatency }: Window, percentile: TailPercentile): number | undefined {
  if (ownLatency === undefined) return undefined;
  if (percentile === 0.5) return ownLatency.p50Seconds;
  return percentile === 0.95 ? ownLatency.p95Seconds : ownLatency.p99Seconds;
}

/** CPU a container may use: its limit, else its request. */
export const allocatedCpuCores = (container: ContainerWindow): number | undefined =>
  container.cpuLimitCores ?? container.cpuRequestCores;

export const allocatedMemoryBytes = (container: ContainerWindow): number | undefined =>
  container.memoryLimitBytes ?? container.memoryRequestBytes;

/** Mean of the values that are known; undefined of none. */
export function meanOfKnown(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** Requests per second to one container (ρ = Φ/n); undefined when either is unknown or no replica is ready. */
export function loadPerContainer(window: Window): number | undefined {
  const { replicasReady, requestsPerSecond } = window;
  const replicas = replicasReady ?? mainContainers(window).length;
  return requestsPerSecond === undefined || replicas === 0 ? undefined : requestsPerSecond / replicas;
}

/** Mean interference by component, NaN where no container has it; undefined where none has any. */
function meanInterference(containers: readonly ContainerWindow[]): number[] | undefined {
  let any = false;
  const means = INTERFERENCE_COMPONENTS.map((name) => {
    let sum = 0;
    let known = 0;
    for (const { interference } of containers) {
      const value = interference?.[name].value;
      if (value === undefined) continue;
      sum += value;
      known += 1;
    }
    any ||= known > 0;
    return known === 0 ? Number.NaN : sum / known;
  });
  return any ? means : undefined;
}

/** What the prior needs of a window; undefined when any of it was not measured, or a part of the load was not. */
export function observationOf(window: Window, percentile: TailPercentile): Observation | undefined {
  if (window.missing !== undefined) return undefined;
  const containers = mainContainers(window);
  const cpuCores = meanOfKnown(containers.map(allocatedCpuCores));
  const cpuUsageCores = meanOfKnown(containers.map((container) => container.cpuUsageCores));
  const load = loadPerContainer(window);
  const latencySeconds = ownTailSeconds(window, percentile);
  if (
    cpuCores === undefined ||
    cpuUsageCores === undefined ||
    load === undefined ||
    latencySeconds === undefined
  ) {
    return undefined;
  }
  const interference = meanInterference(containers);
  return {
    atMs: window.endMs,
    cpuCores,
    cpuUsageCores,
    loadPerContainer: load,
    latencySeconds,
    ...(interference && { interference }),
  };
}

/** Writes the inputs of one container of a service; NaN where a value is absent. */
export function writeInputs(
  out: Float64Array,
  container: ContainerWindow | undefined,
  load: number | undefined,
  state: ServiceState | undefined,
): void {
  out.fill(Number.NaN);
  out[LOAD_PER_CONTAINER] = load ?? Number.NaN;
  out[CPU_SECONDS_PER_REQUEST] = state?.cpuSecondsPerRequest ?? Number.NaN;
  out[BASE_SECONDS] = state?.baseSeconds ?? Number.NaN;
  if (container === undefined) return;
  out[CPU_CORES] = allocatedCpuCores(container) ?? Number.NaN;
  out[MEMORY_BYTES] = allocatedMemoryBytes(container) ?? Number.NaN;
  for (const [i, name] of INTERFERENCE_COMPONENTS.entries()) {
    out[INTERFERENCE + i] = container.interference?.[name].value ?? Number.NaN;
  }
}

/**
 * The container that sets a service's tail: the one on the most disturbed node (Grad §IV-B takes the worst container),
 * the first of equals.
 */
export function worstContainer(window: Window): ContainerWindow | undefined {
  let worst: ContainerWindow | undefined;
  let most = -1;
  for (const container of mainContainers(window)) {
    const { interference } = container;
    const sum =
      interference === undefined
        ? 0
        : INTERFERENCE_COMPONENTS.reduce((total, name) => total + (interference[name].value ?? 0), 0);
    if (sum > most) {
      most = sum;
      worst = container;
    }
  }
  return worst;
}

/** Inputs of the worst container of a window, as one row to learn from or to predict for. */
export function inputsOf(window: Window, state: ServiceState | undefined): Float64Array {
  const out = new Float64Array(INPUT_COUNT);
  writeInputs(out, worstContainer(window), loadPerContainer(window), state);
  return out;
}
