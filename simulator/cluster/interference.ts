import type { Incident } from "../model/plant-model.ts";

type Disturbance = Extract<Incident, { kind: "interference" }>;

/** When other tenants disturb which node, and by how much. Times are ms from the start of the run. */
export class InterferenceSchedule {
  private readonly disturbances: readonly Disturbance[];

  constructor(incidents: readonly Incident[]) {
    this.disturbances = incidents.filter((incident) => incident.kind === "interference");
  }

  /** Times at which something changes. */
  changesMs(): number[] {
    return this.disturbances.flatMap(({ atSeconds, untilSeconds }) => [1e3 * atSeconds, 1e3 * untilSeconds]);
  }

  /** Factor on CPU demands on the node. */
  factorAt(node: number, nowMs: number): number {
    return this.disturbances
      .filter((each) => concerns(each, node) && overlapMs(each, nowMs, nowMs + 1e-6) > 0)
      .reduce((product, { factor }) => product * factor, 1);
  }

  /** Mean of what an agent on the node reports over an interval, [0, 1]. */
  meanOver(node: number, name: "cpu" | "memoryBandwidth", startMs: number, endMs: number): number {
    const sum = this.disturbances
      .filter((each) => concerns(each, node))
      .reduce((total, each) => total + each[name] * overlapMs(each, startMs, endMs), 0);
    return Math.min(1, sum / (endMs - startMs));
  }
}

const concerns = ({ nodes }: Disturbance, node: number): boolean => nodes?.includes(node) ?? true;

function overlapMs({ atSeconds, untilSeconds }: Disturbance, startMs: number, endMs: number): number {
  return Math.max(0, Math.min(endMs, 1e3 * untilSeconds) - Math.max(startMs, 1e3 * atSeconds));
}
