import { registerReadMetrics } from "@tradewind/core/process/read-series.ts";
import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { StoreHealth, StoreState } from "./window-store.ts";

const STATES: readonly StoreState[] = ["disk", "disk-full", "failing", "memory"];

/** What is read of the history, by the name after `tradewind_store_`. */
const VALUES: readonly (readonly [
  kind: "counter" | "gauge",
  name: string,
  help: string,
  value: (health: StoreHealth) => number,
])[] = [
  ["gauge", "size_bytes", "Size of the history on disk, free pages not counted.", ({ bytes }) => bytes],
  ["gauge", "max_bytes", "Size beyond which the oldest of the history goes.", ({ maxBytes }) => maxBytes],
  ["gauge", "pending_windows", "Windows that wait to be written.", (health) => health.pendingWindows],
  ["counter", "written_windows_total", "Windows written.", (health) => health.writtenWindowsTotal],
  [
    "counter",
    "lost_windows_total",
    "Windows given up because they could not be written.",
    (health) => health.lostWindowsTotal,
  ],
  ["counter", "write_errors_total", "Reads and writes that failed.", (health) => health.writeErrorsTotal],
  [
    "counter",
    "unreadable_rows_total",
    "Stored rows that were damaged.",
    (health) => health.unreadableRowsTotal,
  ],
  ["counter", "damaged_files_total", "Damaged files set aside.", (health) => health.damagedFilesTotal],
  [
    "counter",
    "file_losses_total",
    "Times the file was deleted or replaced while it was open.",
    (health) => health.fileLossesTotal,
  ],
];

/** Publishes how the history is doing; values are read when scraped. */
export function registerStoreMetrics(
  registry: Registry,
  health: () => StoreHealth,
  backfill: () => { readonly doneRatio: number } | undefined,
): void {
  registerReadMetrics(registry, { Counter, Gauge }, [
    {
      kind: "gauge",
      name: "tradewind_store_state",
      help: "1 for the state the history is in; anything but disk holds new windows in memory.",
      labelNames: ["state"],
      read: () => STATES.map((state) => [{ state }, Number(state === health().state)]),
    },
    ...VALUES.map(
      ([kind, name, help, value]) =>
        ({ kind, name: `tradewind_store_${name}`, help, read: () => value(health()) }) as const,
    ),
    {
      kind: "gauge",
      name: "tradewind_backfill_progress_ratio",
      help: "Share of the history asked for that has been read; absent when there is no backfill.",
      read: () => backfill()?.doneRatio,
    },
  ]);
}
