import { Table } from "../expose/table.ts";
import { parseMemInfo } from "../parse/meminfo.ts";
import { GuardChannel } from "../sampling/guard.ts";
import { CHANNEL } from "../sampling/signal.ts";
import { EVERY_SECOND } from "./collector.ts";
import type { CollectorDefinition } from "./collector.ts";

const gauge = (name: string, help: string) => ({ name, help, kind: "gauge" }) as const;

const COLUMNS = [
  gauge("tradewind_node_memory_size_bytes", "Memory of the node."),
  gauge("tradewind_node_memory_available_bytes", "Memory that can be allocated without swapping."),
  gauge("tradewind_node_memory_free_bytes", "Memory in no use at all."),
  gauge("tradewind_node_memory_cached_bytes", "Page cache."),
  gauge("tradewind_node_memory_dirty_bytes", "Page cache not yet written to disk."),
  gauge("tradewind_node_memory_writeback_bytes", "Page cache being written to disk."),
  gauge("tradewind_node_swap_size_bytes", "Swap space of the node."),
  gauge("tradewind_node_swap_free_bytes", "Swap space not in use."),
];

/** Smallest change of the share of memory in use for which sleeping signals are woken. */
const GUARD_FLOOR_RATIO = 0.01;

/** How full the node's memory is: `/proc/meminfo`. */
export const memory: CollectorDefinition = {
  name: "memory",
  schedule: { kind: "gauge", tolerance: 64 * 1024 * 1024, ...EVERY_SECOND },
  open: ({ reader, procfs }) => {
    const file = reader.file(procfs, "meminfo");
    const table = new Table(COLUMNS);
    const guard = new GuardChannel({ kind: "gauge", floor: GUARD_FLOOR_RATIO });
    return {
      tables: [table],
      sample(time, { signals, wake }) {
        const info = parseMemInfo(file.text());
        table
          .row("")
          .values.set(
            [
              info.totalBytes,
              info.availableBytes,
              info.freeBytes,
              info.cachedBytes,
              info.dirtyBytes,
              info.writebackBytes,
              info.swapTotalBytes,
              info.swapFreeBytes,
            ].map((value) => value ?? Number.NaN),
          );
        signals.set("memory.totalBytes", info.totalBytes, time);
        signals.set("memory.availableBytes", info.availableBytes, time);
        const usedRatio = 1 - info.availableBytes / info.totalBytes;
        signals.set("memory.usedRatio", usedRatio, time);
        if (guard.observe(usedRatio, time.seconds * 1e3)) wake(CHANNEL.memory);
        return info.availableBytes;
      },
      close: () => file.close(),
    };
  },
};
