import type { Files } from "./plant.ts";

const ID_A = "a".repeat(64);

/**
 * A machine with resctrl mounted, two cache domains, a group runc made for a container, and one of koordlet's, in which
 * the words AMD kernels answer stand for numbers.
 */
export function resctrlFiles(bytes = 1e12): Files {
  const group = (path: string, total: string, local: string, occupancy: string): Files =>
    Object.fromEntries(
      ["mon_L3_00", "mon_L3_01"].flatMap((cache) => [
        [`sys/fs/resctrl${path}/mon_data/${cache}/mbm_total_bytes`, `${total}\n`],
        [`sys/fs/resctrl${path}/mon_data/${cache}/mbm_local_bytes`, `${local}\n`],
        [`sys/fs/resctrl${path}/mon_data/${cache}/llc_occupancy`, `${occupancy}\n`],
      ]),
    );
  return {
    "sys/fs/resctrl/info/L3_MON/mon_features": "llc_occupancy\nmbm_total_bytes\nmbm_local_bytes\n",
    ...group("", `${bytes}`, `${bytes / 2}`, "8388608"),
    ...group(`/mon_groups/${ID_A}`, `${bytes / 4}`, `${bytes / 8}`, "1048576"),
    ...group("/BE", "Unavailable", "Unassigned", "Error"),
    "sys/devices/system/node/node0/numastat":
      "numa_hit 100\nnuma_miss 7\nnuma_foreign 8\ninterleave_hit 9\nlocal_node 100\nother_node 5\n",
    "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count": "3\n",
    "sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count": "4\n",
    "sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count": "1\n",
    "sys/devices/system/cpu/cpu1/thermal_throttle/package_throttle_count": "4\n",
  };
}
