import type { InterferenceName } from "@tradewind/core/contract/interference.ts";
import type { Column } from "../expose/table.ts";

const counter = (name: string, help: string): Column => ({
  name: `tradewind_container_${name}_total`,
  help,
  kind: "counter",
});
const gauge = (name: string, help: string): Column => ({
  name: `tradewind_container_${name}`,
  help,
  kind: "gauge",
});
const interference = (component: InterferenceName): Column => ({
  name: "tradewind_container_interference_ratio",
  help: "What others do to the container by component, 0 undisturbed to 1 fully taken; absent where nothing tells.",
  kind: "gauge",
  label: `component="${component}"`,
});

const integral = (component: InterferenceName): Column => ({
  name: "tradewind_container_interference_seconds_total",
  help: "Integral of the interference ratio over time: its rate is the mean.",
  kind: "counter",
  label: `component="${component}"`,
});

/** Everything that is kept of a container, in the order of the exposition. */
const DEFINITIONS = {
  cpuUsageSeconds: counter("cpu_usage_seconds", "CPU time used."),
  cpuUserSeconds: counter("cpu_user_seconds", "CPU time used in user mode."),
  cpuSystemSeconds: counter("cpu_system_seconds", "CPU time used in kernel mode."),
  cpuPeriods: counter("cpu_periods", "Periods in which the CPU quota was enforced."),
  cpuThrottledPeriods: counter(
    "cpu_throttled_periods",
    "Periods in which the quota ran out. Caused by the container itself, not interference.",
  ),
  cpuThrottledSeconds: counter(
    "cpu_throttled_seconds",
    "Time throttled for want of quota, summed over CPUs. Caused by the container itself.",
  ),
  cpuBursts: counter("cpu_bursts", "Periods in which the container used CPU time it had saved up."),
  cpuBurstSeconds: counter("cpu_burst_seconds", "Saved CPU time used."),
  cpuLimitCores: gauge("cpu_limit_cores", "CPU quota; absent without one."),
  cpuWaitingSeconds: counter(
    "cpu_pressure_waiting_seconds",
    "Time in which at least one task waited for a CPU (PSI some); includes throttling.",
  ),
  cpuStalledSeconds: counter(
    "cpu_pressure_stalled_seconds",
    "Time in which every non-idle task waited for a CPU (PSI full).",
  ),
  memoryUsageBytes: gauge("memory_usage_bytes", "Memory charged to the container, page cache included."),
  memoryWorkingSetBytes: gauge(
    "memory_working_set_bytes",
    "Memory usage less inactive page cache, as kubelet counts it.",
  ),
  memoryAnonymousBytes: gauge("memory_anonymous_bytes", "Memory not backed by files."),
  memoryFileBytes: gauge("memory_file_bytes", "Page cache."),
  memoryDirtyBytes: gauge("memory_dirty_bytes", "Page cache not yet written to disk."),
  memoryLimitBytes: gauge("memory_limit_bytes", "Memory limit; absent without one."),
  memoryFaults: counter("memory_page_faults", "Page faults, minor and major."),
  memoryMajorFaults: counter("memory_major_page_faults", "Page faults that had to read from disk."),
  memoryRefaults: counter(
    "memory_refaulted_pages",
    "Pages read again soon after they were reclaimed: the working set does not fit.",
  ),
  memoryScannedPages: counter("memory_scanned_pages", "Pages scanned to reclaim memory."),
  memoryReclaimedPages: counter("memory_reclaimed_pages", "Pages reclaimed."),
  memoryHighEvents: counter("memory_high_events", "Times the usage went over memory.high."),
  memoryLimitHits: counter("memory_limit_hits", "Times the usage was about to go over the limit."),
  memoryOomKills: counter("memory_out_of_memory_kills", "Processes killed for want of memory."),
  memoryWaitingSeconds: counter(
    "memory_pressure_waiting_seconds",
    "Time in which at least one task waited for memory (PSI some).",
  ),
  memoryStalledSeconds: counter(
    "memory_pressure_stalled_seconds",
    "Time in which every non-idle task waited for memory (PSI full).",
  ),
  ioReadBytes: counter("io_read_bytes", "Bytes read from block devices."),
  ioWrittenBytes: counter("io_written_bytes", "Bytes written to block devices."),
  ioReads: counter("io_reads", "Reads of block devices."),
  ioWrites: counter("io_writes", "Writes to block devices."),
  ioWaitingSeconds: counter(
    "io_pressure_waiting_seconds",
    "Time in which at least one task waited for disk I/O (PSI some).",
  ),
  ioStalledSeconds: counter(
    "io_pressure_stalled_seconds",
    "Time in which every non-idle task waited for disk I/O (PSI full).",
  ),
  interferenceCpu: interference("cpu"),
  interferenceMemoryCapacity: interference("memoryCapacity"),
  interferenceMemoryBandwidth: interference("memoryBandwidth"),
  interferenceNetwork: interference("network"),
  integralCpu: integral("cpu"),
  integralMemoryCapacity: integral("memoryCapacity"),
  integralMemoryBandwidth: integral("memoryBandwidth"),
  integralNetwork: integral("network"),
  lastSampleSeconds: gauge(
    "last_sample_timestamp_seconds",
    "Unix time of the last CPU sample; containers are sampled adaptively, so counters can be older than the scrape.",
  ),
} as const satisfies Record<string, Column>;

export type ContainerColumn = keyof typeof DEFINITIONS;

const NAMES = Object.keys(DEFINITIONS) as ContainerColumn[];

/** How many values a container has. */
export const COLUMN_COUNT = NAMES.length;

/** Index of every column in a row's values. */
export const COLUMN = Object.fromEntries(NAMES.map((name, index) => [name, index])) as Readonly<
  Record<ContainerColumn, number>
>;

/** The columns that hold the interference vector. */
export const INTERFERENCE_COLUMN: Readonly<Record<InterferenceName, number>> = {
  cpu: COLUMN.interferenceCpu,
  memoryCapacity: COLUMN.interferenceMemoryCapacity,
  memoryBandwidth: COLUMN.interferenceMemoryBandwidth,
  network: COLUMN.interferenceNetwork,
};

/** The columns that hold its integrals. */
export const INTEGRAL_COLUMN: Readonly<Record<InterferenceName, number>> = {
  cpu: COLUMN.integralCpu,
  memoryCapacity: COLUMN.integralMemoryCapacity,
  memoryBandwidth: COLUMN.integralMemoryBandwidth,
  network: COLUMN.integralNetwork,
};

/** Which series of containers are exposed; what the predictor reads has all of them in any case. */
export const CONTAINER_SERIES = ["all", "own", "none"] as const;
export type ContainerSeries = (typeof CONTAINER_SERIES)[number];

/** What the kubelet's cAdvisor does not have, or not everywhere. */
const OWN = /_(?:interference|pressure|last_sample)_/;

/** The columns of containers, those that are not asked for hidden. */
export const containerColumns = (series: ContainerSeries): readonly Column[] =>
  NAMES.map((name) => {
    const column: Column = DEFINITIONS[name];
    const shown = series === "all" || (series === "own" && OWN.test(column.name));
    return Object.assign({}, column, { hidden: !shown });
  });
