import type { Inventory } from "@tradewind/core/contract/snapshot.ts";

const MEGABIT_BYTES = 1e6 / 8;
const MOST = 256;
const LONGEST = { cpuModel: 200, cpuVendor: 100, cpuFamily: 100, name: 64 } as const;

type Disk = NonNullable<Inventory["disks"]>[number];
type Json = Readonly<Record<string, unknown>>;

function object(value: unknown): Json {
  return typeof value === "object" && value !== null ? (value as Json) : {};
}

/** Hardened images make the library say "", 0, "unknown" or "Not defined" for what it could not find out. */
function text(value: unknown, longest: number): string | undefined {
  if (typeof value !== "string") return undefined;
  const trimmed = value.trim();
  return trimmed === "" || /^(?:unknown|not defined|not specified|default string)$/i.test(trimmed)
    ? undefined
    : trimmed.slice(0, longest);
}

function positive(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined;
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value.slice(0, MOST) : [];
}

/** What `systeminformation` found, as the agent keeps it: absent where it found nothing. */
export interface FoundHardware {
  readonly cpu: unknown;
  readonly networkInterfaces: unknown;
}

/** A block device as sysfs shows it. */
export interface BlockDevice {
  readonly name: string;
  /** Content of `queue/rotational`; undefined when it cannot be read. */
  readonly rotational: string | undefined;
}

const VIRTUAL_DISK = /^(?:loop|ram|zram|fd|sr|dm-|md|nbd)/;

function diskKind({ name, rotational }: BlockDevice): Disk["kind"] {
  if (name.startsWith("nvme")) return "nvme";
  if (rotational?.trim() === "0") return "ssd";
  // Paravirtual disks are called rotating unless somebody told the hypervisor better.
  return rotational?.trim() === "1" && !/^x?vd/.test(name) ? "hdd" : "unknown";
}

/** Whole disks and their class. */
export function disksOf(devices: readonly BlockDevice[]): Disk[] {
  return devices
    .filter(({ name }) => !VIRTUAL_DISK.test(name) && name.length <= LONGEST.name)
    .slice(0, MOST)
    .map((device) => ({ name: device.name, kind: diskKind(device) }));
}

/** A clock of cpufreq, which states kilohertz: `2400000` is 2.4e9 Hz. */
export function hertzOf(content: string | undefined): number | undefined {
  const kilohertz = /^\d{1,9}$/.exec(content?.trim() ?? "")?.[0];
  return positive(1e3 * Number(kilohertz ?? 0));
}

const CACHE_UNITS: Readonly<Record<string, number>> = { "": 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

/** The largest of the caches whose sizes sysfs states, as `32768K`. */
export function cacheBytesOf(sizes: readonly (string | undefined)[]): number | undefined {
  const bytes = sizes.map((size) => {
    const [, digits, unit = ""] = /^(\d{1,9})([KMG]?)$/.exec(size?.trim() ?? "") ?? [];
    return Number(digits ?? 0) * (CACHE_UNITS[unit] ?? 0);
  });
  return positive(Math.max(0, ...bytes));
}

/** CPU and network part of the inventory, from what the library answered. */
export function hardwareOf({ cpu, networkInterfaces }: FoundHardware): Inventory {
  const found = object(cpu);
  const maker = text(found["manufacturer"], 100);
  const brand = text(found["brand"], 100);
  const cpuModel = [maker, brand].filter((part) => part !== undefined).join(" ");
  const family = text(found["family"], 40);
  const model = text(found["model"], 40);
  const cpuVendor = text(found["vendor"], LONGEST.cpuVendor);
  const cpuCores = positive(found["cores"]);
  const interfaces = list(networkInterfaces).flatMap((each) => {
    const name = text(object(each)["iface"], LONGEST.name);
    if (name === undefined || object(each)["internal"] === true) return [];
    const bytesPerSecond = positive((positive(object(each)["speed"]) ?? 0) * MEGABIT_BYTES);
    return [{ name, ...(bytesPerSecond === undefined ? {} : { bytesPerSecond }) }];
  });
  return {
    ...(cpuModel === "" ? {} : { cpuModel: cpuModel.slice(0, LONGEST.cpuModel) }),
    ...(cpuVendor === undefined ? {} : { cpuVendor }),
    ...(family === undefined ? {} : { cpuFamily: model === undefined ? family : `${family}/${model}` }),
    ...(cpuCores === undefined ? {} : { cpuCores }),
    ...(interfaces.length === 0 ? {} : { networkInterfaces: interfaces }),
  };
}
