import { readdirSync } from "node:fs";
import { Table } from "../expose/table.ts";
import { flatValue } from "../parse/flat-keyed.ts";
import { malformed } from "../parse/malformed.ts";
import { AbsentSource } from "../read/file-error.ts";
import type { CollectorDefinition } from "./collector.ts";

/** Pages allocated on another NUMA node than wanted: `/sys/devices/system/node/nodeN/numastat`. */
export const numa: CollectorDefinition = {
  name: "numa",
  schedule: { kind: "counter", tolerance: 1000, minSeconds: 5 },
  open: ({ reader, sysfs }) => {
    const root = `${sysfs}/devices/system/node`;
    const nodes = nodesBelow(root);
    const files = nodes.map((node) => ({ node, file: reader.file(`${root}/${node}`, "numastat") }));
    const table = new Table([
      {
        name: "tradewind_node_numa_misses_total",
        help: "Pages a process wanted on another NUMA node and got here.",
        kind: "counter",
      },
      {
        name: "tradewind_node_numa_foreign_total",
        help: "Pages a process wanted here and got on another NUMA node.",
        kind: "counter",
      },
      {
        name: "tradewind_node_numa_remote_pages_total",
        help: "Pages allocated here by a process that ran on another NUMA node.",
        kind: "counter",
      },
    ]);
    return {
      tables: [table],
      sample() {
        if (files.length === 0) throw new AbsentSource("NUMA statistics");
        let misses = 0;
        for (const { node, file } of files) {
          const text = file.text();
          const miss = flatValue(text, "numa_miss");
          if (miss === undefined) throw malformed("numastat", text);
          misses += miss;
          table
            .row(node, { numa_node: node.slice("node".length) })
            .values.set([
              miss,
              flatValue(text, "numa_foreign") ?? Number.NaN,
              flatValue(text, "other_node") ?? Number.NaN,
            ]);
        }
        return misses;
      },
      close: () => {
        for (const { file } of files) file.close();
      },
    };
  },
};

function nodesBelow(root: string): string[] {
  try {
    return readdirSync(root).filter((name) => /^node\d+$/.test(name));
  } catch {
    return [];
  }
}
