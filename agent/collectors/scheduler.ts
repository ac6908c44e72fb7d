import { Table } from "../expose/table.ts";
import { parseSchedStat } from "../parse/schedstat.ts";
import type { SchedStat } from "../parse/schedstat.ts";
import { Rate } from "../read/rate.ts";
import { CHANNEL } from "../sampling/signal.ts";
import type { CollectorDefinition } from "./collector.ts";

/** Run-queue wait of all CPUs: `/proc/schedstat`, only on kernels with CONFIG_SCHEDSTATS. */
export const scheduler: CollectorDefinition = {
  name: "scheduler",
  schedule: { kind: "counter", tolerance: 0.1, maxSeconds: 15, channels: CHANNEL.cpu },
  open: ({ reader, procfs }) => {
    const file = reader.list(procfs, "schedstat");
    const waiting = new Rate();
    const cpus = new Map<number, SchedStat>();
    const table = new Table([
      {
        name: "tradewind_node_run_queue_running_seconds_total",
        help: "Time tasks ran, all CPUs together.",
        kind: "counter",
      },
      {
        name: "tradewind_node_run_queue_waiting_seconds_total",
        help: "Time tasks waited on a run queue, summed over tasks and CPUs.",
        kind: "counter",
      },
      { name: "tradewind_node_run_queue_timeslices_total", help: "Time slices run.", kind: "counter" },
    ]);
    return {
      tables: [table],
      sample(time, { signals }) {
        for (const each of parseSchedStat(file.text())) cpus.set(each.cpu, each);
        // A CPU that went offline keeps what it counted: a total must not fall.
        const total = { runningSeconds: 0, waitingSeconds: 0, timeslices: 0 };
        for (const { runningSeconds, waitingSeconds, timeslices } of cpus.values()) {
          total.runningSeconds += runningSeconds;
          total.waitingSeconds += waitingSeconds;
          total.timeslices += timeslices;
        }
        table.row("").values.set([total.runningSeconds, total.waitingSeconds, total.timeslices]);
        signals.set("cpu.waitingCores", waiting.next(total.waitingSeconds, time.seconds), time);
        return total.waitingSeconds;
      },
      close: () => file.close(),
    };
  },
};
