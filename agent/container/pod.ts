import type { Table } from "../expose/table.ts";
import { Rate } from "../read/rate.ts";
import type { SampleTime } from "../sampling/sample-time.ts";
import { COLUMN, COLUMN_COUNT } from "./columns.ts";
import type { ContainerColumn } from "./columns.ts";
import type { PodTraffic } from "./probes/network.ts";
import type { EnclosingPod, Probe, ProbeTarget } from "./probes/probe.ts";
import type { ThrottlingCounts } from "./probes/throttling.ts";
import { ContainerRates } from "./rates.ts";

export const POD_COLUMNS = [
  {
    name: "tradewind_pod_network_received_bytes_total",
    help: "Bytes received by the pod's own network namespace.",
    kind: "counter",
  },
  {
    name: "tradewind_pod_network_sent_bytes_total",
    help: "Bytes sent by the pod's own network namespace.",
    kind: "counter",
  },
  {
    name: "tradewind_pod_cpu_usage_seconds_total",
    help: "CPU time used by a pod whose containers share one sandbox; their own use is not known.",
    kind: "counter",
  },
  {
    name: "tradewind_pod_memory_working_set_bytes",
    help: "Working set of a pod whose containers share one sandbox; their own use is not known.",
    kind: "gauge",
  },
] as const;
const [RECEIVED, SENT, CPU, MEMORY] = [0, 1, 2, 3] as const;

/** A read this recent is current. */
const FRESH_SECONDS = 0.5;
/** Time between reads of the limits, which rarely change; below the shortest interval of a container's. */
const LIMITS_SECONDS = 4;

/** A pod: what its own cgroup and its network namespace show of all its containers together. */
export class Pod implements PodTraffic, ProbeTarget, EnclosingPod {
  readonly values = new Float64Array(COLUMN_COUNT).fill(Number.NaN);
  readonly rates = new ContainerRates();
  /** Its CPU counters; undefined where its cgroup has none. */
  cpu: Probe | undefined;
  /** When a container came or went, monotonic. */
  changedSeconds = Number.NEGATIVE_INFINITY;
  readonly #limits: Probe;
  readonly #received = new Rate();
  readonly #sent = new Rate();
  readonly #table: Table;
  readonly #uid: string;
  #limitsSeconds = Number.NEGATIVE_INFINITY;
  receivedBytesPerSecond: number | undefined;
  sentBytesPerSecond: number | undefined;

  /** @param makeLimits opens the limits of its cgroup */
  constructor(table: Table, uid: string, makeLimits: (target: ProbeTarget) => Probe) {
    this.#table = table;
    this.#uid = uid;
    this.#limits = makeLimits(this);
  }

  noteTraffic(receivedBytes: number, sentBytes: number, seconds: number): void {
    this.#put(RECEIVED, receivedBytes);
    this.#put(SENT, sentBytes);
    this.receivedBytesPerSecond = this.#received.next(receivedBytes, seconds) ?? this.receivedBytesPerSecond;
    this.sentBytesPerSecond = this.#sent.next(sentBytes, seconds) ?? this.sentBytesPerSecond;
  }

  /** The source of its traffic is gone: neither series nor rates stay. */
  forgetNetwork(): void {
    for (const column of [RECEIVED, SENT]) this.#put(column, Number.NaN);
    this.receivedBytesPerSecond = undefined;
    this.sentBytesPerSecond = undefined;
  }

  /** Reads its CPU counters, unless that was done just now. @throws what the probe throws */
  readCpu(time: SampleTime): void {
    if (time.seconds - this.rates.cpuRead.atSeconds < FRESH_SECONDS) return;
    this.cpu?.read(time);
  }

  throttling(time: SampleTime): ThrottlingCounts | undefined {
    const wasRead = Number.isFinite(this.rates.cpuRead.atSeconds);
    if (wasRead && !(this.#value("cpuPeriods") > 0)) return undefined;
    try {
      this.readCpu(time);
    } catch {
      return undefined;
    }
    if (!(this.#value("cpuPeriods") > 0)) return undefined;
    return {
      periods: this.#value("cpuPeriods"),
      throttledPeriods: this.#value("cpuThrottledPeriods"),
      throttledSeconds: this.#value("cpuThrottledSeconds"),
    };
  }

  limits(time: SampleTime): { readonly cpuCores: number; readonly memoryBytes: number } {
    if (time.seconds - this.#limitsSeconds >= LIMITS_SECONDS) {
      this.#limitsSeconds = time.seconds;
      try {
        this.#limits.read(time);
      } catch {
        for (const column of this.#limits.fills) this.values[COLUMN[column]] = Number.NaN;
      }
    }
    return { cpuCores: this.#value("cpuLimitCores"), memoryBytes: this.#value("memoryLimitBytes") };
  }

  /** Exposes its use: none of its containers can show its own part. */
  showUse(): void {
    this.#put(CPU, this.#value("cpuUsageSeconds"));
    this.#put(MEMORY, this.#value("memoryWorkingSetBytes"));
  }

  hideUse(): void {
    for (const column of [CPU, MEMORY]) this.#put(column, Number.NaN);
  }

  close(): void {
    this.#limits.close();
    this.#table.delete(this.#uid);
  }

  #value(column: ContainerColumn): number {
    return this.values[COLUMN[column]] ?? Number.NaN;
  }

  #put(column: number, value: number): void {
    this.#table.row(this.#uid, { pod_uid: this.#uid }).values[column] = value;
  }
}
