import { secondsFromNanos } from "@tradewind/core/units.ts";
import { malformed } from "./malformed.ts";
import { fields, unsigned } from "./number.ts";

/** Run-queue time of all CPUs together, cumulative seconds. */
export interface SchedStat {
  readonly runningSeconds: number;
  readonly waitingSeconds: number;
  readonly timeslices: number;
}

/**
 * `/proc/schedstat` (Documentation/scheduler/sched-stats.rst): of each `cpuN` line the 7th to 9th numbers are
 * nanoseconds running, nanoseconds waiting, and time slices.
 *
 *     cpu0 0 0 0 0 0 0 38621430912 5316310231 174230
 * @throws TradewindError `malformed-file` when no CPU line is readable
 */
export function parseSchedStat(text: string): SchedStat {
  let running = 0;
  let waiting = 0;
  let timeslices = 0;
  let cpus = 0;
  for (const line of text.split("\n")) {
    if (!line.startsWith("cpu")) continue;
    const numbers = fields(line).slice(7, 10).map(unsigned);
    if (numbers.length < 3 || numbers.some(Number.isNaN)) throw malformed("/proc/schedstat", line);
    running += numbers[0] ?? 0;
    waiting += numbers[1] ?? 0;
    timeslices += numbers[2] ?? 0;
    cpus += 1;
  }
  if (cpus === 0) throw malformed("/proc/schedstat", text);
  return {
    runningSeconds: secondsFromNanos(running),
    waitingSeconds: secondsFromNanos(waiting),
    timeslices,
  };
}
