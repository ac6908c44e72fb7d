import type { Window } from "@tradewind/core/contract/window.ts";
import {
  allocatedCpuCores,
  allocatedMemoryBytes,
  mainContainers,
  meanOfKnown,
} from "@tradewind/core/measure/main-containers.ts";

export interface ContainerSize {
  readonly cpuCores: number;
  /** 0 where none is allocated. */
  readonly memoryBytes: number;
}

/** What each container of a service gets, and how many there are. */
export interface Size extends ContainerSize {
  readonly replicas: number;
}

/** Rounding slack, so that ten steps of 0.1 core are 1 core. */
const ROUNDING = 1e-9;

/** The smallest multiple of `step` that is not under `value`. */
export function roundedUp(value: number, step: number): number {
  return Math.ceil(value / step - ROUNDING) * step;
}

/** The largest multiple of `step` that is not over `value`. */
export function roundedDown(value: number, step: number): number {
  return Math.floor(value / step + ROUNDING) * step;
}

/** Mean size of the main containers; undefined when no CPU is allocated. Memory is 0 where none is. */
export function containerSize(window: Pick<Window, "containers">): ContainerSize | undefined {
  const containers = mainContainers(window);
  const cpuCores = meanOfKnown(containers.map(allocatedCpuCores));
  if (cpuCores === undefined) return undefined;
  return { cpuCores, memoryBytes: meanOfKnown(containers.map(allocatedMemoryBytes)) ?? 0 };
}
