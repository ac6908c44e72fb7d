import { join } from "node:path";
import type { Clock } from "@tradewind/core/clock.ts";
import type { Logger } from "@tradewind/core/log.ts";
import type { Registry } from "prom-client";
import { Backfill } from "./backfill/backfill.ts";
import type { BackfillProgress } from "./backfill/backfill.ts";
import type { PrometheusSource } from "./sources/prometheus/prometheus-source.ts";
import { HISTORY_FILE } from "./store/history-file.ts";
import { registerStoreMetrics } from "./store/metrics.ts";
import type { StoreOptions } from "./store/options.ts";
import { RetentionTime } from "./store/retention-time.ts";
import { SqliteStore } from "./store/sqlite-store.ts";
import type { WindowStore } from "./store/window-store.ts";

export interface HistoryOptions {
  /** State directory; without one the history lives in memory, and only a little of it. */
  readonly state: string | undefined;
  readonly store: StoreOptions;
  readonly windowSeconds: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
}

const MAINTENANCE_MS = 60_000;
const MEMORY_BYTES = 64 * 1_048_576;

/** The predictor's memory: windows as they are decided on, and the past read from the configured servers. */
export class History {
  readonly store: WindowStore;
  private readonly options: HistoryOptions;
  private readonly timer: NodeJS.Timeout;
  private backfills: Backfill[] = [];
  private running: Promise<unknown> = Promise.resolve();

  constructor(options: HistoryOptions) {
    const { state, store, clock, log, registry } = options;
    this.options = options;
    this.store = new SqliteStore({
      path: state === undefined ? undefined : join(state, HISTORY_FILE),
      options: state === undefined ? { ...store, maxBytes: Math.min(store.maxBytes, MEMORY_BYTES) } : store,
      log,
      clock,
    });
    registerStoreMetrics(
      registry,
      () => this.store.health(),
      () => this.progress(),
    );
    const time = new RetentionTime(clock);
    this.timer = setInterval(() => void this.store.maintain(time.nowMs()), MAINTENANCE_MS);
    this.timer.unref();
  }

  /** Begins to read the past of every source that has request metrics; goes on in the background. */
  backfill(sources: readonly PrometheusSource[]): void {
    const { clock, log, store, windowSeconds } = this.options;
    this.backfills = sources
      .filter(({ options }) => options.metrics !== "none" && options.backfill.enabled)
      .map(
        (source) =>
          new Backfill({ source, store: this.store, windowSeconds, rawDays: store.rawDays, log, clock }),
      );
    this.running = Promise.all(this.backfills.map(async (each) => each.run(clock.nowMs())));
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.backfills.map(async (each) => each.stop()));
    await this.running;
    await this.store.close();
  }

  /** The backfill that is furthest behind. */
  private progress(): BackfillProgress | undefined {
    return this.backfills.map((each) => each.progress()).sort((a, b) => a.doneRatio - b.doneRatio)[0];
  }
}
