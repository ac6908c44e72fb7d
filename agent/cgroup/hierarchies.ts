import { existsSync } from "node:fs";
import { TradewindError } from "@tradewind/core/values/errors.ts";

/**
 * Where the kernel shows cgroups. `v2`: one tree with all controllers. `v1`: one tree a controller. `hybrid`: v1 trees
 * for the controllers and a v2 tree beside them, which has usage and pressure but no controller.
 */
export interface Hierarchies {
  readonly mode: "v1" | "v2" | "hybrid";
  /** The v2 tree. */
  readonly unified: string | undefined;
  readonly cpu: string | undefined;
  readonly cpuacct: string | undefined;
  readonly memory: string | undefined;
  readonly blkio: string | undefined;
}

const V1_FOLDERS = {
  cpu: ["cpu", "cpu,cpuacct", "cpuacct,cpu"],
  cpuacct: ["cpuacct", "cpu,cpuacct", "cpuacct,cpu"],
  memory: ["memory"],
  blkio: ["blkio"],
} as const;

/** @throws TradewindError `no-cgroups` when there is no cgroup file system under `cgroupfs` */
export function detectHierarchies(cgroupfs: string): Hierarchies {
  if (existsSync(`${cgroupfs}/cgroup.controllers`)) {
    return {
      mode: "v2",
      unified: cgroupfs,
      cpu: undefined,
      cpuacct: undefined,
      memory: undefined,
      blkio: undefined,
    };
  }
  const find = (names: readonly string[]): string | undefined =>
    names.map((name) => `${cgroupfs}/${name}`).find((path) => existsSync(path));
  const unified = existsSync(`${cgroupfs}/unified/cgroup.procs`) ? `${cgroupfs}/unified` : undefined;
  const found = {
    unified,
    cpu: find(V1_FOLDERS.cpu),
    cpuacct: find(V1_FOLDERS.cpuacct),
    memory: find(V1_FOLDERS.memory),
    blkio: find(V1_FOLDERS.blkio),
  };
  if (found.cpu === undefined && found.memory === undefined && found.cpuacct === undefined) {
    if (unified === undefined) {
      throw new TradewindError(
        "no-cgroups",
        `no cgroup hierarchy under ${cgroupfs}; mount the node's and name it with --path.cgroupfs`,
      );
    }
    return { ...found, mode: "v2" };
  }
  return { ...found, mode: unified === undefined ? "v1" : "hybrid" };
}

/** The trees to look for containers in, the one that is watched first. */
export function searchTrees({ unified, cpu, cpuacct, memory, mode }: Hierarchies): string[] {
  const trees = mode === "v2" ? [unified] : [cpu, cpuacct, memory, unified];
  return [...new Set(trees.filter((tree) => tree !== undefined))];
}
