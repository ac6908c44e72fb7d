import { flatValue } from "./flat-keyed.ts";
import { malformed } from "./malformed.ts";
import { fields, unsigned } from "./number.ts";

/** Kernel ticks a second in files under /proc, the same on every architecture Node.js runs on. */
const USER_HZ = 100;

/** Seconds of all CPUs together, by mode. `guest` is part of `user` and is not repeated. */
export interface CpuSeconds {
  readonly user: number;
  readonly nice: number;
  readonly system: number;
  readonly idle: number;
  readonly iowait: number;
  readonly irq: number;
  readonly softirq: number;
  readonly steal: number;
}

export const CPU_MODES = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"] as const;

export interface ProcStat {
  readonly cpu: CpuSeconds;
  /** CPUs online. */
  readonly cpus: number;
  readonly contextSwitches: number | undefined;
  readonly processesRunning: number | undefined;
  readonly processesBlocked: number | undefined;
}

/**
 * `/proc/stat` (proc(5)):
 *
 *     cpu  14426 0 10190 196322 809 0 147 23 0 0
 *     cpu0 6091 0 4687 100113 62 0 33 7 0 0
 *     ctxt 3545301
 *     procs_running 2
 * @throws TradewindError `malformed-file` when the summary line is missing or short
 */
export function parseProcStat(text: string): ProcStat {
  const end = text.indexOf("\n");
  const line = fields(end < 0 ? text : text.slice(0, end));
  const ticks = line.slice(1, 9).map(unsigned);
  // Linux before 2.6.11 has no steal field; everything newer has all eight.
  if (line[0] !== "cpu" || ticks.length < 7 || ticks.some(Number.isNaN)) throw malformed("/proc/stat", text);
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = ticks.map(
    (count) => count / USER_HZ,
  );
  let cpus = 0;
  for (let at = text.indexOf("\ncpu"); at >= 0; at = text.indexOf("\ncpu", at + 4)) cpus += 1;
  return {
    cpu: { user, nice, system, idle, iowait, irq, softirq, steal },
    cpus: Math.max(1, cpus),
    contextSwitches: flatValue(text, "ctxt"),
    processesRunning: flatValue(text, "procs_running"),
    processesBlocked: flatValue(text, "procs_blocked"),
  };
}
