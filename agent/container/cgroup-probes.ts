import { secondsFromMicros, secondsFromNanos } from "@tradewind/core/units.ts";
import type { Hierarchies } from "../cgroup/hierarchies.ts";
import {
  parseBlkio,
  parseCfsQuota,
  parseCpuMax,
  parseIoStat,
  parseLimitBytes,
  parseSingle,
} from "../parse/cgroup-files.ts";
import { flatValue } from "../parse/flat-keyed.ts";
import { malformed } from "../parse/malformed.ts";
import { parsePressure } from "../parse/pressure.ts";
import { AbsentSource, readFailure } from "../read/file-error.ts";
import type { HeldFile, Reader } from "../read/reader.ts";
import { CHANNEL } from "../sampling/signal.ts";
import { COLUMN } from "./columns.ts";
import type { ContainerColumn } from "./columns.ts";
import type { ContainerRates, Probe, ProbeName, ProbeSchedule } from "./probe.ts";

/** What a probe writes to. */
export interface ProbeTarget {
  readonly values: Float64Array;
  readonly rates: ContainerRates;
}

export interface CgroupPlace {
  readonly reader: Reader;
  readonly hierarchies: Hierarchies;
  /** Path in every tree, starting with `/`. */
  readonly path: string;
  /** Movement of memory that does not matter. */
  readonly memoryToleranceBytes: number;
}

const CPU_TOLERANCE_CORES = 0.05;
const WAIT_TOLERANCE_RATIO = 0.05;
const IO_TOLERANCE_BYTES_PER_SECOND = 4 * 1024 * 1024;

/** Limits are settings: they move rarely, but a resize must show soon. */
const LIMITS_SCHEDULE: ProbeSchedule = { kind: "gauge", tolerance: 0.01, minSeconds: 5, maxSeconds: 15 };

const usageSchedule: ProbeSchedule = {
  kind: "counter",
  tolerance: CPU_TOLERANCE_CORES,
  channels: CHANNEL.cpu,
  pruning: "sum",
};
const waitSchedule = (channels: number): ProbeSchedule => ({
  kind: "counter",
  tolerance: WAIT_TOLERANCE_RATIO,
  channels,
  pruning: "zero",
});

/** Every probe of a container's cgroup; those whose files are not there fail as absent and are dropped by the caller. */
export function containerProbes(place: CgroupPlace, target: ProbeTarget): Probe[] {
  const { unified } = place.hierarchies;
  return [
    cpuProbe(place, target),
    memoryProbe(place, target),
    ioProbe(place, target),
    limitsProbe(place, target),
    ...(unified === undefined ? [] : pressureProbes(place, target)),
  ];
}

/** The probes of a pod's cgroup that can prove that its containers did not move. */
export function podProbes(place: CgroupPlace, target: ProbeTarget): Probe[] {
  const { unified } = place.hierarchies;
  return [cpuProbe(place, target), ...(unified === undefined ? [] : pressureProbes(place, target))];
}

/** Files of one probe, closed together. */
class Files {
  readonly #reader: Reader;
  readonly #held: HeldFile[] = [];

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  open(path: string): HeldFile {
    const file = this.#reader.file(path);
    this.#held.push(file);
    return file;
  }

  close(): void {
    for (const file of this.#held) file.close();
  }
}

/** Text of a file that may be missing on its own, for one reason or another; undefined then. */
class Optional {
  readonly #file: HeldFile | undefined;
  #missing = 0;

  constructor(file: HeldFile | undefined) {
    this.#file = file;
  }

