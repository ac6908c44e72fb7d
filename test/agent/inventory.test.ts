import { readFileSync } from "node:fs";
import { cpus } from "node:os";
import { Inventory } from "@tradewind/core/contract/snapshot.ts";
import { readInventory } from "@tradewind/agent/inventory.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AgentOn } from "./agent-on.ts";
import { nodeFiles, QUIET_NODE } from "./tree/node.ts";
import { Tree } from "./tree/plant.ts";

const DISKS = {
  "sys/block/nvme0n1/queue/rotational": "0\n",
  "sys/block/sda/queue/rotational": "1\n",
  "sys/block/loop0/queue/rotational": "1\n",
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
      tree.plant(DISKS);
      const found = await readInventory(tree.path("sys"));
      expect(Inventory.parse(found)).toEqual(found);
      expect(found.cpuCores).toBe(cpus().length);
      const vendor = /^vendor_id\s*: (\S+)/m.exec(readFileSync("/proc/cpuinfo", "latin1"))?.[1];
      expect(found.cpuModel === undefined).toBe(vendor === undefined);
      expect(found.disks).toEqual([
        { name: "nvme0n1", kind: "nvme" },
        { name: "sda", kind: "hdd" },
      ]);
    },
  );

  it("has no disks where there is no sysfs", { timeout: 60_000 }, async () => {
    expect(await readInventory(tree.path("nowhere"))).not.toHaveProperty("disks");
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
    const { cpuModel = "", cpuVendor = "" } = inventory!;
    const [line = ""] = /^tradewind_node_hardware_info\{.*$/m.exec(on.metrics()) ?? [];
    expect(line).toContain(`cpu_model="${cpuModel}"`);
    expect(line).toContain(`cpu_vendor="${cpuVendor}"`);
    expect(line.endsWith(`cpus="${cpus().length}"} 1`)).toBe(true);
    expect(on.metric('tradewind_node_disk_info{device="nvme0n1",class="nvme"}')).toBe(1);
  });
});
