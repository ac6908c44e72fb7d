import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { mainContainers, meanOfKnown } from "@tradewind/core/measure/main-containers.ts";
import { LAST_UTILISATION } from "../queue/queue-curve.ts";
import { demandOf } from "../queue/tracked-profile.ts";
import type { ProfileState } from "../queue/tracked-profile.ts";
import type { Direction } from "./network.ts";

/** What surrounds a service in a window and no decision changes: means over its main containers, NaN where not measured. */
export interface Surroundings {
  /** Memory working set over the limit. */
  readonly memoryRatio: number;
  /** Interference by component, in the order of `INTERFERENCE_COMPONENTS`. */
  readonly interference: readonly number[];
}

/**
 * What the residual sees, in this order: logarithms of the cores of a container and of its requests per second, −ln(1 −
 * utilisation), memory working set over the limit, and interference by component. NaN: not known.
 */
export const CORES = 0;
export const LOAD = 1;
export const STRETCH = 2;
export const MEMORY = 3;
export const INTERFERENCE = 4;
export const INPUT_COUNT = INTERFERENCE + INTERFERENCE_COMPONENTS.length;

/** Only more cores make a request faster. */
export const DIRECTIONS: readonly Direction[] = Array.from({ length: INPUT_COUNT }, (_, i) =>
  i === CORES ? -1 : 1,
);

/** Width that the seen range of an input counts as at least: a factor e, or a tenth of what is limited. */
export const LEAST_WIDTHS: readonly number[] = Array.from({ length: INPUT_COUNT }, (_, i) =>
  i >= MEMORY ? 0.1 : 1,
);

/** Requests per second below which loads are one. */
export const LEAST_LOAD = 1e-6;

const mean = (values: readonly (number | undefined)[]): number => meanOfKnown(values) ?? Number.NaN;

export function surroundingsOf(window: Window): Surroundings {
  const containers = mainContainers(window);
  return {
    memoryRatio: mean(
      containers.map(({ memoryLimitBytes, memoryWorkingSetBytes }) =>
        memoryLimitBytes === undefined || memoryWorkingSetBytes === undefined
          ? undefined
          : memoryWorkingSetBytes / memoryLimitBytes,
      ),
    ),
    interference: INTERFERENCE_COMPONENTS.map((name) =>
      mean(containers.map(({ interference }) => interference?.[name].value)),
    ),
  };
}

/** Size and load of a container. */
export interface Place {
  /** CPU limit; undefined: none. */
  readonly cpuCores: number | undefined;
  /** Requests per second. */
  readonly loadPerContainer: number;
}

/** What a request costs, as the tracked profile has it. */
export interface Demand {
  readonly cpuSecondsPerRequest: number;
  readonly housekeepingCores: number;
  readonly parallelism: number;
}

const NO_DEMAND: Demand = { cpuSecondsPerRequest: 0, housekeepingCores: 0, parallelism: 1 };

export const demandIn = (state: ProfileState): Demand => demandOf(state) ?? NO_DEMAND;

/** Writes what is fixed while sizes are compared. */
export function writeSurroundings({ interference, memoryRatio }: Surroundings, out: Float64Array): void {
  out[MEMORY] = memoryRatio;
  for (let i = 0; i < INTERFERENCE_COMPONENTS.length; i += 1)
    out[INTERFERENCE + i] = interference[i] ?? Number.NaN;
}

/** Slopes of {@link STRETCH} at a size and load. */
export interface StretchSlopes {
  byCores: number;
  byLoad: number;
}

/** Writes what a size and a load are; and how {@link STRETCH} moves with them. */
export function writePlace(
  { cpuCores, loadPerContainer }: Place,
  { cpuSecondsPerRequest, housekeepingCores, parallelism }: Demand,
  out: Float64Array,
  slopes: StretchSlopes,
): void {
  const capacity = Math.min(cpuCores ?? Infinity, parallelism);
  const used = housekeepingCores + loadPerContainer * cpuSecondsPerRequest;
  const utilisation = Math.min(LAST_UTILISATION, used / capacity);
  const byUse = utilisation < LAST_UTILISATION ? 1 / (capacity - used) : 0;
  out[CORES] = cpuCores === undefined ? Number.NaN : Math.log(cpuCores);
  out[LOAD] = Math.log(Math.max(LEAST_LOAD, loadPerContainer));
  out[STRETCH] = -Math.log1p(-utilisation);
  slopes.byLoad = byUse * cpuSecondsPerRequest;
  slopes.byCores = cpuCores !== undefined && cpuCores < parallelism ? (-byUse * used) / cpuCores : 0;
}
