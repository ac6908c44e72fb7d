import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "@tradewind/core/process/clock.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { EndpointError } from "@tradewind/core/net/endpoint/error.ts";
import type { PrometheusSource } from "../prometheus/prometheus-source.ts";
import type { WindowStore } from "../../store/window-store.ts";
import { Pace } from "./pace.ts";
import { backfillTiers, BackfillPlan, gridOf } from "./plan.ts";
import type { Chunk } from "./plan.ts";

export interface BackfillProgress {
  readonly state: "running" | "done" | "stopped" | "failed";
  /** Share of the time to be read that is in the store, [0, 1]. */
  readonly doneRatio: number;
  readonly windows: number;
  readonly queriesRefused: number;
  /** Undefined before the first chunk. */
  readonly etaSeconds: number | undefined;
  /** Why it failed. */
  readonly problem: string | undefined;
}

export interface BackfillSettings {
  readonly source: PrometheusSource;
  readonly store: WindowStore;
  readonly windowSeconds: number;
  /** Days for which the store keeps windows as measured. */
  readonly rawDays: number;
  readonly log: Logger;
  readonly clock?: Clock;
  /** Called after every chunk. */
  readonly onProgress?: (progress: BackfillProgress) => void;
  /** Waits; tests replace it. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** After so many answers in a row that no smaller question cures, the rest is left for the next start. */
const MAX_REFUSALS = 8;
const REPORT_MS = 2_000;
/** Windows are written whenever so many wait. */
const WRITE_ROWS = 2_000;
/** Live windows are looked for in steps of this length. */
const LIVE_STEP_MS = 300_000;

/**
 * Fills the store with the past from a Prometheus-compatible server, newest first. What is done is written with its
 * windows, so that a killed backfill goes on where it was; live windows are never replaced.
 */
export class Backfill {
  private readonly settings: BackfillSettings;
  private readonly clock: Clock;
  private readonly pace: Pace;
  private readonly job: string;
  private readonly stopping = new AbortController();
  private plan: BackfillPlan | undefined;
  private state: BackfillProgress["state"] = "running";
  private problem: string | undefined;
  private finishedMs = 0;
  private windows = 0;
  private refused = 0;
  private beganMs = 0;
  private reportedMs = Number.NEGATIVE_INFINITY;

  constructor(settings: BackfillSettings) {
    const { url, metrics, namespaces, matchers, custom, backfill } = settings.source.options;
    const scope = Object.keys(matchers).length === 0 ? {} : { matchers };
    this.settings = settings;
    this.clock = settings.clock ?? systemClock;
    this.pace = new Pace(backfill);
    this.job = `backfill/${contentHash({ url, metrics, namespaces, custom, ...scope })}`;
  }

  /** Runs to the end, until stopped, or until the server refuses for good. Never throws. */
  async run(nowMs: number): Promise<BackfillProgress> {
    const { source, store, windowSeconds, rawDays, log } = this.settings;
    const { days, concurrency } = source.options.backfill;
    const fromMs = nowMs - days * 86_400_000;
    const known = [...store.doneChunks(this.job), ...store.liveStretches(fromMs, nowMs, LIVE_STEP_MS)];
    this.plan = new BackfillPlan(nowMs, days, backfillTiers(windowSeconds, rawDays), known);
    this.beganMs = this.clock.monotonicMs();
    log.info({ source: source.name, days: this.plan.totalMs / 86_400_000 }, "backfill begins");
    await Promise.all(Array.from({ length: concurrency }, async () => this.work(nowMs)));
    await store.flush();
    if (this.state === "running") this.state = this.stopping.signal.aborted ? "stopped" : "done";
    this.report(true);
    return this.progress();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.settings.store.flush();
  }

