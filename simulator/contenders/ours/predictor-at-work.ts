import type { Application } from "@tradewind/core/contract/application.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import { Deciding } from "@tradewind/predictor/deciding.ts";
import type { DecidingOptions } from "@tradewind/predictor/deciding.ts";
import { Learning } from "@tradewind/predictor/learning/learning.ts";
import type { LearningOptions } from "@tradewind/predictor/learning/learning.ts";
import type { ModelTrainer } from "@tradewind/predictor/learning/model-trainer.ts";
import { NodeRoom } from "@tradewind/predictor/node-room.ts";
import type { PolicyChoice } from "@tradewind/predictor/policy/inputs.ts";
import { PolicySettings } from "@tradewind/predictor/policy/settings.ts";
import { emptyState } from "@tradewind/predictor/policy/state.ts";
import { NOTHING_GATHERED } from "@tradewind/predictor/gathering.ts";
import { Published } from "@tradewind/predictor/published.ts";
import { SpanOrigins } from "@tradewind/predictor/sources/span-origins.ts";
import { trainEndToEnd } from "@tradewind/predictor/training/train-end-to-end.ts";
import { trainService } from "@tradewind/predictor/training/train-service.ts";
import { MemoryStore } from "./memory-store.ts";

/** Metrics, log and archive of a run that nobody reads: every method exists and does nothing. */
const SILENT: unknown = new Proxy({}, { get: () => () => undefined });

export interface PredictorOptions {
  readonly application: Application;
  readonly choice: PolicyChoice;
  readonly windowSeconds: number;
  readonly startedAtMs: number;
  readonly workloads: () => WorkloadList;
  /** Without it profiles stay with their queueing prior. */
  readonly isTraining: boolean;
}

const NEVER = { firstRows: Number.POSITIVE_INFINITY } as const;

/** The predictor's own trainings, made at once on this thread in place of another one. */
class TrainerHere implements ModelTrainer {
  made = 0;

  train(job: Parameters<ModelTrainer["train"]>[0]): ReturnType<ModelTrainer["train"]> {
    this.made += 1;
    return Promise.resolve(trainService(job, seededRng(job.seed)));
  }

  trainEndToEnd(
    job: Parameters<ModelTrainer["trainEndToEnd"]>[0],
  ): ReturnType<ModelTrainer["trainEndToEnd"]> {
    this.made += 1;
    return Promise.resolve(trainEndToEnd(job, seededRng(job.seed)));
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

/**
 * The predictor from a closed window to the published plan: its own `Deciding`, with its own learning, ladder and models,
 * around windows that the simulator's sources formed. A model that was trained is in use from the next window on: a training
 * takes less than the 15 s between two. Surges between two windows are not watched for.
 */
export class PredictorAtWork {
  private readonly deciding: Deciding;
  private readonly published: Published;
  private readonly learning: Learning | undefined;
  private readonly trainer = new TrainerHere();
  private windowSet: WindowSet | undefined;
  private nowMs: number;

  constructor(options: PredictorOptions) {
    const { application, choice, isTraining, startedAtMs, windowSeconds, workloads } = options;
    this.nowMs = startedAtMs;
    const clock = { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs };
    const log = SILENT as LearningOptions["log"];
    const store = new MemoryStore();
    const { namespace } = application;
    this.learning =
      choice === "queue" || choice === "static"
        ? undefined
        : new Learning({
            namespace,
            application: () => application,
            windowSeconds,
            store,
            trainer: this.trainer,
            metrics: SILENT as LearningOptions["metrics"],
            clock,
            log,
            ...(!isTraining && { settings: NEVER, flowSettings: NEVER }),
          });
    this.published = new Published(clock);
    this.deciding = new Deciding({
      application: () => application,
      options: { choice, settings: PolicySettings.parse({}) },
      state: emptyState(application.name, namespace),
      builder: { build: () => this.windowSet } as unknown as DecidingOptions["builder"],
      origins: new SpanOrigins(),
      rates: { over: () => new Map() } as unknown as DecidingOptions["rates"],
      workloads,
      nodes: new NodeRoom(),
      published: this.published,
      archive: SILENT as DecidingOptions["archive"],
      metrics: SILENT as DecidingOptions["metrics"],
      clock,
      log,
      onState: () => undefined,
      onWindows: (set) => store.append(set),
      ...(this.learning && { learning: this.learning }),
    });
  }

  get trainings(): number {
    return this.trainer.made;
  }

  /** @returns the plan as JSON, as `GET /v1/plan` gives it, and read; undefined while there is none */
  async close(
    set: WindowSet,
    nowMs: number,
  ): Promise<{ readonly text: string; readonly plan: Plan } | undefined> {
    this.windowSet = set;
    this.nowMs = nowMs;
    const { endMs, startMs } = set;
    const times = { startMs, endMs, fromMs: startMs, toMs: endMs };
    this.deciding.close({ ...times, era: 0, repeated: false, stoodStillMs: 0 }, NOTHING_GATHERED, []);
    await this.learning?.settled();
    const text = this.published.planText();
    const plan = this.published.plan();
    return text === undefined || plan === undefined ? undefined : { text, plan };
  }
}
