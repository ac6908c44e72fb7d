import { secondsFromMicros, secondsFromNanos } from "@tradewind/core/values/units.ts";
import type { SampleTime } from "../../sampling/sample-time.ts";
import { parseSingle } from "../../parse/cgroup-files.ts";
import { flatValue } from "../../parse/flat-keyed.ts";
import { malformed } from "../../parse/malformed.ts";
import { OptionalFile } from "../../read/optional-file.ts";
import type { HeldFile } from "../../read/reader.ts";
import { CHANNEL } from "../../sampling/signal.ts";
import { COLUMN } from "../columns.ts";
import type { ContainerColumn } from "../columns.ts";
import { CPU_TOLERANCE_CORES, cpuToleranceCores } from "./tolerance.ts";
import { put } from "./probe.ts";
import type { CgroupPlace, Probe, ProbeSchedule, ProbeTarget } from "./probe.ts";

const SCHEDULE: ProbeSchedule = {
  kind: "counter",
  tolerance: CPU_TOLERANCE_CORES,
  channels: CHANNEL.cpu,
  pruning: "sum",
};

const FILLS: readonly ContainerColumn[] = [
  "cpuUsageSeconds",
  "cpuUserSeconds",
  "cpuSystemSeconds",
  "cpuPeriods",
  "cpuThrottledPeriods",
  "cpuThrottledSeconds",
  "cpuBursts",
  "cpuBurstSeconds",
];

export function cpuProbe(place: CgroupPlace, target: ProbeTarget): Probe {
  return place.hierarchies.mode === "v2" ? new UnifiedCpu(place, target) : new SplitCpu(place, target);
}

/**
 * v2 `cpu.stat` (Documentation/admin-guide/cgroup-v2.rst); the `nr_` keys are there only where the cpu controller is on.
 *
 *     usage_usec 5124
 *     user_usec 4100
 *     nr_throttled 3
 *     throttled_usec 120000
 */
class UnifiedCpu implements Probe {
  readonly name = "cpu";
  readonly schedule = SCHEDULE;
  readonly fills = FILLS;
  readonly #stat: HeldFile;
  readonly #target: ProbeTarget;

  constructor({ reader, hierarchies, path }: CgroupPlace, target: ProbeTarget) {
    this.#stat = reader.file(`${hierarchies.unified ?? ""}${path}`, "cpu.stat");
    this.#target = target;
  }

  get tolerance(): number {
    return cpuToleranceCores(this.#target);
  }

  read({ seconds }: SampleTime): number {
    const text = this.#stat.text();
    const target = this.#target;
    const usage = flatValue(text, "usage_usec");
    if (usage === undefined) throw malformed("cpu.stat", text);
    put(target, "cpuUsageSeconds", secondsFromMicros(usage));
    put(target, "cpuUserSeconds", micros(text, "user_usec"));
    put(target, "cpuSystemSeconds", micros(text, "system_usec"));
    if (text.includes("nr_periods ")) {
      putThrottling(text, target);
      put(target, "cpuThrottledSeconds", micros(text, "throttled_usec"));
      put(target, "cpuBurstSeconds", micros(text, "burst_usec"));
    }
    target.rates.cpu(
      secondsFromMicros(usage),
      target.values[COLUMN.cpuThrottledSeconds] ?? Number.NaN,
      seconds,
    );
    return secondsFromMicros(usage);
  }

  close(): void {
    this.#stat.close();
  }
}

/** v1: `cpuacct.usage` in nanoseconds, and the cpu tree's `cpu.stat` with `throttled_time` in nanoseconds. */
class SplitCpu implements Probe {
  readonly name = "cpu";
  readonly schedule = SCHEDULE;
  readonly fills = FILLS;
  readonly #usage: HeldFile;
  readonly #stat: OptionalFile | undefined;
  readonly #target: ProbeTarget;

  constructor({ reader, hierarchies, path }: CgroupPlace, target: ProbeTarget) {
    const { cpu, cpuacct } = hierarchies;
    this.#usage = reader.file(`${cpuacct ?? cpu ?? ""}${path}`, "cpuacct.usage");
    this.#stat = cpu === undefined ? undefined : new OptionalFile(reader.file(`${cpu}${path}`, "cpu.stat"));
    this.#target = target;
  }

  get tolerance(): number {
    return cpuToleranceCores(this.#target);
  }

  read({ seconds }: SampleTime): number {
    const usageSeconds = secondsFromNanos(parseSingle(this.#usage.text()));
    const target = this.#target;
    put(target, "cpuUsageSeconds", usageSeconds);
    const text = this.#stat?.text();
    if (text !== undefined) {
      putThrottling(text, target);
      put(target, "cpuThrottledSeconds", nanos(text, "throttled_time"));
      put(target, "cpuBurstSeconds", nanos(text, "burst_time"));
    }
    target.rates.cpu(usageSeconds, target.values[COLUMN.cpuThrottledSeconds] ?? Number.NaN, seconds);
    return usageSeconds;
  }

  close(): void {
    this.#usage.close();
    this.#stat?.close();
  }
}

function putThrottling(text: string, target: ProbeTarget): void {
  put(target, "cpuPeriods", flatValue(text, "nr_periods"));
  put(target, "cpuThrottledPeriods", flatValue(text, "nr_throttled"));
  put(target, "cpuBursts", flatValue(text, "nr_bursts"));
}

function micros(text: string, key: string): number {
  return secondsFromMicros(flatValue(text, key) ?? Number.NaN);
}

function nanos(text: string, key: string): number {
  return secondsFromNanos(flatValue(text, key) ?? Number.NaN);
}
