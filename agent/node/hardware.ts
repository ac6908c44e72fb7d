import type { Inventory } from "@tradewind/core/contract/snapshot.ts";
import { Table } from "../expose/table.ts";

/** Info metrics of the node's hardware: one for the machine, one a disk. */
export function hardwareTables(): readonly [Table, Table] {
  return [
    new Table([
      {
        name: "tradewind_node_hardware_info",
        help: "Always 1; CPU model, vendor, family/model, clocks, cache, number of CPUs and NUMA nodes, memory, read once at the start.",
        kind: "gauge",
      },
    ]),
    new Table([
      {
        name: "tradewind_node_disk_info",
        help: "Always 1; class of a disk: nvme, ssd or hdd.",
        kind: "gauge",
      },
    ]),
  ];
}

export function describeHardware([machine, disk]: readonly [Table, Table], inventory: Inventory): void {
  const { cpuCores, cpuFamily, cpuModel, cpuVendor, disks = [] } = inventory;
  const labels = {
    cpu_model: cpuModel,
    cpu_vendor: cpuVendor,
    cpu_family: cpuFamily,
    base_hertz: inventory.cpuBaseHertz?.toString(),
    max_hertz: inventory.cpuMaxHertz?.toString(),
    cache_bytes: inventory.cacheBytes?.toString(),
    memory_bytes: inventory.memoryBytes?.toString(),
    numa_nodes: inventory.numaNodes?.toString(),
  };
  machine.row("", { ...labels, cpus: cpuCores?.toString() }).values[0] = 1;
  for (const { name, kind } of disks) disk.row(name, { device: name, class: kind }).values[0] = 1;
}
