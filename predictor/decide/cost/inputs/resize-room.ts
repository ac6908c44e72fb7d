import type { Window } from "@tradewind/core/contract/window.ts";
import { allocatedCpuCores, mainContainers } from "@tradewind/core/measure/main-containers.ts";

/**
 * How large the containers of a service can be made where they run, cores each: a larger size would stay wished and not come.
 * Limits grow with requests. Infinity where the nodes are not known.
 */
export function resizeRoomOf(window: Window | undefined): number {
  const left = window?.nodeRoomCores;
  if (window === undefined || left === undefined) return Number.POSITIVE_INFINITY;
  let room = Number.POSITIVE_INFINITY;
  for (const container of mainContainers(window)) {
    const { cpuRequestCores = 0 } = container;
    if (cpuRequestCores === 0) continue;
    const allocated = allocatedCpuCores(container) ?? cpuRequestCores;
    room = Math.min(room, (allocated * (cpuRequestCores + left)) / cpuRequestCores);
  }
  return room;
}