  progress(): BackfillProgress {
    const totalMs = this.plan?.totalMs ?? 0;
    const doneRatio = totalMs === 0 ? 1 : this.finishedMs / totalMs;
    const elapsedSeconds = (this.clock.monotonicMs() - this.beganMs) / 1_000;
    return {
      state: this.state,
      doneRatio,
      windows: this.windows,
      queriesRefused: this.refused,
      etaSeconds: this.finishedMs === 0 ? undefined : (elapsedSeconds * (1 - doneRatio)) / doneRatio,
      problem: this.problem,
    };
  }

  private async work(nowMs: number): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted && this.state === "running") {
      const chunk = this.plan?.take(this.pace.windows);
      if (chunk === undefined) return;
      try {
        await this.fetch(chunk, nowMs, signal);
        this.report(false);
      } catch (error) {
        this.plan?.giveBack(chunk);
        await this.backOff(error, signal);
      }
    }
  }

  private async fetch(chunk: Chunk, nowMs: number, signal: AbortSignal): Promise<void> {
    const { source, store } = this.settings;
    const grid = gridOf(chunk);
    const beganMs = this.clock.monotonicMs();
    const { sets, samples } = await source.history(grid, nowMs, signal);
    this.pace.answered(grid.count, samples, (this.clock.monotonicMs() - beganMs) / 1_000);
    let waiting = 0;
    for (const set of sets) {
      store.append(set, "backfill");
      this.windows += set.windows.length;
      waiting += set.windows.length;
      if (waiting < WRITE_ROWS) continue;
      waiting = 0;
      await this.written();
    }
    store.markDone(this.job, { startMs: chunk.startMs, endMs: chunk.endMs });
    await this.written();
    this.finishedMs += chunk.endMs - chunk.startMs;
  }

  /** @throws TradewindError `store` when what was read cannot be kept: reading on would only lose it */
  private async written(): Promise<void> {
    const { store } = this.settings;
    await store.flush();
    const { state, problem } = store.health();
    if (state === "disk-full" || state === "failing") {
      throw new TradewindError("store", `the history cannot be kept: ${problem ?? state}`);
    }
  }

  private async backOff(error: unknown, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.state !== "running") return;
    this.refused += 1;
    this.problem = describeError(error);
    const pauseMs = this.pace.refused(error instanceof EndpointError ? error.retryAfterMs : undefined);
    const hope = hopeOf(error);
    if (hope === "none" || (hope === "smaller" && this.pace.refusalsInARow >= MAX_REFUSALS)) {
      this.state = "failed";
      return;
    }
    const facts = { source: this.settings.source.name, pauseSeconds: pauseMs / 1_000, problem: this.problem };
    if (this.pace.refusalsInARow === 1) this.settings.log.warn(facts, "backfill pauses");
    else this.settings.log.debug(facts, "backfill pauses");
    await (this.settings.wait ?? waitOrStop)(pauseMs, signal);
  }

  private report(last: boolean): void {
    const progress = this.progress();
    this.settings.onProgress?.(progress);
    const nowMs = this.clock.monotonicMs();
    if (!last && nowMs - this.reportedMs < REPORT_MS) return;
    this.reportedMs = nowMs;
    const { state, doneRatio, windows, etaSeconds, problem } = progress;
    const facts = {
      source: this.settings.source.name,
      state,
      percent: Math.floor(doneRatio * 100),
      windows,
      ...(etaSeconds === undefined || last ? {} : { etaSeconds: Math.ceil(etaSeconds) }),
      ...(state === "failed" ? { problem } : {}),
    };
    if (state === "failed") this.settings.log.error(facts, "backfill gave up; it goes on at the next start");
    else this.settings.log.info(facts, last ? "backfill ends" : "backfill");
  }
}

/** What may cure a failure: time alone, a smaller question, or nothing that happens by itself. */
function hopeOf(error: unknown): "time" | "smaller" | "none" {
  if (!(error instanceof EndpointError)) return "none";
  if (["unreachable", "busy", "timeout", "partial", "circuit-open"].includes(error.failure)) return "time";
  return ["too-large", "server-error"].includes(error.failure) ? "smaller" : "none";
}

async function waitOrStop(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);
}
