import { secondsFromNanos } from "@tradewind/core/values/units.ts";
import { malformed } from "./malformed.ts";
import { fields, unsigned } from "./number.ts";

/** Run-queue time of one CPU, cumulative seconds. */
export interface SchedStat {
  readonly cpu: number;
  readonly runningSeconds: number;
  readonly waitingSeconds: number;
  readonly timeslices: number;
}

/**
 * `/proc/schedstat` (Documentation/scheduler/sched-stats.rst): of each `cpuN` line the 7th to 9th numbers are
 * nanoseconds running, nanoseconds waiting, and time slices. CPUs that are offline have none.
 *
 *     cpu0 0 0 0 0 0 0 38621430912 5316310231 174230
 * @throws TradewindError `malformed-file` when no CPU line is readable
 */
export function parseSchedStat(text: string): SchedStat[] {
  const cpus: SchedStat[] = [];
  for (const line of text.split("\n")) {
    if (!line.startsWith("cpu")) continue;
    const columns = fields(line);
    const cpu = unsigned(columns[0]?.slice("cpu".length));
    const [running = Number.NaN, waiting = Number.NaN, timeslices = Number.NaN] = columns
      .slice(7, 10)
      .map(unsigned);
    if ([cpu, running, waiting, timeslices].some(Number.isNaN)) throw malformed("/proc/schedstat", line);
    cpus.push({
      cpu,
      runningSeconds: secondsFromNanos(running),
      waitingSeconds: secondsFromNanos(waiting),
      timeslices,
    });
  }
  if (cpus.length === 0) throw malformed("/proc/schedstat", text);
  return cpus;
}
