import type { Application } from "@tradewind/core/contract/application.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { Deciding } from "@tradewind/predictor/run/application/deciding.ts";
import type { DecidingOptions } from "@tradewind/predictor/run/application/deciding.ts";
import { trainResidual } from "@tradewind/predictor/models/residual/train-residual.ts";
import { Learning } from "@tradewind/predictor/learn/learning.ts";
import type { LearningOptions } from "@tradewind/predictor/learn/learning.ts";
import type { ModelTrainer } from "@tradewind/predictor/learn/model-trainer.ts";
import { NodeRoom } from "@tradewind/predictor/nodes/node-room.ts";
import type { PolicyChoice } from "@tradewind/core/contract/policy-choice.ts";
import { PolicySettings } from "@tradewind/predictor/decide/facts/settings.ts";
import type { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";
import { emptyState } from "@tradewind/predictor/decide/state.ts";
import { NOTHING_GATHERED } from "@tradewind/predictor/run/application/gathering.ts";
import { SurgeWatch } from "@tradewind/predictor/run/application/surge-watch.ts";
import type { CountedArrivals } from "@tradewind/predictor/window/surge.ts";
import { Published } from "@tradewind/predictor/run/application/published.ts";
import { SpanOrigins } from "@tradewind/predictor/sources/span-origins.ts";
import { MemoryStore } from "./memory-store.ts";

/** Metrics, log and archive of a run that nobody reads: every method exists and does nothing. */
const SILENT: unknown = new Proxy({}, { get: () => () => undefined });

export interface PredictorOptions {
  readonly application: Application;
  readonly choice: PolicyChoice;
  readonly windowSeconds: number;
  /** From the end of a window until it is decided on, ms. */
  readonly graceMs: number;
  readonly startedAtMs: number;
  readonly workloads: () => WorkloadList;
  /** Without it profiles stay with their queueing prior. */
  readonly isTraining: boolean;
  /** See `CostSettings`. */
  readonly seasons: boolean;
  readonly nodeSpeeds: boolean;
  /** What spans tell of requests between two windows. */
  readonly arrivals: CountedArrivals;
  /** Told the inputs of every decision that is published; absent where nobody records them. */
  readonly onInputs?: ((inputs: PolicyInputs) => void) | undefined;
}

/** The predictor's own trainings, made at once on this thread in place of another one. */
class TrainerHere implements ModelTrainer {
  made = 0;
  private readonly isTraining: boolean;

  constructor(isTraining: boolean) {
    this.isTraining = isTraining;
  }

  trainResidual(
    job: Parameters<ModelTrainer["trainResidual"]>[0],
  ): ReturnType<ModelTrainer["trainResidual"]> {
    if (!this.isTraining) return Promise.resolve({ kind: "too-few-rows", rows: 0 });
    const outcome = trainResidual(job, seededRng(job.seed));
    if (outcome.kind === "trained") this.made += 1;
    return Promise.resolve(outcome);
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }
}

/**
 * The predictor from a closed window to the published plan: its own `Deciding`, with its own learning, ladder and models,
 * around windows that the simulator's sources formed. A model that was trained is in use from the next window on: a training
 * takes less than the 15 s between two.
 */
export class PredictorAtWork {
  private readonly deciding: Deciding;
  private readonly published: Published;
  private readonly learning: Learning | undefined;
  private readonly trainer: TrainerHere;
  private readonly watch: SurgeWatch;
  private windowSet: WindowSet | undefined;
  private problem: string | undefined;
  private nowMs: number;

  constructor(options: PredictorOptions) {
    const { application, choice, isTraining, startedAtMs, windowSeconds, workloads } = options;
    this.nowMs = startedAtMs;
    this.trainer = new TrainerHere(isTraining);
    const clock = { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs };
    const log = this.logOf();
    const store = new MemoryStore();
    const { namespace } = application;
    const settings = PolicySettings.parse({
      cost: { seasons: options.seasons, nodeSpeeds: options.nodeSpeeds },
    });
    this.learning =
      choice === "queue" || choice === "static"
        ? undefined
        : new Learning({
            namespace,
            application: () => application,
            windowSeconds,
            youngSeconds: settings.cost.youngSeconds,
            store,
            trainer: this.trainer,
            metrics: SILENT as LearningOptions["metrics"],
            clock,
            log,
          });
    this.published = new Published(clock);
    this.deciding = new Deciding({
      application: () => application,
      options: { choice, settings },
      state: emptyState(application.name, namespace),
      builder: {
        build: () => this.windowSet,
        totals: () => ({ drops: {}, spansAccepted: 0 }),
        doubts: () => [],
      } as unknown as DecidingOptions["builder"],
      origins: new SpanOrigins(),
      rates: { over: () => new Map() },
      workloads,
      nodes: new NodeRoom(),
      published: this.published,
      archive: { add: (_hash, inputs) => options.onInputs?.(inputs) },
      metrics: SILENT as DecidingOptions["metrics"],
      surgeSince: (window) => this.watch.since(window),
      clock,
      log,
      onState: () => undefined,
      onWindows: (set) => store.append(set),
      ...(this.learning && { learning: this.learning }),
    });
    this.watch = new SurgeWatch({
      arrivals: options.arrivals,
      lastWindow: () => this.deciding.lastWindow,
      onSurge: (ratio) => this.deciding.surge(ratio),
      graceMs: options.graceMs,
      clock,
    });
  }

  /** A window without a plan is a mistake of the simulation, or of ours: it must not pass for a decision to hold. */
  private logOf(): LearningOptions["log"] {
    const error = (facts: { readonly problem?: string }): void => {
      this.problem = facts.problem ?? "unknown";
    };
    const silent = SILENT as Record<string, unknown>;
    return new Proxy(silent, {
      get: (target, name) => (name === "error" ? error : (Reflect.get(target, name) as unknown)),
    }) as unknown as LearningOptions["log"];
  }

  get trainings(): number {
    return this.trainer.made;
  }

  /** Decides on a closed window. @throws Error when that fails, which the predictor itself would log and survive */
  async close(set: WindowSet, nowMs: number): Promise<void> {
    this.windowSet = set;
    this.nowMs = nowMs;
    const { endMs, startMs } = set;
    const times = { startMs, endMs, fromMs: startMs, toMs: endMs };
    this.deciding.close({ ...times, era: 0, repeated: false, stoodStillMs: 0 }, NOTHING_GATHERED, []);
    await this.learning?.settled();
    if (this.problem !== undefined) throw new Error(`no plan for a simulated window: ${this.problem}`);
  }

  /** Looks for a surge since the last window; decides once more where there is one. */
  look(nowMs: number): void {
    this.nowMs = nowMs;
    this.watch.look();
  }

  /** The newest plan, read and as JSON, as `GET /v1/plan` gives it; undefined while there is none. */
  get newest(): { readonly plan: Plan; readonly text: string } | undefined {
    const plan = this.published.plan();
    const text = this.published.planText();
    return text === undefined || plan === undefined ? undefined : { text, plan };
  }
}
