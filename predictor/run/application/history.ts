import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { RetentionTime } from "@tradewind/core/process/retention-time.ts";
import type { Registry } from "prom-client";
import { Backfill } from "../../sources/backfill/backfill.ts";
import type { BackfillProgress } from "../../sources/backfill/backfill.ts";
import { RESOLUTIONS } from "../../forecast/load-series.ts";
import type { PrometheusSource } from "../../sources/prometheus/prometheus-source.ts";
import { HISTORY_FILE } from "../../store/history-file.ts";
import { registerStoreMetrics } from "../../store/metrics.ts";
import type { StoreOptions } from "../../store/options.ts";
import { SqliteStore } from "../../store/sqlite-store.ts";
import type { WindowStore } from "../../store/window-store.ts";
import { pastLoadOf } from "./past-load.ts";
import type { PastLoad } from "./past-load.ts";

export interface HistoryOptions {
  /** State directory; without one the history lives in memory, and only a little of it. */
  readonly state: string | undefined;
  readonly store: StoreOptions;
  /** As {@link SqliteStore} is given it. */
  readonly sharers?: (() => number) | undefined;
  readonly windowSeconds: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly registry: Registry;
}

const MAINTENANCE_MS = 60_000;
const LOOK_BACK_MS = Math.max(...RESOLUTIONS.map(({ most, stepMs }) => most * stepMs));
/** Windows are read for so long a time at once; their lengths divide it. */
const SLICE_MS = 6 * 3_600_000;

/** The predictor's memory: windows as they are decided on, and the past read from the configured servers. */
export class History {
  readonly store: WindowStore;
  private readonly options: HistoryOptions;
  private readonly timer: NodeJS.Timeout;
  private backfills: Backfill[] = [];
  private running: Promise<unknown> = Promise.resolve();

  constructor(options: HistoryOptions) {
    const { state, store, clock, log, registry, sharers } = options;
    this.options = options;
    this.store = new SqliteStore({
      path: state === undefined ? undefined : join(state, HISTORY_FILE),
      options: store,
      log,
      clock,
      sharers,
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

  /**
   * Begins to read the past of every source that has request metrics; goes on in the background.
   * @param onEnd called once no more is read; nobody is told where there is nothing to read
   */
  backfill(sources: readonly PrometheusSource[], onEnd: () => void): void {
    const { clock, log, store, windowSeconds } = this.options;
    this.backfills = sources
      .filter(({ options }) => options.metrics !== "none" && options.backfill.enabled)
      .map(
        (source) =>
          new Backfill({ source, store: this.store, windowSeconds, rawDays: store.rawDays, log, clock }),
      );
    const running = Promise.all(this.backfills.map(async (each) => each.run(clock.nowMs())));
    this.running = this.backfills.length === 0 ? running : running.then(onEnd);
  }

  /**
   * Load of a service over the time that forecasts look back, by rising start. Reads in slices, so that requests are served meanwhile.
   */
  async loadOf(service: string, namespace: string): Promise<PastLoad[]> {
    const nowMs = this.options.clock.nowMs();
    const loads: PastLoad[] = [];
    const firstMs = Math.floor((nowMs - LOOK_BACK_MS) / SLICE_MS) * SLICE_MS;
    for (let fromMs = firstMs; fromMs < nowMs; fromMs += SLICE_MS) {
      const toMs = fromMs + SLICE_MS;
      for (const window of this.store.windows({ service, namespace, fromMs, toMs })) {
        const load = pastLoadOf(window);
        if (load !== undefined) loads.push(load);
      }
      await nextTurn();
    }
    return loads;
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
