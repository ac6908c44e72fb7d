import { secondsFromMicros, secondsFromNanos } from "@tradewind/core/values/units.ts";
import type { SampleTime } from "../../sampling/sample-time.ts";
import { parseSingle } from "../../parse/cgroup-files.ts";
import { flatValue } from "../../parse/flat-keyed.ts";
import { malformed } from "../../parse/malformed.ts";
import { OptionalFile } from "../../read/optional-file.ts";
import type { HeldFile } from "../../read/reader.ts";
import { CHANNEL } from "../../sampling/signal.ts";
import type { SignalOptions } from "../../sampling/signal.ts";
import { COLUMN } from "../columns.ts";
import type { ContainerColumn } from "../columns.ts";
import { CPU_TOLERANCE_CORES, cpuToleranceCores } from "./tolerance.ts";
import { put } from "./probe.ts";
import type { CgroupPlace, Probe, ProbeTarget } from "./probe.ts";
import { Throttling } from "./throttling.ts";

export const CPU_SCHEDULE: SignalOptions = {
  kind: "counter",
  tolerance: CPU_TOLERANCE_CORES,
  channels: CHANNEL.cpu,
};

export const CPU_FILLS: readonly ContainerColumn[] = [
  "cpuUsageSeconds",
  "cpuUserSeconds",
  "cpuSystemSeconds",
  "cpuPeriods",
  "cpuThrottledPeriods",
  "cpuThrottledSeconds",
  "cpuBursts",
  "cpuBurstSeconds",
];

/** How a tree's `cpu.stat` calls times, and in which unit it has them. */
interface TimeKeys {
  readonly throttled: string;
  readonly burst: string;
  readonly toSeconds: (value: number) => number;
}
const UNIFIED: TimeKeys = {
  throttled: "throttled_usec",
  burst: "burst_usec",
  toSeconds: secondsFromMicros,
};
const SPLIT: TimeKeys = { throttled: "throttled_time", burst: "burst_time", toSeconds: secondsFromNanos };

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
  readonly schedule = CPU_SCHEDULE;
  readonly fills = CPU_FILLS;
  readonly #stat: HeldFile;
  readonly #beside: OptionalFile | undefined;
  readonly #target: ProbeTarget;
  readonly #throttling = new Throttling();

  constructor({ reader, hierarchies, path, besidePath }: CgroupPlace, target: ProbeTarget) {
    const file = (folder: string): HeldFile =>
      reader.file(`${hierarchies.unified ?? ""}${folder}`, "cpu.stat");
    this.#stat = file(path);
    this.#beside = besidePath === undefined ? undefined : new OptionalFile(file(besidePath));
    this.#target = target;
  }

  get tolerance(): number {
    return cpuToleranceCores(this.#target);
  }

  read(time: SampleTime): number {
    const text = this.#stat.text();
    if (flatValue(text, "usage_usec") === undefined) throw malformed("cpu.stat", text);
    const beside = this.#beside?.text() ?? "";
    const seconds = (key: string): number =>
      secondsFromMicros((flatValue(text, key) ?? Number.NaN) + (flatValue(beside, key) ?? 0));
    const target = this.#target;
    const usageSeconds = seconds("usage_usec");
    putUsage(target, usageSeconds, seconds("user_usec"), seconds("system_usec"));
    if (usageSeconds > 0) putThrottling(target, text, UNIFIED, this.#throttling, time);
    return rated(target, usageSeconds, time);
  }

  close(): void {
    this.#stat.close();
    this.#beside?.close();
  }
}

/** v1: `cpuacct.usage` in nanoseconds, and the cpu tree's `cpu.stat` with `throttled_time` in nanoseconds. */
class SplitCpu implements Probe {
  readonly name = "cpu";
  readonly schedule = CPU_SCHEDULE;
  readonly fills = CPU_FILLS;
  readonly #usage: HeldFile;
  readonly #beside: OptionalFile | undefined;
  readonly #stat: OptionalFile | undefined;
  readonly #target: ProbeTarget;
  readonly #throttling = new Throttling();

  constructor({ reader, hierarchies, path, besidePath }: CgroupPlace, target: ProbeTarget) {
    const { cpu, cpuacct } = hierarchies;
    const file = (folder: string): HeldFile =>
      reader.file(`${cpuacct ?? cpu ?? ""}${folder}`, "cpuacct.usage");
    this.#usage = file(path);
    this.#beside = besidePath === undefined ? undefined : new OptionalFile(file(besidePath));
    this.#stat = cpu === undefined ? undefined : new OptionalFile(reader.file(`${cpu}${path}`, "cpu.stat"));
    this.#target = target;
  }

  get tolerance(): number {
    return cpuToleranceCores(this.#target);
  }

  read(time: SampleTime): number {
    const beside = this.#beside?.text();
    const nanoseconds = parseSingle(this.#usage.text()) + (beside === undefined ? 0 : parseSingle(beside));
    const usageSeconds = secondsFromNanos(nanoseconds);
    putUsage(this.#target, usageSeconds, Number.NaN, Number.NaN);
    const text = this.#stat?.text();
    if (text !== undefined && usageSeconds > 0)
      putThrottling(this.#target, text, SPLIT, this.#throttling, time);
    return rated(this.#target, usageSeconds, time);
  }

  close(): void {
    this.#usage.close();
    this.#beside?.close();
    this.#stat?.close();
  }
}

/** A cgroup in which nothing ever ran shows no use: its programs may run in another one. */
function putUsage(
  target: ProbeTarget,
  usageSeconds: number,
  userSeconds: number,
  systemSeconds: number,
): void {
  const hasRun = usageSeconds > 0;
  put(target, "cpuUsageSeconds", hasRun ? usageSeconds : undefined);
  put(target, "cpuUserSeconds", hasRun ? userSeconds : undefined);
  put(target, "cpuSystemSeconds", hasRun ? systemSeconds : undefined);
}

function putThrottling(
  target: ProbeTarget,
  text: string,
  keys: TimeKeys,
  throttling: Throttling,
  time: SampleTime,
): void {
  const seconds = (key: string): number => keys.toSeconds(flatValue(text, key) ?? Number.NaN);
  const own = {
    periods: flatValue(text, "nr_periods") ?? Number.NaN,
    throttledPeriods: flatValue(text, "nr_throttled") ?? Number.NaN,
    throttledSeconds: seconds(keys.throttled),
  };
  const counts = throttling.next(own, target.pod?.throttling(time));
  put(target, "cpuPeriods", counts.periods);
  put(target, "cpuThrottledPeriods", counts.throttledPeriods);
  put(target, "cpuThrottledSeconds", counts.throttledSeconds);
  put(target, "cpuBursts", flatValue(text, "nr_bursts"));
  put(target, "cpuBurstSeconds", seconds(keys.burst));
}

/** @returns the total by which the sampling controller judges */
function rated(target: ProbeTarget, usageSeconds: number, { seconds }: SampleTime): number {
  target.rates.cpu(usageSeconds, target.values[COLUMN.cpuThrottledSeconds] ?? Number.NaN, seconds);
  return usageSeconds;
}
