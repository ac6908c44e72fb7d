import { existsSync, readdirSync, readFileSync } from "node:fs";
import { Table } from "../expose/table.ts";
import { parseSingle } from "../parse/cgroup-files.ts";
import { AbsentSource } from "../read/file-error.ts";
import type { CollectorDefinition } from "./collector.ts";

/**
 * How often CPUs slowed down to cool: `/sys/devices/system/cpu/cpuN/thermal_throttle`. The current frequency is not read:
 * asking for it takes milliseconds a core and raises what it measures.
 */
export const thermal: CollectorDefinition = {
  name: "thermal",
  schedule: { kind: "counter", tolerance: 0.1, minSeconds: 15, costSeconds: 1e-3 },
  open: ({ sysfs }) => {
    const root = `${sysfs}/devices/system/cpu`;
    const table = new Table([
      {
        name: "tradewind_node_cpu_core_throttles_total",
        help: "Times a core was slowed down to cool, all cores together; hyperthreads of a core count once.",
        kind: "counter",
      },
      {
        name: "tradewind_node_cpu_package_throttles_total",
        help: "Times a package was slowed down to cool, all together; absent when no CPU shows its package.",
        kind: "counter",
      },
    ]);
    const topologies = new Map<string, CpuTopology>();
    const cores = new Map<string, number>();
    const packages = new Map<string, number>();
    return {
      tables: [table],
      sample() {
        const cpus = cpusBelow(root).filter((cpu) => existsSync(`${root}/${cpu}/thermal_throttle`));
        if (cpus.length === 0) throw new AbsentSource("thermal throttle counts");
        for (const cpu of cpus) {
          const folder = `${root}/${cpu}`;
          const { socket, core } = topologyOf(topologies, cpu, folder);
          keep(cores, core, countOf(folder, "core_throttle_count"));
          if (socket !== undefined) keep(packages, socket, countOf(folder, "package_throttle_count"));
        }
        const coreThrottles = sumOf(cores);
        table.row("").values.set([coreThrottles ?? Number.NaN, sumOf(packages) ?? Number.NaN]);
        return coreThrottles ?? 0;
      },
      close: () => undefined,
    };
  },
};

function cpusBelow(root: string): string[] {
  try {
    return readdirSync(root).filter((name) => /^cpu\d+$/.test(name));
  } catch {
    return [];
  }
}

interface CpuTopology {
  readonly socket: string | undefined;
  readonly core: string;
}

/** The package and core of a CPU, which the kernel shows while it is online. Without them it counts as a core of its own. */
function topologyOf(topologies: Map<string, CpuTopology>, cpu: string, folder: string): CpuTopology {
  const knownTopology = topologies.get(cpu);
  if (knownTopology?.socket !== undefined) return knownTopology;
  const socket = idOf(folder, "physical_package_id");
  const core = idOf(folder, "core_id");
  const topology = { socket, core: socket === undefined || core === undefined ? cpu : `${socket} ${core}` };
  topologies.set(cpu, topology);
  return topology;
}

/** Undefined where the kernel does not know it (-1) or does not show it. */
function idOf(folder: string, name: string): string | undefined {
  try {
    const id = readFileSync(`${folder}/topology/${name}`, "latin1").trim();
    return /^\d{1,6}$/.test(id) ? id : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined where the CPU has no such counter. */
function countOf(folder: string, name: string): number | undefined {
  const path = `${folder}/thermal_throttle/${name}`;
  return existsSync(path) ? parseSingle(readFileSync(path, "latin1")) : undefined;
}

/** CPUs of one core or package count the same events. The count of a CPU that goes offline stays: a total must not fall. */
function keep(counts: Map<string, number>, key: string, count: number | undefined): void {
  if (count !== undefined) counts.set(key, Math.max(counts.get(key) ?? 0, count));
}

function sumOf(counts: ReadonlyMap<string, number>): number | undefined {
  if (counts.size === 0) return undefined;
  let sum = 0;
  for (const count of counts.values()) sum += count;
  return sum;
}
