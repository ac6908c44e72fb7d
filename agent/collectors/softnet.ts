import { Table } from "../expose/table.ts";
import { parseSoftNet } from "../parse/softnet.ts";
import { Unwrapped } from "../read/rate.ts";
import { CHANNEL } from "../sampling/signal.ts";
import type { CollectorDefinition } from "./collector.ts";
import { nodeNetPath } from "./network.ts";

/** What the kernel's receive path dropped or had to put off, all CPUs together: `/proc/net/softnet_stat`. */
export const softnet: CollectorDefinition = {
  name: "softnet",
  schedule: { kind: "counter", tolerance: 10, maxSeconds: 15, channels: CHANNEL.network },
  open: ({ reader, procfs }) => {
    const file = reader.list(nodeNetPath(procfs), "softnet_stat");
    const table = new Table([
      {
        name: "tradewind_node_softnet_processed_packets_total",
        help: "Packets taken off the receive queues.",
        kind: "counter",
      },
      {
        name: "tradewind_node_softnet_dropped_packets_total",
        help: "Packets dropped because a receive queue was full.",
        kind: "counter",
      },
      {
        name: "tradewind_node_softnet_squeezes_total",
        help: "Times the receive path ran out of budget with packets left.",
        kind: "counter",
      },
    ]);
    const counters = new Map<number, { processed: Unwrapped; dropped: Unwrapped; squeezed: Unwrapped }>();
    let rowsBefore: number | undefined;
    return {
      tables: [table],
      sample() {
        const rows = parseSoftNet(file.text());
        // Where rows have no CPU number, one row less or more may move all others to another CPU: their counts begin afresh.
        const isMoved = rowsBefore !== undefined && rows.length !== rowsBefore;
        rowsBefore = rows.length;
        for (const [index, each] of rows.entries()) {
          const cpu = each.cpu ?? index;
          const known = counters.get(cpu) ?? {
            processed: new Unwrapped(),
            dropped: new Unwrapped(),
            squeezed: new Unwrapped(),
          };
          counters.set(cpu, known);
          if (isMoved && each.cpu === undefined) {
            known.processed.rebase(each.processed);
            known.dropped.rebase(each.dropped);
            known.squeezed.rebase(each.timesSqueezed);
          }
          known.processed.next(each.processed);
          known.dropped.next(each.dropped);
          known.squeezed.next(each.timesSqueezed);
        }
        // A CPU that went offline keeps what it counted: a total must not fall.
        const total = { processed: 0, dropped: 0, squeezed: 0 };
        for (const { processed, dropped, squeezed } of counters.values()) {
          total.processed += processed.total;
          total.dropped += dropped.total;
          total.squeezed += squeezed.total;
        }
        table.row("").values.set([total.processed, total.dropped, total.squeezed]);
        return total.dropped + total.squeezed;
      },
      close: () => file.close(),
    };
  },
};
