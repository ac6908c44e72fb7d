import { parseCfsQuota, parseCpuMax, parseLimitBytes } from "../../parse/cgroup-files.ts";
import { AbsentSource } from "../../read/file-error.ts";
import { OptionalFile } from "../../read/optional-file.ts";
import type { ContainerColumn } from "../columns.ts";
import type { SampleTime } from "../../sampling/sample-time.ts";
import { put } from "./probe.ts";
import type { SignalOptions } from "../../sampling/signal.ts";
import type { CgroupPlace, Probe, ProbeTarget } from "./probe.ts";

/** Limits are settings: they move rarely, but a resize must show soon. */
const SCHEDULE: SignalOptions = { kind: "gauge", tolerance: 0.01, minSeconds: 5, maxSeconds: 30 };

const FILLS: readonly ContainerColumn[] = ["cpuLimitCores", "memoryLimitBytes"];
const NO_LIMITS = { cpuCores: Number.NaN, memoryBytes: Number.NaN };

/** CPU quota and memory limit, the tighter of the container's and its pod's: v2 `cpu.max` and `memory.max`, v1 `cpu.cfs_*` and `memory.limit_in_bytes`. */
export class LimitsProbe implements Probe {
  readonly name = "limits";
  readonly schedule = SCHEDULE;
  readonly fills = FILLS;
  /** v2: quota and period in one file. */
  readonly #cpuMax: OptionalFile | undefined;
  readonly #quota: OptionalFile | undefined;
  readonly #period: OptionalFile | undefined;
  readonly #memory: OptionalFile | undefined;
  readonly #target: ProbeTarget;

  constructor({ reader, hierarchies, path }: CgroupPlace, target: ProbeTarget) {
    const { mode, unified, cpu, memory } = hierarchies;
    const isV2 = mode === "v2";
    const open = (tree: string | undefined, name: string): OptionalFile | undefined =>
      tree === undefined ? undefined : new OptionalFile(reader.file(`${tree}${path}`, name));
    this.#cpuMax = isV2 ? open(unified, "cpu.max") : undefined;
    this.#quota = isV2 ? undefined : open(cpu, "cpu.cfs_quota_us");
    this.#period = isV2 ? undefined : open(cpu, "cpu.cfs_period_us");
    this.#memory = isV2 ? open(unified, "memory.max") : open(memory, "memory.limit_in_bytes");
    this.#target = target;
  }

  read(time: SampleTime): number {
    const cpuMax = this.#cpuMax?.text();
    const quota = this.#quota?.text();
    const period = this.#period?.text();
    const memory = this.#memory?.text();
    const pod = this.#target.pod?.limits(time) ?? NO_LIMITS;
    const isOwnThere = cpuMax !== undefined || quota !== undefined || memory !== undefined;
    const ofPod = [pod.cpuCores, pod.memoryBytes].some((limit) => limit > 0);
    if (!isOwnThere && !ofPod) throw new AbsentSource("limits");
    let cores: number | undefined;
    if (cpuMax !== undefined) cores = parseCpuMax(cpuMax);
    else if (quota !== undefined && period !== undefined) cores = parseCfsQuota(quota, period);
    cores = tighter(cores, pod.cpuCores);
    put(this.#target, "cpuLimitCores", cores);
    const memoryBytes = memory === undefined ? undefined : parseLimitBytes(memory);
    put(this.#target, "memoryLimitBytes", tighter(memoryBytes, pod.memoryBytes));
    return cores ?? 0;
  }

  close(): void {
    for (const file of [this.#cpuMax, this.#quota, this.#period, this.#memory]) file?.close();
  }
}

/** @param ofPod NaN without a limit */
function tighter(own: number | undefined, ofPod: number): number | undefined {
  if (!(ofPod > 0)) return own;
  return own === undefined ? ofPod : Math.min(own, ofPod);
}
