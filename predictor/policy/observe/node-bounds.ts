import type { ContainerSize } from "../../plan/application-plan.ts";
import type { Observation } from "./observation.ts";

/**
 * The observation with the largest sizes of its containers lowered to what fits on a node: whole steps, and never under the
 * configured least. A container that is larger today is left as it is by what reads these bounds.
 */
export function boundedByNode(observation: Observation, largest: ContainerSize | undefined): Observation {
  if (largest === undefined) return observation;
  const { cpu, memory } = observation.spec;
  const maxCores = most(cpu.minCores, cpu.maxCores, wholeSteps(largest.cpuCores, cpu.stepCores));
  const maxBytes = most(memory.minBytes, memory.maxBytes, wholeSteps(largest.memoryBytes, memory.stepBytes));
  return {
    ...observation,
    spec: { ...observation.spec, cpu: { ...cpu, maxCores }, memory: { ...memory, maxBytes } },
  };
}

const most = (least: number, configured: number, fits: number): number =>
  Math.max(least, Math.min(configured, fits));

/** The largest multiple of a step that is not over `value`, rounding apart. */
const wholeSteps = (value: number, step: number): number => Math.floor(value / step + 1e-9) * step;
