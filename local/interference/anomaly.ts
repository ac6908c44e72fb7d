import { TradewindError } from "@tradewind/core/values/errors.ts";
import { formatBytes } from "@tradewind/core/values/units.ts";
import type { MachineFacts } from "./machine.ts";

export const ANOMALY_RESOURCES = ["cpu", "memory", "bandwidth", "network", "disk"] as const;
export type AnomalyResource = (typeof ANOMALY_RESOURCES)[number];

export const MIN_INTENSITY = 0.3;
export const MAX_INTENSITY = 0.8;

/** What stays for everybody else. */
const CORES_LEFT = 0.5;
const MEMORY_LEFT_BYTES = 512 * 2 ** 20;
const MEMORY_LEFT_RATIO = 0.1;

/** Loopback has no speed of its own; intensity counts against a link of 10 Gbit/s, which costs about one core here. */
const LINK_BYTES_PER_SECOND = 10e9 / 8;
const LINK_CPU_CORES = 1;
/** A writer that waits for its disk takes no more of a core. */
const DISK_CPU_CORES = 0.2;

/** What an anomaly takes at most. */
export interface Anomaly {
  readonly resource: AnomalyResource;
  /** Share of the machine's CPU or memory, of what one core can copy in memory, of a link of 10 Gbit/s, or of the time that one writer can keep a disk busy. */
  readonly intensity: number;
  readonly cpuCores: number;
  readonly memoryBytes: number;
  /** Over loopback; 0 but for `network`. */
  readonly networkBytesPerSecond: number;
}

/** Memory that must stay free: 512 MiB or a tenth, whichever is more. */
export const memoryLeftBytes = ({ memoryBytes }: Pick<MachineFacts, "memoryBytes">): number =>
  Math.max(MEMORY_LEFT_BYTES, MEMORY_LEFT_RATIO * memoryBytes);

function anomalyOf(resource: AnomalyResource, intensity: number, machine: MachineFacts): Anomaly {
  const nothing = { resource, intensity, cpuCores: 0, memoryBytes: 0, networkBytesPerSecond: 0 };
  const taken: Record<AnomalyResource, Partial<Anomaly>> = {
    cpu: { cpuCores: intensity * machine.cpuCores },
    memory: { memoryBytes: Math.round(intensity * machine.memoryBytes) },
    bandwidth: { cpuCores: 1 },
    network: {
      cpuCores: intensity * LINK_CPU_CORES,
      networkBytesPerSecond: intensity * LINK_BYTES_PER_SECOND,
    },
    disk: { cpuCores: DISK_CPU_CORES },
  };
  return { ...nothing, ...taken[resource] };
}

/** @returns why the machine must not be put under this anomaly, and what to do instead; undefined when it may */
export function whyNot(anomaly: Anomaly, machine: MachineFacts): string | undefined {
  const { cpuCores, memoryBytes } = anomaly;
  const coresLeft = machine.cpuCores - cpuCores;
  if (coresLeft < CORES_LEFT) {
    const most = Math.floor(100 * (1 - CORES_LEFT / machine.cpuCores)) / 100;
    const instead =
      anomaly.resource === "cpu" && most >= MIN_INTENSITY
        ? `use --intensity ${most} or less`
        : "use a machine with more cores";
    return `it would take ${cpuCores.toFixed(2)} of ${machine.cpuCores} cores and leave less than ${CORES_LEFT}; ${instead}`;
  }
  const leftBytes = machine.memoryAvailableBytes - memoryBytes;
  const neededBytes = memoryLeftBytes(machine);
  if (memoryBytes > 0 && leftBytes < neededBytes) {
    const most = Math.floor((100 * (machine.memoryAvailableBytes - neededBytes)) / machine.memoryBytes) / 100;
    const instead = most >= MIN_INTENSITY ? `use --intensity ${most} or less` : "free some memory first";
    return (
      `it would take ${formatBytes(memoryBytes)} of the ${formatBytes(machine.memoryAvailableBytes)} that are available, ` +
      `and ${formatBytes(neededBytes)} must stay free; ${instead}`
    );
  }
  return undefined;
}

/** Highest intensities that a machine can bear, to a tenth; 0 where it bears none. */
export function bearable(machine: MachineFacts): Readonly<Record<AnomalyResource, number>> {
  const most = (resource: AnomalyResource): number =>
    [0.8, 0.7, 0.6, 0.5, 0.4, 0.3].find(
      (intensity) => whyNot(anomalyOf(resource, intensity, machine), machine) === undefined,
    ) ?? 0;
  return {
    cpu: most("cpu"),
    memory: most("memory"),
    bandwidth: most("bandwidth"),
    network: most("network"),
    disk: most("disk"),
  };
}

/**
 * An anomaly that this machine can bear.
 * @param intensity 0.3 to 0.8
 * @throws TradewindError `invalid-intensity` out of range, `anomaly-refused` when it would take the machine down
 */
export function planAnomaly(resource: AnomalyResource, intensity: number, machine: MachineFacts): Anomaly {
  if (!(intensity >= MIN_INTENSITY && intensity <= MAX_INTENSITY)) {
    throw new TradewindError(
      "invalid-intensity",
      `--intensity must be between ${MIN_INTENSITY} and ${MAX_INTENSITY}, not ${intensity}: less is not felt, more takes a machine down`,
    );
  }
  const anomaly = anomalyOf(resource, intensity, machine);
  const refused = whyNot(anomaly, machine);
  if (refused !== undefined) {
    throw new TradewindError("anomaly-refused", `${resource} at ${intensity} is refused: ${refused}`);
  }
  return anomaly;
}
