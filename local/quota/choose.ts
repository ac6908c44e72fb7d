import { join } from "node:path";
import { describeError } from "@tradewind/core/values/errors.ts";
import {
  admitProcess,
  detectLayout,
  listGroups,
  makeGroup,
  removeGroup,
  writeLimits,
  writeWeight,
} from "./cgroup-tree.ts";
import type { CgroupLayout } from "./cgroup-tree.ts";
import { PREFIX } from "./quota.ts";
import type { Quota } from "./quota.ts";

export interface ChooseOptions {
  /** Where cgroups are mounted, `/sys/fs/cgroup`. */
  readonly cgroupRoot: string;
  /** Process that owns the groups; part of their name. */
  readonly pid: number;
  /** `auto` takes cgroups when they are there and permitted. */
  readonly wanted: "auto" | "cgroup" | "emulated";
}

/** Replicas that are typically busy at once. */
const WEIGHT_PROCESSES = 8;

function cgroupQuota(layout: CgroupLayout, pid: number): Quota {
  const base = `/${PREFIX}${pid}`;
  return {
    kind: layout.kind,
    description: `CFS quota, ${layout.kind.replace("-", " ")}`,
    cgroupPath: base,
    async open(podUid, containerId) {
      const pod = join(base, `pod${podUid}`);
      const path = join(pod, containerId);
      await makeGroup(layout, pod);
      await makeGroup(layout, path);
      return {
        admit: async (process) => admitProcess(layout, path, process),
        limit: async (cpuCores, memoryBytes) => writeLimits(layout, path, cpuCores, memoryBytes),
        remove: async () => removeGroup(layout, pod),
      };
    },
    close: async () => removeGroup(layout, base),
  };
}

function tokenBucketQuota(why: string): Quota {
  const nothing = async (): Promise<void> => undefined;
  return {
    kind: "token-bucket",
    description: `emulated quota, a token bucket with CFS's 100 ms period (${why})`,
    open: async () => ({ admit: nothing, limit: nothing, remove: nothing }),
    close: nothing,
  };
}

/** Makes the group of all replicas and writes a limit below it, to learn whether the machine lets us. */
async function tryCgroups(layout: CgroupLayout, pid: number): Promise<Quota> {
  const quota = cgroupQuota(layout, pid);
  await makeGroup(layout, `/${PREFIX}${pid}`);
  try {
    await writeWeight(layout, `/${PREFIX}${pid}`, WEIGHT_PROCESSES);
    const probe = await quota.open("probe", "probe");
    await probe.limit(0.5, 2 ** 28);
    await probe.remove();
    return quota;
  } catch (error) {
    await quota.close();
    throw error;
  }
}

/**
 * Takes the kernel's quota when the machine permits it, else the emulated one.
 * @throws when cgroups were asked for by name and cannot be had
 */
export async function chooseQuota({ cgroupRoot, pid, wanted }: ChooseOptions): Promise<Quota> {
  if (wanted === "emulated") return tokenBucketQuota("asked for");
  const layout = await detectLayout(cgroupRoot).catch(() => undefined);
  if (layout === undefined) {
    if (wanted === "cgroup") throw new Error(`no cgroup CPU controller under ${cgroupRoot}`);
    return tokenBucketQuota("no cgroup CPU controller");
  }
  try {
    return await tryCgroups(layout, pid);
  } catch (error) {
    if (wanted === "cgroup") throw new Error("cgroups cannot be written here", { cause: error });
    return tokenBucketQuota(`cgroups not permitted: ${describeError(error)}`);
  }
}

/**
 * Removes the groups of platforms that are no more, with whatever still runs inside.
 * @returns names of the removed groups
 */
export async function sweepGroups(
  cgroupRoot: string,
  isAlive: (pid: number) => boolean,
): Promise<readonly string[]> {
  const layout = await detectLayout(cgroupRoot).catch(() => undefined);
  if (layout === undefined) return [];
  const removed: string[] = [];
  for (const name of await listGroups(layout, PREFIX)) {
    const pid = Number(name.slice(PREFIX.length));
    if (!Number.isInteger(pid) || pid <= 0 || isAlive(pid)) continue;
    try {
      await removeGroup(layout, name);
      removed.push(name);
    } catch {
      // Not ours to remove, or still busy: the next start tries again.
    }
  }
  return removed;
}
