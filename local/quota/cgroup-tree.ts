import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, realpath, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/** The cgroup directories that one container needs one of each in, and how its limits are written. */
export interface CgroupLayout {
  readonly kind: "cgroup-v1" | "cgroup-v2";
  /** Mount points; in version 2 one, in version 1 one for each controller, and `unified` on hybrid machines. */
  readonly mounts: readonly string[];
  /** Directory names that carry the CPU and the memory controller. */
  readonly cpuMount: string;
  readonly memoryMount: string;
}

const PERIOD_MICROS = 100_000;
const REMOVE_ATTEMPTS = 50;
const REMOVE_WAIT_MILLIS = 20;

/** Reads which cgroup version the machine has. @returns undefined when it has no CPU controller to use */
export async function detectLayout(root: string): Promise<CgroupLayout | undefined> {
  if (existsSync(join(root, "cgroup.controllers"))) {
    return { kind: "cgroup-v2", mounts: [root], cpuMount: root, memoryMount: root };
  }
  const cpuMount = join(root, "cpu");
  const memoryMount = join(root, "memory");
  if (!existsSync(cpuMount) || !existsSync(memoryMount)) return undefined;
  const names = ["cpu", "cpuacct", "memory", "unified"].map((name) => join(root, name)).filter(existsSync);
  // `cpu` and `cpuacct` are often two links to one mount.
  const mounts = new Map<string, string>();
  for (const name of names) {
    const real = await realpath(name);
    if (!mounts.has(real)) mounts.set(real, name);
  }
  return { kind: "cgroup-v1", mounts: [...mounts.values()], cpuMount, memoryMount };
}

/** Makes a directory at `path` below every mount; in version 2 with the controllers handed down to it. */
export async function makeGroup(layout: CgroupLayout, path: string): Promise<void> {
  for (const mount of layout.mounts) {
    const group = join(mount, path);
    if (layout.kind === "cgroup-v2")
      await writeFile(join(dirname(group), "cgroup.subtree_control"), "+cpu +memory");
    await mkdir(group, { recursive: true });
  }
}

/**
 * Weighs the group like this many ordinary processes when the CPU is contended. All replicas together would otherwise
 * count as one beside every single process of the machine.
 */
export async function writeWeight(layout: CgroupLayout, path: string, processes: number): Promise<void> {
  const group = join(layout.cpuMount, path);
  if (layout.kind === "cgroup-v2") await writeFile(join(group, "cpu.weight"), String(100 * processes));
  else await writeFile(join(group, "cpu.shares"), String(1_024 * processes));
}

/** Moves a process, with all its threads, into the group. */
export async function admitProcess(layout: CgroupLayout, path: string, pid: number): Promise<void> {
  for (const mount of layout.mounts) await writeFile(join(mount, path, "cgroup.procs"), String(pid));
}

/** Writes the limits, memory first, which the kernel may refuse: then nothing has changed. Documentation/scheduler/sched-bwc.rst and cgroup-v1/memory.rst, or cgroup-v2.rst. */
export async function writeLimits(
  layout: CgroupLayout,
  path: string,
  cpuCores: number,
  memoryBytes: number,
): Promise<void> {
  const quotaMicros = Math.max(1_000, Math.round(cpuCores * PERIOD_MICROS));
  const cpu = join(layout.cpuMount, path);
  const memory = join(layout.memoryMount, path);
  if (layout.kind === "cgroup-v2") {
    await writeFile(join(memory, "memory.max"), String(memoryBytes));
    await writeFile(join(cpu, "cpu.max"), `${quotaMicros} ${PERIOD_MICROS}`);
    return;
  }
  await writeFile(join(memory, "memory.limit_in_bytes"), String(memoryBytes));
  await writeFile(join(cpu, "cpu.cfs_period_us"), String(PERIOD_MICROS));
  await writeFile(join(cpu, "cpu.cfs_quota_us"), String(quotaMicros));
}

async function killInside(group: string): Promise<void> {
  const text = await readFile(join(group, "cgroup.procs"), "utf8").catch(() => "");
  for (const pid of text.split("\n").map(Number)) {
    if (pid <= 0 || pid === process.pid) continue;
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // Gone since the list was read.
    }
  }
}

/** Removes one group with all groups below it, killing what runs inside. */
async function removeOne(group: string): Promise<void> {
  if (!existsSync(group)) return;
  for (const entry of await readdir(group, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeOne(join(group, entry.name));
  }
  for (let attempt = 1; ; attempt += 1) {
    await killInside(group);
    try {
      await rmdir(group);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
      // A killed process stays inside until it is reaped.
      if (attempt === REMOVE_ATTEMPTS) throw error;
      await delay(REMOVE_WAIT_MILLIS);
    }
  }
}

/** Removes the group at `path` below every mount. */
export async function removeGroup(layout: CgroupLayout, path: string): Promise<void> {
  for (const mount of layout.mounts) await removeOne(join(mount, path));
}

/** Names of groups right below any mount that start with `prefix`, without repeats. */
export async function listGroups(layout: CgroupLayout, prefix: string): Promise<readonly string[]> {
  const names = new Set<string>();
  for (const mount of layout.mounts) {
    for (const name of await readdir(mount)) if (name.startsWith(prefix)) names.add(name);
  }
  return [...names].sort();
}
