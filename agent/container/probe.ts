import type { SampleTime } from "../collectors/collector.ts";
import { Rate } from "../rate.ts";
import type { SignalOptions } from "../sampling/signal.ts";

/** How a probe is scheduled: its signal, apart from its place in the tree. */
export type ProbeSchedule = Omit<SignalOptions, "parent">;

/** A few files of one container that are read together and judged by one value. */
export interface Probe {
  /** Which kind it is; the container's and its pod's probe of the same kind are child and parent. */
  readonly name: ProbeName;
  readonly schedule: ProbeSchedule;
  /**
   * Reads the files into the container's values.
   * @returns the value the sampling controller judges: a cumulative total or a level
   * @throws AbsentSource, a system error or `malformed-file`
   */
  read(time: SampleTime): number;
  close(): void;
}

export type ProbeName =
  | "cpu"
  | "cpuPressure"
  | "memory"
  | "memoryPressure"
  | "io"
  | "ioPressure"
  | "limits"
  | "network"
  | "process";

/** Rates of one container over its last sampling intervals. */
export class ContainerRates {
  readonly #cpu = new Rate();
  readonly #cpuWait = new Rate();
  readonly #throttled = new Rate();
  readonly #memoryWait = new Rate();
  readonly #received = new Rate();
  readonly #sent = new Rate();
  cpuCores: number | undefined;
  cpuWaitRatio: number | undefined;
  throttledRatio: number | undefined;
  memoryWaitRatio: number | undefined;
  receivedBytesPerSecond: number | undefined;
  sentBytesPerSecond: number | undefined;

  cpu(usageSeconds: number, throttledSeconds: number | undefined, seconds: number): void {
    this.cpuCores = this.#cpu.next(usageSeconds, seconds) ?? this.cpuCores;
    this.throttledRatio = this.#throttled.next(throttledSeconds, seconds) ?? this.throttledRatio;
  }

  cpuPressure(waitingSeconds: number, seconds: number): void {
    this.cpuWaitRatio = this.#cpuWait.next(waitingSeconds, seconds) ?? this.cpuWaitRatio;
  }

  memoryPressure(waitingSeconds: number, seconds: number): void {
    this.memoryWaitRatio = this.#memoryWait.next(waitingSeconds, seconds) ?? this.memoryWaitRatio;
  }

  network(receivedBytes: number, sentBytes: number, seconds: number): void {
    this.receivedBytesPerSecond = this.#received.next(receivedBytes, seconds) ?? this.receivedBytesPerSecond;
    this.sentBytesPerSecond = this.#sent.next(sentBytes, seconds) ?? this.sentBytesPerSecond;
  }
}