  text(): string | undefined {
    // Not looked for any more after it was missing three times: each look costs a failed system call.
    if (this.#file === undefined || this.#missing >= 3) return undefined;
    try {
      return this.#file.text();
    } catch (error) {
      if (readFailure(error) === "unreadable") throw error;
      this.#missing += 1;
      return undefined;
    }
  }
}

function cpuProbe({ reader, hierarchies, path }: CgroupPlace, target: ProbeTarget): Probe {
  const { mode, unified, cpu, cpuacct } = hierarchies;
  const files = new Files(reader);
  if (mode === "v2" && unified !== undefined) {
    const stat = files.open(`${unified}${path}/cpu.stat`);
    return {
      name: "cpu",
      schedule: usageSchedule,
      read: ({ seconds }) => readCpuStat(stat.text(), target, seconds),
      close: () => files.close(),
    };
  }
  const usage = files.open(`${cpuacct ?? cpu ?? ""}${path}/cpuacct.usage`);
  const throttling = new Optional(cpu === undefined ? undefined : files.open(`${cpu}${path}/cpu.stat`));
  return {
    name: "cpu",
    schedule: usageSchedule,
    read: ({ seconds }) => readCpuAcct(usage.text(), throttling.text(), target, seconds),
    close: () => files.close(),
  };
}

/**
 * v2 `cpu.stat` (Documentation/admin-guide/cgroup-v2.rst); the `nr_` keys only where the cpu controller is on.
 *
 *     usage_usec 5124
 *     nr_throttled 3
 *     throttled_usec 120000
 */
function readCpuStat(text: string, { values, rates }: ProbeTarget, seconds: number): number {
  const usage = flatValue(text, "usage_usec");
  if (usage === undefined) throw malformed("cpu.stat", text);
  const set = (column: ContainerColumn, key: string, scale: number): void => {
    values[COLUMN[column]] = (flatValue(text, key) ?? Number.NaN) * scale;
  };
  const micros = 1e-6;
  values[COLUMN.cpuUsageSeconds] = secondsFromMicros(usage);
  set("cpuUserSeconds", "user_usec", micros);
  set("cpuSystemSeconds", "system_usec", micros);
  if (text.includes("nr_periods ")) {
    set("cpuPeriods", "nr_periods", 1);
    set("cpuThrottledPeriods", "nr_throttled", 1);
    set("cpuThrottledSeconds", "throttled_usec", micros);
    set("cpuBursts", "nr_bursts", 1);
    set("cpuBurstSeconds", "burst_usec", micros);
  }
  rates.cpu(secondsFromMicros(usage), known(values[COLUMN.cpuThrottledSeconds]), seconds);
  return secondsFromMicros(usage);
}

/** v1: `cpuacct.usage` in nanoseconds, and `cpu.stat` with `throttled_time` in nanoseconds. */
function readCpuAcct(
  usageText: string,
  statText: string | undefined,
  { values, rates }: ProbeTarget,
  seconds: number,
): number {
  const usageSeconds = secondsFromNanos(parseSingle(usageText));
  values[COLUMN.cpuUsageSeconds] = usageSeconds;
  if (statText !== undefined) {
    const set = (column: ContainerColumn, key: string, scale: number): void => {
      values[COLUMN[column]] = (flatValue(statText, key) ?? Number.NaN) * scale;
    };
    set("cpuPeriods", "nr_periods", 1);
    set("cpuThrottledPeriods", "nr_throttled", 1);
    set("cpuThrottledSeconds", "throttled_time", 1e-9);
    set("cpuBursts", "nr_bursts", 1);
    set("cpuBurstSeconds", "burst_time", 1e-9);
  }
  rates.cpu(usageSeconds, known(values[COLUMN.cpuThrottledSeconds]), seconds);
  return usageSeconds;
}

function memoryProbe(place: CgroupPlace, { values }: ProbeTarget): Probe {
  const { reader, hierarchies, path, memoryToleranceBytes } = place;
  const isV1 = hierarchies.mode !== "v2";
  const folder = `${(isV1 ? hierarchies.memory : hierarchies.unified) ?? ""}${path}`;
  const files = new Files(reader);
  const usage = files.open(`${folder}/${isV1 ? "memory.usage_in_bytes" : "memory.current"}`);
  const stat = files.open(`${folder}/memory.stat`);
  const events = new Optional(files.open(`${folder}/${isV1 ? "memory.oom_control" : "memory.events"}`));
  const failures = new Optional(isV1 ? files.open(`${folder}/memory.failcnt`) : undefined);
  return {
    name: "memory",
    schedule: {
      kind: "gauge",
      tolerance: memoryToleranceBytes,
      channels: CHANNEL.memory,
      costSeconds: 15e-6,
    },
    read: () => {
      if (folder === path) throw new AbsentSource("the memory controller");
      const usageBytes = parseSingle(usage.text());
      readMemoryStat(stat.text(), isV1 ? "total_" : "", usageBytes, values);
      const eventsText = events.text();
      const event = (key: string): number =>
        (eventsText === undefined ? undefined : flatValue(eventsText, key)) ?? Number.NaN;
      values[COLUMN.memoryOomKills] = event("oom_kill");
      if (isV1) {
        const text = failures.text();
        values[COLUMN.memoryLimitHits] = text === undefined ? Number.NaN : parseSingle(text);
      } else {
        values[COLUMN.memoryHighEvents] = event("high");
        values[COLUMN.memoryLimitHits] = event("max");
      }
      return values[COLUMN.memoryWorkingSetBytes] ?? usageBytes;
    },
    close: () => files.close(),
  };
}

/** `memory.stat`; v1 has the hierarchical values under the prefix `total_`. Kernels before 5.9 have one refault key. */
function readMemoryStat(text: string, prefix: string, usageBytes: number, values: Float64Array): void {
  const get = (key: string): number => flatValue(text, `${prefix}${key}`) ?? Number.NaN;
  const inactiveFile = get("inactive_file");
  if (Number.isNaN(inactiveFile)) throw malformed("memory.stat", text);
  const isV1 = prefix !== "";
  values[COLUMN.memoryUsageBytes] = usageBytes;
  values[COLUMN.memoryWorkingSetBytes] = Math.max(0, usageBytes - inactiveFile);
  values[COLUMN.memoryAnonymousBytes] = get(isV1 ? "rss" : "anon");
  values[COLUMN.memoryFileBytes] = get(isV1 ? "cache" : "file");
  values[COLUMN.memoryDirtyBytes] = get(isV1 ? "dirty" : "file_dirty");
  values[COLUMN.memoryFaults] = get("pgfault");
  values[COLUMN.memoryMajorFaults] = get("pgmajfault");
  const anonymous = get("workingset_refault_anon");
  const file = get("workingset_refault_file");
  values[COLUMN.memoryRefaults] =
    Number.isNaN(anonymous) && Number.isNaN(file)
      ? get("workingset_refault")
      : (known(anonymous) ?? 0) + (known(file) ?? 0);
  if (isV1) return;
  values[COLUMN.memoryScannedPages] = get("pgscan");
  values[COLUMN.memoryReclaimedPages] = get("pgsteal");
}

function ioProbe({ reader, hierarchies, path }: CgroupPlace, { values }: ProbeTarget): Probe {
  const { mode, unified, blkio } = hierarchies;
  const files = new Files(reader);
  const schedule: ProbeSchedule = {
    kind: "counter",
    tolerance: IO_TOLERANCE_BYTES_PER_SECOND,
    channels: CHANNEL.io,
  };
  const close = (): void => files.close();
  if (mode === "v2") {
    const stat = files.open(`${unified ?? ""}${path}/io.stat`);
    return {
      name: "io",
      schedule,
      read: () => {
        const io = parseIoStat(stat.text());
        values[COLUMN.ioReadBytes] = io.readBytes;
        values[COLUMN.ioWrittenBytes] = io.writtenBytes;
        values[COLUMN.ioReads] = io.reads ?? Number.NaN;
        values[COLUMN.ioWrites] = io.writes ?? Number.NaN;
        return io.readBytes + io.writtenBytes;
      },
      close,
    };
  }
  const bytes = files.open(`${blkio ?? ""}${path}/blkio.throttle.io_service_bytes_recursive`);
  const operations = new Optional(files.open(`${blkio ?? ""}${path}/blkio.throttle.io_serviced_recursive`));
  return {
    name: "io",
    schedule,
    read: () => {
      if (blkio === undefined) throw new AbsentSource("the blkio controller");
      const moved = parseBlkio(bytes.text());
      values[COLUMN.ioReadBytes] = moved.read;
      values[COLUMN.ioWrittenBytes] = moved.write;
      const text = operations.text();
      if (text !== undefined) {
        const counted = parseBlkio(text);
        values[COLUMN.ioReads] = counted.read;
        values[COLUMN.ioWrites] = counted.write;
      }
      return moved.read + moved.write;
    },
    close,
  };
}

function limitsProbe({ reader, hierarchies, path }: CgroupPlace, { values }: ProbeTarget): Probe {
  const { mode, unified, cpu, memory } = hierarchies;
  const files = new Files(reader);
  const optional = (tree: string | undefined, name: string): Optional =>
    new Optional(tree === undefined ? undefined : files.open(`${tree}${path}/${name}`));
  const isV2 = mode === "v2";
  const quota = optional(isV2 ? unified : cpu, isV2 ? "cpu.max" : "cpu.cfs_quota_us");
  const period = optional(isV2 ? undefined : cpu, "cpu.cfs_period_us");
  const most = optional(isV2 ? unified : memory, isV2 ? "memory.max" : "memory.limit_in_bytes");
  return {
    name: "limits",
    schedule: LIMITS_SCHEDULE,
    read: () => {
      const quotaText = quota.text();
      const periodText = period.text();
      const memoryText = most.text();
      if (quotaText === undefined && memoryText === undefined) throw new AbsentSource("limits");
      const cores =
        quotaText === undefined
          ? undefined
          : isV2
            ? parseCpuMax(quotaText)
            : parseCfsQuota(quotaText, periodText ?? "");
      values[COLUMN.cpuLimitCores] = cores ?? Number.NaN;
      values[COLUMN.memoryLimitBytes] =
        (memoryText === undefined ? undefined : parseLimitBytes(memoryText)) ?? Number.NaN;
      return cores ?? 0;
    },
    close: () => files.close(),
  };
}

function pressureProbes({ reader, hierarchies, path }: CgroupPlace, { values, rates }: ProbeTarget): Probe[] {
  const folder = `${hierarchies.unified ?? ""}${path}`;
  const probe = (
    name: ProbeName,
    file: HeldFile,
    channels: number,
    [some, full]: readonly [ContainerColumn, ContainerColumn],
  ): Probe => ({
    name,
    schedule: waitSchedule(channels),
    read: ({ seconds }) => {
      const { someSeconds, fullSeconds } = parsePressure(file.text());
      values[COLUMN[some]] = someSeconds;
      values[COLUMN[full]] = fullSeconds ?? Number.NaN;
      if (name === "cpuPressure") rates.cpuPressure(someSeconds, seconds);
      else if (name === "memoryPressure") rates.memoryPressure(someSeconds, seconds);
      return someSeconds;
    },
    close: () => file.close(),
  });
  return [
    probe("cpuPressure", reader.file(`${folder}/cpu.pressure`), CHANNEL.cpu, [
      "cpuWaitingSeconds",
      "cpuStalledSeconds",
    ]),
    probe("memoryPressure", reader.file(`${folder}/memory.pressure`), CHANNEL.memory, [
      "memoryWaitingSeconds",
      "memoryStalledSeconds",
    ]),
    probe("ioPressure", reader.file(`${folder}/io.pressure`), CHANNEL.io, [
      "ioWaitingSeconds",
      "ioStalledSeconds",
    ]),
  ];
}

function known(value: number | undefined): number | undefined {
  return value === undefined || Number.isNaN(value) ? undefined : value;
}
