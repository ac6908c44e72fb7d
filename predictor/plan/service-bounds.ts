import type { ServiceSpec } from "@tradewind/core/contract/application.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import type { KnownService, PlanSettings, ServiceLimits } from "./application-plan.ts";
import { roundedUp } from "./plan-service.ts";
import type { PlanService, Size } from "./plan-service.ts";

/** What is known of a service, and how the application is planned. */
interface Given {
  readonly known: KnownService | undefined;
  readonly settings: PlanSettings;
}

/**
 * Sizes between which one plan may move a service: those configured, and within them what its limits and the memory that it
 * uses allow. What cannot be resized stays as it is.
 */
export function boundsOf(
  window: Window,
  spec: ServiceSpec,
  size: Size,
  { known, settings }: Given,
): Pick<PlanService, "floor" | "ceiling"> {
  const { limits, resizable = { cpu: true, memory: true } } = known ?? {};
  const { cpu, memory } = spec;
  const leastCores = roundedUp(Math.max(cpu.minCores, limits?.leastContainerCores ?? 0), cpu.stepCores);
  const mostCores = Math.min(cpu.maxCores, limits?.mostContainerCores ?? cpu.maxCores);
  const hasMemory = resizable.memory && size.memoryBytes > 0;
  return {
    floor: {
      replicas: Math.max(1, spec.minReplicas),
      cpuCores: resizable.cpu ? Math.min(size.cpuCores, leastCores) : size.cpuCores,
      memoryBytes: hasMemory
        ? Math.min(size.memoryBytes, leastMemoryBytes(window, spec, settings, limits))
        : size.memoryBytes,
    },
    ceiling: {
      replicas: Math.max(size.replicas, Math.min(spec.maxReplicas, limits?.mostReplicas ?? spec.maxReplicas)),
      cpuCores: resizable.cpu ? Math.max(size.cpuCores, mostCores) : size.cpuCores,
      memoryBytes: hasMemory ? Math.max(size.memoryBytes, memory.maxBytes) : size.memoryBytes,
    },
  };
}

/** What a container must keep, a whole number of steps; infinite where what it uses is not known. */
function leastMemoryBytes(
  { containers }: Window,
  spec: ServiceSpec,
  settings: PlanSettings,
  limits: ServiceLimits | undefined,
): number {
  if (containers.some((container) => container.memoryWorkingSetBytes === undefined)) {
    return Number.POSITIVE_INFINITY;
  }
  const workingSets = containers.map((container) => container.memoryWorkingSetBytes ?? 0);
  const peak = Math.max(limits?.memoryPeakBytes ?? 0, ...workingSets);
  return roundedUp(
    Math.max(spec.memory.minBytes, settings.memoryHeadroomRatio * peak),
    spec.memory.stepBytes,
  );
}
