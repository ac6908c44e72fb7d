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
 * CPU of a container in a sandbox (gVisor, Kata), whose own cgroup counts nothing or little: its pod's, when it is the
 * pod's only container. Parts of several containers are not known; the pod shows the whole. Counters go on from the values
 * that the container showed before.
 */
export class SandboxCpu implements Probe {
  readonly name = "cpu";
  readonly schedule = CPU_SCHEDULE;
  readonly fills = CPU_FILLS;
  readonly #pod: SandboxedPod;
  readonly #target: ProbeTarget;
  readonly #isOnly: boolean;
  readonly #shown: Float64Array | undefined;
  readonly #offsets = new Map<ContainerColumn, number>();

  /**
   * @param isOnly whether the pod has no other container
   * @param shown its values before it was known to be in a sandbox, by {@link COLUMN}
   */
  constructor(pod: SandboxedPod, target: ProbeTarget, isOnly: boolean, shown: Float64Array | undefined) {
    this.#pod = pod;
    this.#target = target;
    this.#isOnly = isOnly;
    this.#shown = shown;
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
    const shown = this.#shown?.[index] ?? Number.NaN;
    const offset = this.#offsets.get(column) ?? (Number.isNaN(shown) ? 0 : shown - value);
    if (!Number.isNaN(value)) this.#offsets.set(column, offset);
    // A sum that is rounded down must not look like a counter that went back.
    put(this.#target, column, Number.isNaN(shown) ? value : Math.max(shown, value + offset));
  }
}
