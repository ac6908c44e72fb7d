import { classHardware } from "@tradewind/predictor/nodes/class-hardware.ts";
import { expect, it } from "vitest";

it("a class has the storage and network that each of its known nodes has at least", () => {
  const disk = (kind: "hdd" | "nvme" | "ssd" | "unknown") => ({ name: kind, kind });
  const link = (bytesPerSecond?: number) => ({
    name: "eth",
    ...(bytesPerSecond !== undefined && { bytesPerSecond }),
  });
  const classes = new Map([
    ["a", "new"],
    ["b", "new"],
    ["silent", "new"],
    ["c", "old"],
    ["d", "bare"],
  ]);
  const inventories = new Map([
    ["a", { inventory: { disks: [disk("hdd"), disk("nvme")], networkInterfaces: [link(1e9), link()] } }],
    ["b", { inventory: { disks: [disk("ssd")], networkInterfaces: [link(3e9)] } }],
    ["silent", {}],
    ["c", { inventory: { disks: [disk("unknown")], networkInterfaces: [link(5e8)] } }],
    ["d", { inventory: { networkInterfaces: [link()] } }],
  ]);
  expect(Object.fromEntries(classHardware(classes, inventories))).toEqual({
    new: { storage: "ssd", networkBytesPerSecond: 1e9 },
    old: { networkBytesPerSecond: 5e8 },
  });
});
