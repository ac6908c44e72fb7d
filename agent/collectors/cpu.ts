import { Table } from "../expose/table.ts";
import { CPU_MODES, parseProcStat } from "../parse/proc-stat.ts";
import type { CpuSeconds } from "../parse/proc-stat.ts";
import { ratio } from "../read/rate.ts";
import { GuardChannel } from "../sampling/guard.ts";
import { CHANNEL } from "../sampling/signal.ts";
import { EVERY_SECOND } from "./collector.ts";
import type { CollectorDefinition } from "./collector.ts";

/** iowait and steal of an idle CPU can step back a little (proc(5)): that is no time passed, not a reset. */
const STEP_BACK_SECONDS = 5;

/** Smallest change of the node's CPU use for which sleeping signals are woken. */
const GUARD_FLOOR_CORES = 0.1;

const NO_TIME = { user: 0, nice: 0, system: 0, idle: 0, iowait: 0, irq: 0, softirq: 0, steal: 0 };

function busyOf({ user, nice, system, irq, softirq }: CpuSeconds): number {
  return user + nice + system + irq + softirq;
}

/** Seconds that passed in every mode, undefined across a reset. */
export function cpuElapsed(before: CpuSeconds, now: CpuSeconds): CpuSeconds | undefined {
  const elapsed = { ...NO_TIME };
  for (const mode of CPU_MODES) {
    const delta = now[mode] - before[mode];
    if (delta < -STEP_BACK_SECONDS) return undefined;
    elapsed[mode] = Math.max(0, delta);
  }
  return elapsed;
}

/** Counters with what the kernel's own gained: a counter that is exposed must not go back as those do. */
function carriedOn(shown: CpuSeconds, before: CpuSeconds, now: CpuSeconds): CpuSeconds {
  const carried = { ...NO_TIME };
  for (const mode of CPU_MODES) carried[mode] = shown[mode] + Math.max(0, now[mode] - before[mode]);
  return carried;
}

/** CPU time by mode, run queue and context switches: `/proc/stat`. */
export const cpu: CollectorDefinition = {
  name: "cpu",
  schedule: { kind: "counter", tolerance: 0.05, ...EVERY_SECOND },
  open: ({ reader, procfs }) => {
    const file = reader.file(procfs, "stat");
    const modes = new Table([
      {
        name: "tradewind_node_cpu_seconds_total",
        help: "CPU time of all CPUs together by mode. Guest time is part of user.",
        kind: "counter",
      },
    ]);
    const scheduler = new Table([
      { name: "tradewind_node_cpu_cores", help: "CPUs online.", kind: "gauge" },
      {
        name: "tradewind_node_context_switches_total",
        help: "Context switches of all CPUs.",
        kind: "counter",
      },
      { name: "tradewind_node_processes_running", help: "Tasks that run or wait to run.", kind: "gauge" },
      { name: "tradewind_node_processes_blocked", help: "Tasks that wait for I/O.", kind: "gauge" },
    ]);
    const guard = new GuardChannel({ kind: "counter", floor: GUARD_FLOOR_CORES });
    let before: CpuSeconds | undefined;
    let shown = NO_TIME;
    return {
      tables: [modes, scheduler],
      sample(time, { signals, wake }) {
        const stat = parseProcStat(file.text());
        shown = before === undefined ? stat.cpu : carriedOn(shown, before, stat.cpu);
        for (const mode of CPU_MODES) modes.row(mode, { mode }).values[0] = shown[mode];
        scheduler
          .row("")
          .values.set([
            stat.cpus,
            stat.contextSwitches ?? Number.NaN,
            stat.processesRunning ?? Number.NaN,
            stat.processesBlocked ?? Number.NaN,
          ]);
        const elapsed = before === undefined ? undefined : cpuElapsed(before, stat.cpu);
        before = stat.cpu;
        signals.set("cpu.cores", stat.cpus, time);
        signals.set("cpu.processesRunning", stat.processesRunning, time);
        const total = elapsed && CPU_MODES.reduce((sum, mode) => sum + elapsed[mode], 0);
        const busySeconds = busyOf(stat.cpu);
        if (guard.observe(busySeconds, time.seconds * 1e3)) wake(CHANNEL.cpu);
        // No tick passed since the last read: the values of that read still hold.
        if (total === 0) return busySeconds;
        const busyRatio = ratio(elapsed && busyOf(elapsed), total);
        signals.set("cpu.busyRatio", busyRatio, time);
        signals.set("cpu.busyCores", busyRatio === undefined ? undefined : busyRatio * stat.cpus, time);
        signals.set("cpu.stealRatio", ratio(elapsed?.steal, total), time);
        signals.set("cpu.iowaitRatio", ratio(elapsed?.iowait, total), time);
        return busySeconds;
      },
      close: () => file.close(),
    };
  },
};
