import { expect, test } from "vitest";
import { detectHierarchies } from "@tradewind/agent/cgroup/hierarchies.ts";
import { COLUMN_COUNT } from "@tradewind/agent/container/columns.ts";
import { MemoryProbe } from "@tradewind/agent/container/probes/memory.ts";
import { ContainerRates } from "@tradewind/agent/container/rates.ts";
import { Reader } from "@tradewind/agent/read/reader.ts";
import { v2Files } from "../../tree/cgroup-text.ts";
import { Tree } from "../../tree/plant.ts";

const MIB = 1024 * 1024;

test.each([
  ["page cache that is not in use", 100, 100, 0],
  ["nothing", 0, 0, 0],
  ["more than page cache", 100, 60, 40],
])("memory of a container that holds %s is judged by its working set", (_, usage, inactive, judged) => {
  using tree = new Tree().plant({
    "cgroup/cgroup.controllers": "memory\n",
    ...v2Files("cgroup/web", {
      cpuSeconds: 1,
      memoryBytes: usage * MIB,
      inactiveFileBytes: inactive * MIB,
    }),
  });
  const hierarchies = detectHierarchies(tree.path("cgroup"));
  const target = { values: new Float64Array(COLUMN_COUNT), rates: new ContainerRates() };
  const probe = new MemoryProbe({ reader: new Reader(0), hierarchies, path: "/web" }, target);
  expect(probe.read()).toBe(judged * MIB);
});
