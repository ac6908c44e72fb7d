import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { StoreHealth, StoreState } from "./window-store.ts";

const STATES: readonly StoreState[] = ["disk", "disk-full", "failing", "memory"];

/** Publishes how the history is doing; values are read when scraped. */
export function registerStoreMetrics(
  registry: Registry,
  health: () => StoreHealth,
  backfill: () => { readonly doneRatio: number } | undefined,
): void {
  const registers = [registry];
  const state = new Gauge({
    name: "tradewind_store_state",
    help: "1 for the state the history is in; anything but disk holds new windows in memory.",
    labelNames: ["state"],
    registers,
    collect() {
      const now = health().state;
      for (const each of STATES) this.set({ state: each }, each === now ? 1 : 0);
    },
  });
  state.reset();
  const gauge = (name: string, help: string, value: (health: StoreHealth) => number): void => {
    const metric = new Gauge({
      name: `tradewind_store_${name}`,
      help,
      registers,
      collect() {
        this.set(value(health()));
      },
    });
    metric.set(0);
  };
  const counter = (name: string, help: string, value: (health: StoreHealth) => number): void => {
    const metric = new Counter({
      name: `tradewind_store_${name}_total`,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(value(health()));
      },
    });
    metric.reset();
  };
  gauge("size_bytes", "Size of the history on disk, free pages not counted.", ({ bytes }) => bytes);
  gauge("max_bytes", "Size beyond which the oldest of the history goes.", ({ maxBytes }) => maxBytes);
  gauge("pending_windows", "Windows that wait to be written.", ({ pendingWindows }) => pendingWindows);
  counter("written_windows", "Windows written.", ({ writtenWindowsTotal }) => writtenWindowsTotal);
  counter(
    "lost_windows",
    "Windows given up because they could not be written.",
    ({ lostWindowsTotal }) => lostWindowsTotal,
  );
  counter("write_errors", "Reads and writes that failed.", ({ writeErrorsTotal }) => writeErrorsTotal);
  counter(
    "unreadable_rows",
    "Stored rows that were damaged.",
    ({ unreadableRowsTotal }) => unreadableRowsTotal,
  );
  counter("damaged_files", "Damaged files set aside.", ({ damagedFilesTotal }) => damagedFilesTotal);
  counter(
    "file_losses",
    "Times the file was deleted or replaced while it was open.",
    ({ fileLossesTotal }) => fileLossesTotal,
  );
  const progress = new Gauge({
    name: "tradewind_backfill_progress_ratio",
    help: "Share of the history asked for that has been read; absent when there is no backfill.",
    registers,
    collect() {
      const now = backfill();
      if (now === undefined) this.remove();
      else this.set(now.doneRatio);
    },
  });
  progress.reset();
}
