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
        help: "Times a core was slowed down to cool, counted on each of its CPUs, all cores together.",
        kind: "counter",
      },
      {
        name: "tradewind_node_cpu_package_throttles_total",
        help: "Times a package was slowed down to cool, counted on each of its CPUs.",
        kind: "counter",
      },
    ]);
    const cores = new Map<string, number>();
    const packages = new Map<string, number>();
    return {
      tables: [table],
      sample() {
        const folders = cpusBelow(root).map((cpu) => `${root}/${cpu}/thermal_throttle`);
        const there = folders.filter((folder) => existsSync(folder));
        if (there.length === 0) throw new AbsentSource("thermal throttle counts");
        for (const folder of there) {
          cores.set(folder, countOf(folder, "core_throttle_count"));
          packages.set(folder, countOf(folder, "package_throttle_count"));
        }
        // A CPU that went offline keeps what it counted: a total must not fall.
        const coreThrottles = sumOf(cores);
        table.row("").values.set([coreThrottles, sumOf(packages)]);
        return coreThrottles;
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

function countOf(folder: string, name: string): number {
  return parseSingle(readFileSync(`${folder}/${name}`, "latin1"));
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const count of counts.values()) sum += count;
  return sum;
}
