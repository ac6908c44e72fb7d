import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import type { Inventory } from "@tradewind/core/contract/snapshot.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { cacheBytesOf, disksOf, hardwareOf, hertzOf } from "../parse/inventory.ts";
import type { BlockDevice } from "../parse/inventory.ts";

const TIMEOUT_MS = 15_000;
const LONGEST_ANSWER_BYTES = 1024 * 1024;

/**
 * Looks at the hardware once. `systeminformation` starts shells and stops the event loop for up to 60 ms, so it runs in a
 * process of its own that ends at once; the agent never loads it. Disks come from sysfs, which honours its root.
 * @throws TradewindError `no-inventory` when that process failed
 */
export async function readInventory(sysfs: string): Promise<Inventory> {
  const answer = await new Promise<string>((resolve, reject) => {
    const options = { timeout: TIMEOUT_MS, maxBuffer: LONGEST_ANSWER_BYTES, killSignal: "SIGKILL" } as const;
    execFile(process.execPath, [import.meta.filename, ASKED], options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(new TradewindError("no-inventory", "cannot look at the hardware", { cause: error }));
    });
  });
  const found = JSON.parse(answer) as { cpu: unknown; networkInterfaces: unknown };
  const disks = disksOf(blockDevices(sysfs));
  return { ...hardwareOf(found), ...processorOf(sysfs), ...(disks.length === 0 ? {} : { disks }) };
}

/** Clock, cache and NUMA nodes as sysfs has them, each absent where it has none. */
function processorOf(
  sysfs: string,
): Pick<Inventory, "cacheBytes" | "cpuBaseHertz" | "cpuMaxHertz" | "numaNodes"> {
  const cpu = `${sysfs}/devices/system/cpu/cpu0`;
  const cpuBaseHertz = hertzOf(textOf(`${cpu}/cpufreq/base_frequency`));
  const cpuMaxHertz = hertzOf(textOf(`${cpu}/cpufreq/cpuinfo_max_freq`));
  const caches = namesIn(`${cpu}/cache`).filter((name) => name.startsWith("index"));
  const cacheBytes = cacheBytesOf(caches.map((name) => textOf(`${cpu}/cache/${name}/size`)));
  const numaNodes = namesIn(`${sysfs}/devices/system/node`).filter((name) => /^node\d+$/.test(name)).length;
  return {
    ...(cpuBaseHertz !== undefined && { cpuBaseHertz }),
    ...(cpuMaxHertz !== undefined && { cpuMaxHertz }),
    ...(cacheBytes !== undefined && { cacheBytes }),
    ...(numaNodes > 0 && { numaNodes }),
  };
}

const blockDevices = (sysfs: string): BlockDevice[] =>
  namesIn(`${sysfs}/block`).map((name) => ({
    name,
    rotational: textOf(`${sysfs}/block/${name}/queue/rotational`),
  }));

/** None where the directory cannot be read. */
function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** Undefined where the file cannot be read. */
function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return undefined;
  }
}

/** Tells the process that was started to look from one that only loads this file. */
const ASKED = "look-at-hardware";

if (process.argv[1] === import.meta.filename && process.argv[2] === ASKED) {
  const { cpu, networkInterfaces } = await import("systeminformation");
  const found = { cpu: await cpu(), networkInterfaces: await networkInterfaces() };
  process.stdout.write(JSON.stringify(found));
}
