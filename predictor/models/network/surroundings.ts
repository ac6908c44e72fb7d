import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { mainContainers, meanOfKnown } from "@tradewind/core/measure/main-containers.ts";

/** What surrounds a service in a window and no decision changes: means over its main containers, NaN where not measured. */
export interface Surroundings {
  /** Memory working set over the limit. */
  readonly memoryRatio: number;
  /** Interference by component, in the order of `INTERFERENCE_COMPONENTS`. */
  readonly interference: readonly number[];
}

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
