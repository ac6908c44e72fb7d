import { basename, dirname } from "node:path";
import type { ContainerUse } from "./cgroup-text.ts";
import { v1Files, v2Files } from "./cgroup-text.ts";
import { GIB, nodeFiles, QUIET_NODE } from "./node.ts";
import type { Files } from "./plant.ts";

/** What runs in a cgroup and below it, steady, and what it may do. */
export interface Steady {
  /** 0 with no memory: nothing ever ran in it. */
  readonly cores: number;
  readonly gibibytes?: number;
  readonly cacheGibibytes?: number;
  readonly limitCores?: number;
  readonly limitGibibytes?: number;
  /** Of ten periods a second. */
  readonly throttledPeriods?: number;
}

/** A container as it truly is; an absent value cannot be known on the node. */
export interface Truth {
  readonly cores?: number;
  readonly gibibytes?: number;
  readonly limitCores?: number;
  readonly limitGibibytes?: number;
  readonly throttledPeriods?: number;
  /** Use of others on the node, cores: what is neither the container's nor, in a sandbox, its pod's. */
  readonly othersCores: number;
}

/** A process in a cgroup, with its program. */
export interface Inhabitant {
  readonly cgroup: string;
  readonly comm: string;
  readonly words?: readonly string[];
}

/** A node with its pods, as files at any time. */
export interface ZooLayout {
  readonly name: string;
  readonly mode?: "hybrid" | "v1" | "v2";
  /** By path. A cgroup has what is below it, as the kernel counts; with nothing stated it is the sum. */
  readonly cgroups: Readonly<Record<string, Steady>>;
  /** What runs outside all pods; cores. */
  readonly othersCores?: number;
  readonly inhabitants?: readonly Inhabitant[];
  /** Files that this node has not. */
  readonly without?: RegExp;
  readonly cgroupRoots?: string[];
  /** Ids of the containers of the first pod as Kubernetes names them. */
  readonly named?: readonly string[];
  /** By container id: all that an agent may show. */
  readonly truth: Readonly<Record<string, Truth>>;
}

export const ZOO_CPUS = 8;
/** How long everything had been running at the first look. */
export const BEFORE_SECONDS = 20;

/** All files of a layout `seconds` after the first look. */
export function zooFiles(layout: ZooLayout, seconds: number): Files {
  const { cgroups, inhabitants = [], mode = "v2", othersCores = 0 } = layout;
  const files: Record<string, string> = {};
  if (mode === "v2") files["cgroup/cgroup.controllers"] = "cpuset cpu io memory pids\n";
  if (mode === "hybrid") files["cgroup/unified/cgroup.procs"] = "";
  for (const [path, steady] of Object.entries(withPods(cgroups))) {
    const use = useAt(steady, seconds);
    Object.assign(
      files,
      mode === "v2" ? v2Files(`cgroup${path}`, use) : v1Files("cgroup", path, use, mode === "hybrid"),
    );
  }
  for (const [index, { cgroup, comm, words = [] }] of inhabitants.entries()) {
    const folder = `proc/${4711 + index}`;
    files[`${folder}/comm`] = `${comm}\n`;
    files[`${folder}/cgroup`] = `0::${cgroup}\n`;
    files[`${folder}/cmdline`] = words.map((word) => `${word}\0`).join("");
    files[`cgroup${cgroup}/cgroup.procs`] = "0\n";
  }
  const busyCores = busyOf(cgroups) + othersCores;
  const node = nodeFiles({
    ...QUIET_NODE,
    cpus: ZOO_CPUS,
    busySeconds: 400 + busyCores * seconds,
    idleSeconds: 4000 + (ZOO_CPUS - busyCores) * seconds,
  });
  const all = Object.entries({ ...node, ...files });
  return Object.fromEntries(all.filter(([path]) => layout.without?.test(path) !== true));
}

/** What all that is stated uses together; cores. */
export function busyOf(cgroups: ZooLayout["cgroups"]): number {
  const paths = Object.keys(cgroups);
  const tops = paths.filter((path) => !paths.some((other) => path.startsWith(`${other}/`)));
  return tops.reduce((sum, path) => sum + (cgroups[path]?.cores ?? 0), 0);
}

function useAt(steady: Steady, seconds: number): ContainerUse {
  const { cores, gibibytes = 0, cacheGibibytes = 0, limitCores, limitGibibytes } = steady;
  const lived = BEFORE_SECONDS + seconds;
  return {
    cpuSeconds: cores * lived,
    memoryBytes: Math.round((gibibytes + cacheGibibytes) * GIB),
    inactiveFileBytes: Math.round(cacheGibibytes * GIB),
    ...(limitCores !== undefined && { cpuLimitCores: limitCores, periods: 10 * lived }),
    ...(limitGibibytes !== undefined && { memoryLimitBytes: limitGibibytes * GIB }),
    throttledPeriods: (steady.throttledPeriods ?? 0) * lived,
    throttledSeconds: (steady.throttledPeriods ?? 0) * lived * 0.05,
  };
}

/** With the pods that are not stated: each is the sum of what is directly below it. */
function withPods(cgroups: ZooLayout["cgroups"]): Record<string, Steady> {
  const all: Record<string, Steady> = { ...cgroups };
  for (const path of Object.keys(cgroups)) {
    const pod = dirname(path);
    if (!/pod\d/.test(basename(pod)) || pod in cgroups) continue;
    const { cores, gibibytes = 0, cacheGibibytes = 0 } = cgroups[path]!;
    const sum = all[pod] ?? { cores: 0 };
    all[pod] = {
      cores: sum.cores + cores,
      gibibytes: (sum.gibibytes ?? 0) + gibibytes,
      cacheGibibytes: (sum.cacheGibibytes ?? 0) + cacheGibibytes,
    };
  }
  return all;
}
