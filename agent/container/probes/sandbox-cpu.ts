import type { SampleTime } from "../../sampling/sample-time.ts";
import { COLUMN } from "../columns.ts";
import type { ContainerColumn } from "../columns.ts";
import { CPU_FILLS, CPU_SCHEDULE } from "./cpu.ts";
import { put } from "./probe.ts";
import type { Probe, ProbeTarget } from "./probe.ts";

/** A pod whose containers run in one sandbox. */
export interface SandboxedPod {
  /** By {@link COLUMN}. */
  readonly values: Float64Array;
  /** Reads its CPU counters, unless that was done just now. */
  readCpu(time: SampleTime): void;
  /** Shows its use as the pod's. */
  showUse(): void;
}

const THROTTLING = ["cpuPeriods", "cpuThrottledPeriods", "cpuThrottledSeconds"] as const;
const USE = ["cpuUsageSeconds", "cpuUserSeconds", "cpuSystemSeconds"] as const;

/**
 * CPU of a container in a sandbox (gVisor, Kata), whose own cgroup counts nothing or little: that of its pod where it is
 * the pod's only container. Of several, their parts are not known, and the pod shows the whole. Counters go on from what
 * was told of the container before.
 */
export class SandboxCpu implements Probe {
  readonly name = "cpu";
  readonly schedule = CPU_SCHEDULE;
  readonly fills = CPU_FILLS;
  readonly #pod: SandboxedPod;
  readonly #target: ProbeTarget;
  readonly #isOnly: boolean;
  readonly #told: Float64Array | undefined;
  readonly #offsets = new Map<ContainerColumn, number>();

  /**
   * @param isOnly whether the pod has no other container
   * @param told what was told of it before it was known to be in a sandbox, by {@link COLUMN}
   */
  constructor(pod: SandboxedPod, target: ProbeTarget, isOnly: boolean, told: Float64Array | undefined) {
    this.#pod = pod;
    this.#target = target;
    this.#isOnly = isOnly;
    this.#told = told;
  }

  read(time: SampleTime): number {
    this.#pod.readCpu(time);
    for (const column of THROTTLING) this.#pass(column);
    if (this.#isOnly) for (const column of USE) this.#pass(column);
    else this.#pod.showUse();
    return this.#pod.values[COLUMN.cpuUsageSeconds] || 0;
  }

  close(): void {
    // It holds nothing open.
  }

  #pass(column: ContainerColumn): void {
    const index = COLUMN[column];
    const value = this.#pod.values[index] ?? Number.NaN;
    const told = this.#told?.[index] ?? Number.NaN;
    const offset = this.#offsets.get(column) ?? (Number.isNaN(told) ? 0 : told - value);
    if (!Number.isNaN(value)) this.#offsets.set(column, offset);
    // A sum that is rounded down must not look like a counter that went back.
    put(this.#target, column, Number.isNaN(told) ? value : Math.max(told, value + offset));
  }
}
