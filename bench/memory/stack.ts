import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Application } from "@tradewind/core/contract/application.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { Deciding } from "@tradewind/predictor/run/application/deciding.ts";
import { NOTHING_GATHERED } from "@tradewind/predictor/run/application/gathering.ts";
import { InputsArchive } from "@tradewind/predictor/run/application/inputs-archive.ts";
import type { Learning } from "@tradewind/predictor/learn/learning.ts";
import { LearningMetrics } from "@tradewind/predictor/learn/metrics.ts";
import { ApplicationMetrics } from "@tradewind/predictor/run/application/application-metrics.ts";
import { startLearning } from "@tradewind/predictor/learn/start.ts";
import { PolicySettings } from "@tradewind/predictor/decide/facts/settings.ts";
import { emptyState } from "@tradewind/predictor/decide/state.ts";
import { SpanOrigins } from "@tradewind/predictor/sources/span-origins.ts";
import { Published } from "@tradewind/predictor/run/application/published.ts";
import { ContainerRates } from "@tradewind/predictor/sources/container-rates.ts";
import { HISTORY_FILE } from "@tradewind/predictor/store/history-file.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { TrainingThread } from "@tradewind/predictor/learn/training-thread.ts";
import { WindowBuilder } from "@tradewind/predictor/window/window-builder.ts";

export const WINDOW_MS = 15_000;
const GRACE_MS = 5_000;

/** What the predictor does with a window, from the store to the plan, on a clock that the caller moves. */
export class Stack {
  private readonly metrics = new ApplicationMetrics(this.clockOf(), "auto");
  private readonly folder = mkdtempSync(join(tmpdir(), "tradewind-memory-"));
  private readonly store: SqliteStore;
  private readonly learning: Learning;
  private readonly deciding: Deciding;
  private nowMs: number;

  constructor(startMs: number) {
    this.nowMs = startMs;
    const clock = this.clockOf();
    const log = createLog("memory", "silent");
    const application = Application.parse({ entry: "s0", objective: { milliseconds: 150 } });
    const { namespace } = application;
    this.store = new SqliteStore({ path: join(this.folder, HISTORY_FILE), log, clock });
    const learning = startLearning({
      choice: "auto",
      trainer: new TrainingThread({ timeoutMs: 300_000 }),
      namespace,
      application: () => application,
      windowSeconds: WINDOW_MS / 1e3,
      youngSeconds: 120,
      store: this.store,
      metrics: new LearningMetrics(this.metrics.registry),
      clock,
      log,
    });
    if (learning === undefined) throw new Error("nothing is learnt");
    this.learning = learning;
    this.deciding = new Deciding({
      application: () => application,
      options: { choice: "auto", settings: PolicySettings.parse({}) },
      state: emptyState(application.name, namespace),
      builder: new WindowBuilder({ windowSeconds: WINDOW_MS / 1e3, namespace }),
      origins: new SpanOrigins(),
      rates: new ContainerRates({ keepSeconds: 60, maxContainers: 1_000, onDrop: () => undefined }),
      workloads: () => undefined,
      published: new Published(clock),
      archive: new InputsArchive(64, 64 * 2 ** 20),
      metrics: this.metrics,
      clock,
      log,
      onState: () => undefined,
      onWindows: (set) => this.store.append(set),
      learning,
    });
  }

  /** Closes one window, waits for the training that it called for, and does the store's housekeeping. */
  async close(set: WindowSet): Promise<void> {
    this.nowMs = set.endMs + GRACE_MS;
    const { endMs, startMs } = set;
    const times = { startMs, endMs, fromMs: startMs, toMs: endMs };
    const window = { ...times, era: 0, repeated: false, stoodStillMs: 0 };
    this.deciding.close(window, { ...NOTHING_GATHERED, sets: [set] }, []);
    await this.learning.settled();
    await this.store.flush();
    if ((set.startMs / WINDOW_MS) % 4 === 0) await this.store.maintain(this.nowMs);
  }

  /** Trainings that ended, by what became of them. */
  async trainings(): Promise<Record<string, number>> {
    const text = await this.metrics.registry.metrics();
    const lines = text.matchAll(
      /^tradewind_predictor_(\w*trainings)_total\{.*result="([\w-]+)".*\} (\d+)$/gm,
    );
    return Object.fromEntries(
      [...lines].map(([, name, result, count]) => [`${name} ${result}`, Number(count)]),
    );
  }

  async stop(): Promise<void> {
    await this.learning.stop();
    await this.store.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private clockOf(): { nowMs: () => number; monotonicMs: () => number } {
    return { nowMs: () => this.nowMs, monotonicMs: () => performance.now() };
  }
}
