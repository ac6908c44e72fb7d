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
    ...throttleFiles([
      { socket: 0, core: 0, coreThrottles: 3, packageThrottles: 4 },
      { socket: 0, core: 1, coreThrottles: 1, packageThrottles: 4 },
    ]),
  };
}

/** A CPU's place, absent where the kernel does not tell it, and what it counted. */
export interface CoolingCpu {
  readonly socket?: number;
  readonly core?: number;
  readonly coreThrottles?: number;
  readonly packageThrottles?: number;
}

/** Throttle counts by CPU. */
export function throttleFiles(cpus: readonly CoolingCpu[]): Files {
  const files: Record<string, string> = {};
  for (const [cpu, { socket, core, coreThrottles, packageThrottles }] of cpus.entries()) {
    const put = (name: string, value: number | undefined): void => {
      if (value !== undefined) files[`sys/devices/system/cpu/cpu${cpu}/${name}`] = `${value}\n`;
    };
    put("topology/physical_package_id", socket);
    put("topology/core_id", core);
    put("thermal_throttle/core_throttle_count", coreThrottles);
    put("thermal_throttle/package_throttle_count", packageThrottles);
  }
  return files;
}
