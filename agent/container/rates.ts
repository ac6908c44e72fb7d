import { Rate } from "../read/rate.ts";

/** A rise of the CPU time used between two reads; monotonic seconds, NaN before there were two. */
export interface CpuRise {
  readonly sinceSeconds: number;
  readonly atSeconds: number;
  readonly usedSeconds: number;
  /** Used up to `atSeconds`. */
  readonly totalSeconds: number;
}

const NOT_READ: CpuRise = {
  sinceSeconds: Number.NaN,
  atSeconds: Number.NEGATIVE_INFINITY,
  usedSeconds: Number.NaN,
  totalSeconds: Number.NaN,
};

/**
 * Rates of one container over its last sampling intervals; undefined before two reads. Use of CPU and throttling stand when they can no
 * longer be read: without them the container's own would count as interference.
 */
export class ContainerRates {
  readonly #cpu = new Rate();
  readonly #cpuWait = new Rate();
  readonly #throttled = new Rate();
  readonly #memoryWait = new Rate();
  /** The last read of the CPU time used. */
  cpuRead = NOT_READ;
  cpuCores: number | undefined;
  cpuWaitRatio: number | undefined;
  throttledRatio: number | undefined;
  memoryWaitRatio: number | undefined;

  /** @param throttledSeconds NaN when the cgroup does not say */
  cpu(usageSeconds: number, throttledSeconds: number, seconds: number): void {
    const { atSeconds, totalSeconds } = this.cpuRead;
    this.cpuRead = {
      sinceSeconds: Number.isFinite(atSeconds) ? atSeconds : Number.NaN,
      atSeconds: seconds,
      usedSeconds: usageSeconds - totalSeconds,
      totalSeconds: usageSeconds,
    };
    this.cpuCores = this.#cpu.next(usageSeconds, seconds) ?? this.cpuCores;
    const throttled = Number.isNaN(throttledSeconds) ? undefined : throttledSeconds;
    this.throttledRatio = this.#throttled.next(throttled, seconds) ?? this.throttledRatio;
  }

  cpuPressure(waitingSeconds: number, seconds: number): void {
    this.cpuWaitRatio = this.#cpuWait.next(waitingSeconds, seconds) ?? this.cpuWaitRatio;
  }

  memoryPressure(waitingSeconds: number, seconds: number): void {
    this.memoryWaitRatio = this.#memoryWait.next(waitingSeconds, seconds) ?? this.memoryWaitRatio;
  }

  forgetCpuPressure(): void {
    this.#cpuWait.reset();
    this.cpuWaitRatio = undefined;
  }

  forgetMemoryPressure(): void {
    this.#memoryWait.reset();
    this.memoryWaitRatio = undefined;
  }
}
