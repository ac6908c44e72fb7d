import { Table } from "../expose/table.ts";
import { flatValue } from "../parse/flat-keyed.ts";
import { malformed } from "../parse/malformed.ts";
import { Rate } from "../read/rate.ts";
import { CHANNEL } from "../sampling/signal.ts";
import type { NodeSignalName } from "../sampling/signals.ts";
import type { CollectorDefinition } from "./collector.ts";

interface Counter {
  readonly name: string;
  readonly help: string;
  /** Keys to add up; kernels differ by zone and by version, so absent ones are skipped. */
  readonly keys: readonly string[];
  readonly signal?: NodeSignalName;
}

const COUNTERS: readonly Counter[] = [
  { name: "page_faults_total", help: "Page faults, minor and major.", keys: ["pgfault"] },
  {
    name: "major_page_faults_total",
    help: "Page faults that had to read from disk.",
    keys: ["pgmajfault"],
    signal: "memory.majorFaultsPerSecond",
  },
  {
    name: "refaulted_pages_total",
    help: "Pages read again soon after they were reclaimed: the working set does not fit.",
    keys: ["workingset_refault", "workingset_refault_anon", "workingset_refault_file"],
    signal: "memory.refaultsPerSecond",
  },
  {
    name: "direct_scanned_pages_total",
    help: "Pages that allocating tasks had to scan themselves to reclaim memory.",
    keys: ["pgscan_direct"],
    signal: "memory.directScannedPagesPerSecond",
  },
  {
    name: "direct_reclaimed_pages_total",
    help: "Pages that allocating tasks reclaimed themselves.",
    keys: ["pgsteal_direct"],
  },
  { name: "background_scanned_pages_total", help: "Pages scanned by kswapd.", keys: ["pgscan_kswapd"] },
  { name: "background_reclaimed_pages_total", help: "Pages reclaimed by kswapd.", keys: ["pgsteal_kswapd"] },
  {
    name: "allocation_stalls_total",
    help: "Allocations that entered direct reclaim.",
    keys: [
      "allocstall",
      "allocstall_dma",
      "allocstall_dma32",
      "allocstall_normal",
      "allocstall_movable",
      "allocstall_device",
    ],
    signal: "memory.allocationStallsPerSecond",
  },
  {
    name: "compaction_stalls_total",
    help: "Allocations that waited for compaction.",
    keys: ["compact_stall"],
  },
  { name: "swapped_in_pages_total", help: "Pages swapped in.", keys: ["pswpin"] },
  { name: "swapped_out_pages_total", help: "Pages swapped out.", keys: ["pswpout"] },
  {
    name: "huge_page_fallbacks_total",
    help: "Faults that found no huge page and took small ones.",
    keys: ["thp_fault_fallback"],
  },
  { name: "out_of_memory_kills_total", help: "Processes killed for want of memory.", keys: ["oom_kill"] },
];

/** What tells that memory runs short: disk reads that memory should have saved, and reclaim by those who allocate. */
const JUDGED = [
  "pgmajfault",
  "workingset_refault",
  "workingset_refault_anon",
  "workingset_refault_file",
  "pgscan_direct",
];

function sumOfKeys(text: string, keys: readonly string[]): number | undefined {
  let sum: number | undefined;
  for (const key of keys) {
    const value = flatValue(text, key);
    if (value !== undefined) sum = (sum ?? 0) + value;
  }
  return sum;
}

/** Faults, refaults, reclaim and stalls of the node's memory: `/proc/vmstat`. */
export const vmstat: CollectorDefinition = {
  name: "vmstat",
  schedule: { kind: "counter", tolerance: 100, maxSeconds: 15, channels: CHANNEL.memory, costSeconds: 50e-6 },
  open: ({ reader, procfs }) => {
    const file = reader.list(procfs, "vmstat");
    const rates = COUNTERS.map(() => new Rate());
    const table = new Table(
      COUNTERS.map(({ name, help }) => ({ name: `tradewind_node_memory_${name}`, help, kind: "counter" })),
    );
    return {
      tables: [table],
      sample(time, { signals }) {
        const text = file.text();
        const { values } = table.row("");
        let found = 0;
        for (const [index, { keys, signal }] of COUNTERS.entries()) {
          const total = sumOfKeys(text, keys);
          values[index] = total ?? Number.NaN;
          if (total !== undefined) found += 1;
          const rate = rates[index]?.next(total, time.seconds);
          if (signal !== undefined) signals.set(signal, rate, time);
        }
        if (found === 0) throw malformed("/proc/vmstat", text);
        return sumOfKeys(text, JUDGED) ?? 0;
      },
      close: () => file.close(),
    };
  },
};
