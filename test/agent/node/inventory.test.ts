import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { Inventory } from "@tradewind/core/contract/snapshot.ts";
import { readInventory } from "@tradewind/agent/node/inventory.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentOn } from "../agent-on.ts";
import { nodeFiles, QUIET_NODE } from "../tree/node.ts";
import { Tree } from "../tree/plant.ts";

const DISKS = {
  "sys/block/nvme0n1/queue/rotational": "0\n",
  "sys/block/sda/queue/rotational": "1\n",
  "sys/block/loop0/queue/rotational": "1\n",
};

const PROCESSOR = {
  "sys/devices/system/cpu/cpu0/cpufreq/base_frequency": "2400000\n",
  "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "3500000\n",
  "sys/devices/system/cpu/cpu0/cache/index0/size": "32K\n",
  "sys/devices/system/cpu/cpu0/cache/index3/size": "32768K\n",
  "sys/devices/system/node/node0/numastat": "",
  "sys/devices/system/node/node1/numastat": "",
};

let tree: Tree;
beforeEach(() => {
  tree = new Tree();
});
afterEach(() => tree[Symbol.dispose]());

describe("the inventory of this very machine", () => {
  it(
    "has its CPUs and what makes them, and disks from the sysfs that it is given",
    { timeout: 60_000 },
    async () => {
      tree.plant({ ...DISKS, ...PROCESSOR });
      const found = await readInventory(tree.path("sys"));
      expect(Inventory.parse(found)).toEqual(found);
      expect(found.cpuCores).toBe(cpus().length);
      const vendor = /^vendor_id\s*: (\S+)/m.exec(readFileSync("/proc/cpuinfo", "latin1"))?.[1];
      expect(found.cpuModel === undefined).toBe(vendor === undefined);
      expect(found).toMatchObject({
        cpuBaseHertz: 2.4e9,
        cpuMaxHertz: 3.5e9,
        cacheBytes: 32_768 * 1_024,
        numaNodes: 2,
      });
      expect(found.disks).toEqual([
        { name: "nvme0n1", kind: "nvme" },
        { name: "sda", kind: "hdd" },
      ]);
    },
  );

  it("has no disks, clocks, cache or NUMA nodes where there is no sysfs", { timeout: 60_000 }, async () => {
    const found = await readInventory(tree.path("nowhere"));
    for (const part of ["disks", "cpuBaseHertz", "cpuMaxHertz", "cacheBytes", "numaNodes"])
      expect(found).not.toHaveProperty(part);
  });
});

describe("an agent that has looked at the hardware", () => {
  it("exposes what it found as info metrics, and in its snapshot", { timeout: 60_000 }, async () => {
    tree.plant({ ...nodeFiles(QUIET_NODE), ...DISKS });
    using on = new AgentOn(tree);
    on.cycle();
    expect(on.snapshot().inventory).toBeUndefined();
    expect(on.metrics()).not.toContain("tradewind_node_hardware_info");
    await on.agent.lookAtHardware();
    const { inventory } = on.snapshot();
    expect(inventory).toBeDefined();
    const { cpuModel = "", cpuVendor = "", memoryBytes } = inventory!;
    expect(memoryBytes).toBe(on.snapshot().capacity.memoryBytes);
    const [line = ""] = /^tradewind_node_hardware_info\{.*$/m.exec(on.metrics()) ?? [];
    expect(line).toContain(`cpu_model="${cpuModel}"`);
    expect(line).toContain(`cpu_vendor="${cpuVendor}"`);
    expect(line).toContain(`memory_bytes="${memoryBytes}"`);
    expect(line.endsWith(`cpus="${cpus().length}"} 1`)).toBe(true);
    expect(on.metric('tradewind_node_disk_info{device="nvme0n1",class="nvme"}')).toBe(1);
  });
});
