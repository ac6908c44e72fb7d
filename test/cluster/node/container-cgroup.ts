import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = "/sys/fs/cgroup";

/** What the kernel keeps a container to. */
export interface CgroupLimits {
  readonly cpuCores: number;
  readonly memoryBytes: number;
}

/** Limits of a running container of a Burstable pod. @param uid of the pod @param id `containerd://…` */
export function cgroupLimits(uid: string, id: string): CgroupLimits {
  const path = join("kubepods", "burstable", `pod${uid}`, id.replace(/^.*:\/\//, ""));
  if (!existsSync(join(ROOT, "cpu"))) {
    const [quota, period] = read(path, "cpu.max").split(" ").map(Number);
    return { cpuCores: (quota ?? 0) / (period ?? 1), memoryBytes: Number(read(path, "memory.max")) };
  }
  const cpu = join("cpu", path);
  return {
    cpuCores: Number(read(cpu, "cpu.cfs_quota_us")) / Number(read(cpu, "cpu.cfs_period_us")),
    memoryBytes: Number(read(join("memory", path), "memory.limit_in_bytes")),
  };
}

const read = (path: string, file: string): string => readFileSync(join(ROOT, path, file), "utf8").trim();
