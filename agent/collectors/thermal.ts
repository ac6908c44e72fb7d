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
        help: "Times a core was slowed down to cool, all cores together.",
        kind: "counter",
      },
      {
        name: "tradewind_node_cpu_package_throttles_total",
        help: "Times a package was slowed down to cool, counted on each of its CPUs.",
        kind: "counter",
      },
    ]);
    return {
      tables: [table],
      sample() {
        const folders = cpusBelow(root).map((cpu) => `${root}/${cpu}/thermal_throttle`);
        const there = folders.filter((folder) => existsSync(folder));
        if (there.length === 0) throw new AbsentSource("thermal throttle counts");
        const core = sumOf(there, "core_throttle_count");
        const packages = sumOf(there, "package_throttle_count");
        table.row("").values.set([core, packages]);
        return core;
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

function sumOf(folders: readonly string[], name: string): number {
  let sum = 0;
  for (const folder of folders) sum += parseSingle(readFileSync(`${folder}/${name}`, "latin1"));
  return sum;
}
