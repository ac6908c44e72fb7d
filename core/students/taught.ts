import type { Allocation, Bounds } from "../contract/plan.ts";

/** A decision of a planner at one moment of a silence, as students are taught it. */
export interface TaughtDecision {
  /** In force at that moment. */
  readonly before: Allocation;
  /** By the last plan before the silence. */
  readonly planned: Allocation;
  /** What the planner makes of the moment. */
  readonly wished: Allocation;
  readonly bounds: Pick<Bounds, "cpuStepCores" | "memoryStepBytes">;
}

const LEAST_TAUGHT = 0.65;
const MOST_TAUGHT = 0.95;
const TAUGHT_REMOVAL = 0.8;

/** What a student is taught that leads from one number of replicas to another: clear of the threshold, and short of where tanh is flat. */
export function taughtAction(from: number, to: number): number {
  if (to === from) return 0;
  if (to < from) return -TAUGHT_REMOVAL;
  return Math.min(MOST_TAUGHT, Math.max(LEAST_TAUGHT, 0.5 + (to - from) / (2 * Math.max(1, from))));
}

/**
 * CPU size, memory size and replicas, each in [-1, 1]. Below what was planned before the silence a student cannot go, so there is
 * nothing to teach. Two steps of a size are an action of 1, as doubling is of replicas.
 */
export function taughtActions({
  before,
  bounds,
  planned,
  wished,
}: TaughtDecision): [cpu: number, memory: number, replicas: number] {
  const size = (part: "cpuCores" | "memoryBytes", step: number | undefined): number => {
    const [from, to] = [before[part], wished[part]];
    if (from === undefined || to === undefined || step === undefined) return 0;
    const target = Math.max(to, planned[part] ?? 0);
    return taughtAction(2, 2 + Math.trunc((target - from) / step + Math.sign(target - from) * 1e-6));
  };
  return [
    size("cpuCores", bounds.cpuStepCores),
    size("memoryBytes", bounds.memoryStepBytes),
    taughtAction(before.replicas, Math.max(wished.replicas, planned.replicas)),
  ];
}
