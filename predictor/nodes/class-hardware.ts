import type { ClassHardware } from "@tradewind/core/contract/node-classes.ts";
import type { Inventory } from "@tradewind/core/contract/snapshot.ts";
import type { NodeClasses } from "./node-classes.ts";

/** From the slowest to the fastest. */
const DISK_KINDS = ["hdd", "ssd", "nvme"] as const;

type Inventories = ReadonlyMap<
  string,
  { readonly inventory?: Pick<Inventory, "disks" | "networkInterfaces"> }
>;

/**
 * Storage and network of each class, as agents have read them: of a node its fastest disk and link, of a class what each of its nodes has at
 * least. Classes without a known node are left out.
 */
export function classHardware(
  classes: NodeClasses,
  inventories: Inventories,
): ReadonlyMap<string, ClassHardware> {
  const found = new Map<string, ClassHardware>();
  for (const [node, nodeClass] of classes) {
    const { disks = [], networkInterfaces = [] } = inventories.get(node)?.inventory ?? {};
    const disk = Math.max(
      ...disks.map(({ kind }) => DISK_KINDS.indexOf(kind as (typeof DISK_KINDS)[number])),
    );
    const link = Math.max(...networkInterfaces.map(({ bytesPerSecond = 0 }) => bytesPerSecond));
    const before = found.get(nodeClass);
    const storage =
      DISK_KINDS[Math.min(disk, before?.storage === undefined ? disk : DISK_KINDS.indexOf(before.storage))];
    const bytesPerSecond = Math.min(link, before?.networkBytesPerSecond ?? link);
    const known = {
      ...before,
      ...(disk >= 0 && storage !== undefined && { storage }),
      ...(link > 0 && { networkBytesPerSecond: bytesPerSecond }),
    };
    if (Object.keys(known).length > 0) found.set(nodeClass, known);
  }
  return found;
}
