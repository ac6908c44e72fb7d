import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";
import { MEASURED_SCHEMA } from "@tradewind/core/contract/measured.ts";
import type { Measured, MeasuredCall, MeasuredService } from "@tradewind/core/contract/measured.ts";
import type { ContainerWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";
import {
  allocatedCpuCores,
  allocatedMemoryBytes,
  mainContainers,
  meanOfKnown,
} from "@tradewind/core/measure/main-containers.ts";

/** Whose window it is. */
export interface Summed {
  readonly application: string;
  readonly namespace: string;
  readonly entry: string;
  readonly windowSet: WindowSet;
  /** By service; empty where no models decided. */
  readonly tailShares: ReadonlyMap<string, number>;
}

/** A window set as people read it: one line for each service, and who calls whom. */
export function measured({ application, entry, namespace, tailShares, windowSet }: Summed): Measured {
  const own = windowSet.windows.filter((window) => window.namespace === namespace);
  const { endMs, startMs } = windowSet;
  return {
    schema: MEASURED_SCHEMA,
    application,
    namespace,
    entry,
    startMs,
    endMs,
    services: own.map((window) => serviceOf(window, tailShares.get(window.service))),
    calls: own.flatMap(callsOf),
  };
}

const callsOf = ({ callees, service: caller }: Window): MeasuredCall[] =>
  callees.map(({ callee, callsPerSecond }) => ({ caller, callee, callsPerSecond }));

function serviceOf(window: Window, tailShare: number | undefined): MeasuredService {
  const containers = mainContainers(window);
  const { errorRatio, ownLatency, requestsPerSecond, service } = window;
  const cpuUsedRatio = meanOfKnown(
    containers.map((each) => ratio(each.cpuUsageCores, allocatedCpuCores(each))),
  );
  const used = containers.flatMap(
    (each) => ratio(each.memoryWorkingSetBytes, allocatedMemoryBytes(each)) ?? [],
  );
  return {
    service,
    ...(requestsPerSecond !== undefined && { requestsPerSecond }),
    ...(errorRatio !== undefined && { errorRatio }),
    ...(ownLatency && { selfTimeP95Seconds: ownLatency.p95Seconds }),
    ...(cpuUsedRatio !== undefined && { cpuUsedRatio }),
    ...(used.length > 0 && { memoryUsedRatio: Math.max(...used) }),
    ...strongest(containers),
    ...(tailShare !== undefined && { tailShare }),
  };
}

const ratio = (part: number | undefined, whole: number | undefined): number | undefined =>
  part === undefined || whole === undefined || !(whole > 0) ? undefined : part / whole;

function strongest(
  containers: readonly ContainerWindow[],
): Pick<MeasuredService, "interferenceRatio" | "interferenceIn"> {
  let found: Pick<MeasuredService, "interferenceRatio" | "interferenceIn"> = {};
  for (const { interference } of containers) {
    for (const name of INTERFERENCE_COMPONENTS) {
      const value = interference?.[name].value;
      if (value === undefined || value <= (found.interferenceRatio ?? -1)) continue;
      found = { interferenceRatio: value, interferenceIn: name };
    }
  }
  return found;
}
