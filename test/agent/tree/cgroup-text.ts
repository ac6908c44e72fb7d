import { flatKeyed, pressure } from "./kernel-text.ts";
import type { Files } from "./plant.ts";

/** What a container did so far and what it may do. */
export interface ContainerUse {
  readonly cpuSeconds: number;
  readonly cpuLimitCores?: number;
  /** Periods in which a quota was enforced; with a quota 600 where not stated. */
  readonly periods?: number;
  readonly throttledPeriods?: number;
  readonly throttledSeconds?: number;
  readonly cpuWaitSeconds?: number;
  readonly memoryBytes?: number;
  readonly inactiveFileBytes?: number;
  readonly memoryLimitBytes?: number;
  readonly memoryWaitSeconds?: number;
  readonly majorFaults?: number;
  readonly refaults?: number;
  readonly oomKills?: number;
  readonly readBytes?: number;
  readonly writtenBytes?: number;
  readonly ioWaitSeconds?: number;
}

const PERIOD_SECONDS = 0.1;
const PERIODS = 600;
const NO_LIMIT = "9223372036854771712";

/** Pressure files of a cgroup in a v2 tree. */
function pressureFiles(folder: string, use: ContainerUse): Files {
  return {
    [`${folder}/cpu.pressure`]: pressure(use.cpuWaitSeconds ?? 0),
    [`${folder}/memory.pressure`]: pressure(use.memoryWaitSeconds ?? 0),
    [`${folder}/io.pressure`]: pressure(use.ioWaitSeconds ?? 0),
  };
}

/** A cgroup in a pure v2 tree with all controllers. */
export function v2Files(folder: string, use: ContainerUse): Files {
  const micros = (seconds: number): number => Math.round(seconds * 1e6);
  const { cpuSeconds, memoryBytes = 0, inactiveFileBytes = 0 } = use;
  return {
    [`${folder}/cpu.stat`]: flatKeyed({
      usage_usec: micros(cpuSeconds),
      user_usec: micros(cpuSeconds * 0.75),
      system_usec: micros(cpuSeconds * 0.25),
      nr_periods: use.cpuLimitCores === undefined ? 0 : (use.periods ?? PERIODS),
      nr_throttled: use.throttledPeriods ?? 0,
      throttled_usec: micros(use.throttledSeconds ?? 0),
      nr_bursts: 0,
      burst_usec: 0,
    }),
    [`${folder}/cpu.max`]:
      use.cpuLimitCores === undefined
        ? "max 100000\n"
        : `${micros(use.cpuLimitCores * PERIOD_SECONDS)} 100000\n`,
    [`${folder}/memory.current`]: `${memoryBytes}\n`,
    [`${folder}/memory.max`]: `${use.memoryLimitBytes ?? "max"}\n`,
    [`${folder}/memory.stat`]: flatKeyed({
      anon: memoryBytes * 0.5,
      file: memoryBytes * 0.5,
      file_dirty: 4096,
      inactive_file: inactiveFileBytes,
      active_file: 0,
      workingset_refault_anon: 0,
      workingset_refault_file: use.refaults ?? 0,
      pgscan: 0,
      pgsteal: 0,
      pgfault: 9120,
      pgmajfault: use.majorFaults ?? 0,
    }),
    [`${folder}/memory.events`]: flatKeyed({ low: 0, high: 0, max: 0, oom: 0, oom_kill: use.oomKills ?? 0 }),
    [`${folder}/io.stat`]: `254:0 rbytes=${use.readBytes ?? 0} wbytes=${use.writtenBytes ?? 0} rios=3 wios=1 dbytes=0 dios=0\n`,
    ...pressureFiles(folder, use),
  };
}

/** A cgroup in v1 trees, one a controller; `unified` adds the pressure files of a hybrid host. */
export function v1Files(root: string, path: string, use: ContainerUse, unified: boolean): Files {
  const { cpuSeconds, memoryBytes = 0, inactiveFileBytes = 0 } = use;
  const nanos = (seconds: number): number => Math.round(seconds * 1e9);
  return {
    [`${root}/cpuacct${path}/cpuacct.usage`]: `${nanos(cpuSeconds)}\n`,
    [`${root}/cpu${path}/cpu.stat`]: flatKeyed({
      nr_periods: use.cpuLimitCores === undefined ? 0 : (use.periods ?? PERIODS),
      nr_throttled: use.throttledPeriods ?? 0,
      throttled_time: nanos(use.throttledSeconds ?? 0),
      nr_bursts: 0,
      burst_time: 0,
    }),
    [`${root}/cpu${path}/cpu.cfs_quota_us`]:
      use.cpuLimitCores === undefined ? "-1\n" : `${use.cpuLimitCores * 100_000}\n`,
    [`${root}/cpu${path}/cpu.cfs_period_us`]: "100000\n",
    [`${root}/memory${path}/memory.usage_in_bytes`]: `${memoryBytes}\n`,
    [`${root}/memory${path}/memory.limit_in_bytes`]: `${use.memoryLimitBytes ?? NO_LIMIT}\n`,
    [`${root}/memory${path}/memory.failcnt`]: "0\n",
    [`${root}/memory${path}/memory.stat`]: flatKeyed({
      cache: 0,
      rss: 0,
      inactive_file: 0,
      total_cache: memoryBytes * 0.5,
      total_rss: memoryBytes * 0.5,
      total_dirty: 4096,
      total_inactive_file: inactiveFileBytes,
      total_workingset_refault_anon: 0,
      total_workingset_refault_file: use.refaults ?? 0,
      total_pgfault: 9120,
      total_pgmajfault: use.majorFaults ?? 0,
    }),
    [`${root}/memory${path}/memory.oom_control`]: flatKeyed({
      oom_kill_disable: 0,
      under_oom: 0,
      oom_kill: use.oomKills ?? 0,
    }),
    [`${root}/blkio${path}/blkio.throttle.io_service_bytes_recursive`]: `254:0 Read ${use.readBytes ?? 0}\n254:0 Write ${use.writtenBytes ?? 0}\n254:0 Total 0\nTotal 0\n`,
    [`${root}/blkio${path}/blkio.throttle.io_serviced_recursive`]: "254:0 Read 3\n254:0 Write 1\nTotal 4\n",
    ...(unified
      ? {
          [`${root}/unified${path}/cgroup.procs`]: "",
          [`${root}/unified${path}/cpu.stat`]: "usage_usec 0\nuser_usec 0\nsystem_usec 0\n",
          ...pressureFiles(`${root}/unified${path}`, use),
        }
      : {}),
  };
}
