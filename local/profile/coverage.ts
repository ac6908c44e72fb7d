import type { SweepRow } from "@tradewind/core/contract/sweep.ts";
import type { Topology } from "../application/topology.ts";
import { demandPerRequest } from "./demand.ts";
import { SWEEP_FLOWS } from "./design.ts";

interface Bin {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

const LOAD_BINS: readonly Bin[] = [
  { name: "20-50 req/s", from: 20, to: 50 },
  { name: "50-80 req/s", from: 50, to: 80 },
  { name: "80-110 req/s", from: 80, to: 110.1 },
];
const CPU_BINS: readonly Bin[] = [
  { name: "0.1-0.2 cores", from: 0.1, to: 0.2 },
  { name: "0.2-0.4 cores", from: 0.2, to: 0.4 },
  { name: "0.4-1 cores", from: 0.4, to: 1.01 },
];
const INTERFERENCE_BINS: readonly Bin[] = [
  { name: "undisturbed", from: 0, to: 0.1 },
  { name: "disturbed by less than 0.5", from: 0.1, to: 0.5 },
  { name: "disturbed by 0.5 or more", from: 0.5, to: 1.1 },
];
/** Cells in which no number of replicas brings a service between these utilisations are not looked for. */
const SOUGHT = { least: 0.15, most: 1.25, replicas: [1, 2, 3] } as const;

/** Which cells of load × CPU limit × interference hold at least one settled window, service by service. */
export interface Coverage {
  readonly cells: number;
  readonly filled: number;
  /** Cells that some services have not visited. */
  readonly gaps: readonly { readonly cell: string; readonly services: readonly string[] }[];
}

const holds = ({ from, to }: Bin, value: number): boolean => value >= from - 1e-9 && value < to - 1e-9;

function intensityOf(interference: string): number {
  const value = Number(interference.slice(interference.lastIndexOf("-") + 1));
  return interference === "none" || !Number.isFinite(value) ? 0 : value;
}

function isSought(demandSeconds: number, load: Bin, cpu: Bin): boolean {
  return SOUGHT.replicas.some((replicas) => {
    const least = (load.from * demandSeconds) / (replicas * cpu.to);
    const most = (load.to * demandSeconds) / (replicas * cpu.from);
    return most >= SOUGHT.least && least <= SOUGHT.most;
  });
}

export function coverageOf(
  rows: readonly Pick<SweepRow, "configuration" | "settled" | "window">[],
  topology: Topology,
): Coverage {
  const demand = demandPerRequest(topology, SWEEP_FLOWS);
  const gaps: { readonly cell: string; readonly services: readonly string[] }[] = [];
  let cells = 0;
  let filled = 0;
  for (const load of LOAD_BINS)
    for (const cpu of CPU_BINS)
      for (const interference of INTERFERENCE_BINS) {
        const visited = new Set(
          rows
            .filter(
              ({ settled, configuration: { requestsPerSecond, cpuCores, interference: name } }) =>
                settled &&
                holds(load, requestsPerSecond) &&
                holds(cpu, cpuCores) &&
                holds(interference, intensityOf(name)),
            )
            .map(({ window }) => window.service),
        );
        const sought = topology.services
          .map(({ name }) => name)
          .filter((name) => isSought(demand.get(name) ?? 0, load, cpu));
        const missing = sought.filter((name) => !visited.has(name));
        cells += sought.length;
        filled += sought.length - missing.length;
        if (missing.length > 0) {
          gaps.push({ cell: `${load.name}, ${cpu.name}, ${interference.name}`, services: missing });
        }
      }
  return { cells, filled, gaps };
}

const MOST_GAPS = 12;

export function describeCoverage({ cells, filled, gaps }: Coverage, services: number): readonly string[] {
  const share = cells === 0 ? 100 : Math.floor((100 * filled) / cells);
  const widest = [...gaps].sort((a, b) => b.services.length - a.services.length);
  return [
    `coverage: ${filled} of ${cells} cells of load × CPU × interference (${share} %), all services together`,
    ...widest
      .slice(0, MOST_GAPS)
      .map(
        ({ cell, services: missing }) =>
          `  empty: ${cell}: ${missing.length === services ? "every service" : missing.join(", ")}`,
      ),
    ...(widest.length > MOST_GAPS ? [`  and ${widest.length - MOST_GAPS} more`] : []),
  ];
}
