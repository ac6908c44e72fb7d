import { Rate } from "../read/rate.ts";

/**
 * Rates of one container over its last sampling intervals; undefined before two reads. Use of CPU and throttling stand when they can no
 * longer be read: without them the container's own would count as interference.
 */
export class ContainerRates {
  readonly #cpu = new Rate();
  readonly #cpuWait = new Rate();
  readonly #throttled = new Rate();
  readonly #memoryWait = new Rate();
  cpuCores: number | undefined;
  cpuWaitRatio: number | undefined;
  throttledRatio: number | undefined;
  memoryWaitRatio: number | undefined;

  /** @param throttledSeconds NaN when the cgroup does not say */
  cpu(usageSeconds: number, throttledSeconds: number, seconds: number): void {
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
