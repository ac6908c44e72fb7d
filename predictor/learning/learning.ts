import type { Clock } from "@tradewind/core/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { describeError } from "@tradewind/core/errors.ts";
import type { Logger } from "@tradewind/core/log.ts";
import type { ProfileState } from "../models/queue/tracked-profile.ts";
import type { FlowEvidence, ServiceEvidence } from "../policy/evidence.ts";
import type { Models } from "../policy/inputs.ts";
import type { RetrainSettings } from "../profile/replacement.ts";
import type { WindowStore } from "../store/window-store.ts";
import { FlowLearning } from "./flow-learning.ts";
import type { LearningMetrics } from "./metrics.ts";
import type { ModelTrainer } from "./model-trainer.ts";
import { ResidualLearning } from "./residual-learning.ts";
import type { ResidualSettings } from "./residual-learning.ts";
import { setsOf, storedWindows } from "./stored-windows.ts";

export interface LearningOptions {
  readonly namespace: string;
  /** The application as of now; undefined once it is gone. */
  readonly application: () => Application | undefined;
  readonly windowSeconds: number;
  /** How long a container counts as young, s. */
  readonly youngSeconds: number;
  readonly store: WindowStore;
  readonly trainer: ModelTrainer;
  readonly metrics: LearningMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings?: Partial<ResidualSettings>;
  readonly flowSettings?: Partial<RetrainSettings>;
}

/** How far back windows are read at a start. */
const RECALLED_SECONDS = 2 * 86_400;
/** Windows read back at a start, all services together. */
const MOST_RECALLED = 100_000;

/**
 * What is learnt while the predictor runs: residuals of the services' tracked profiles and of the flows' call graphs, one
 * training at a time on another thread. Nothing here throws or keeps a decision waiting.
 */
export class Learning {
  private readonly options: LearningOptions;
  private readonly residuals: ResidualLearning;
  private readonly flows: FlowLearning;
  private training: Promise<void> | undefined;
  private recalling: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(options: LearningOptions) {
    this.options = options;
    this.residuals = new ResidualLearning(options);
    this.flows = new FlowLearning({ ...options, settings: options.flowSettings });
  }

  /** Give back models in use, and those that were. */
  readonly models: Models = {
    residual: (hash) => this.residuals.byHash(hash)?.model,
    endToEnd: (hash) => this.flows.byHash(hash)?.model,
  };

  /** The file of a model in use, or of one that was. */
  modelText(hash: string): string | undefined {
    return (this.residuals.byHash(hash) ?? this.flows.byHash(hash))?.text;
  }

  /** Begins to read what the store knows of the past; goes on in the background. */
  recall(): void {
    this.recalling = this.recallPast().catch((error: unknown) => {
      this.options.log.warn({ problem: describeError(error) }, "the stored windows cannot be learnt from");
    });
  }

  /**
   * Takes in a window set, judging what is in use by it first, and begins the trainings that are due. Never throws.
   * @param served tracked profiles as they were before this window, which is what the last decision was made with
   */
  observe(set: WindowSet, served: readonly { service: string; profile: ProfileState }[] = []): void {
    try {
      this.learnFrom(set, new Map(served.map(({ profile, service }) => [service, profile])));
    } catch (error) {
      this.options.log.error({ problem: describeError(error) }, "nothing was learnt from this window");
    }
  }

  /** The residuals in use, by name of the service. */
  evidence(): ServiceEvidence[] {
    return this.residuals.evidence();
  }

  /** What is known of the flows' learnt residuals now, by name of the flow. */
  flowEvidence(): FlowEvidence[] {
    return this.flows.evidence();
  }

  /** Resolves when no training is under way; for tests and for the end. */
  async settled(): Promise<void> {
    await this.recalling;
    await this.training;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.residuals.stop();
    this.flows.stop();
    await this.options.trainer.stop();
    await this.settled();
  }

  private learnFrom(set: WindowSet, served: ReadonlyMap<string, ProfileState>): void {
    const windows = set.windows.filter((window) => this.isOurs(window));
    this.residuals.observe(windows, served);
    this.flows.observe(set);
    this.options.metrics.profiles(this.options.namespace, this.residuals.standings());
    this.training ??= this.trainDue()
      .catch((error: unknown) => {
        this.options.log.error({ problem: describeError(error) }, "training failed");
      })
      .finally(() => {
        this.training = undefined;
      });
  }

  private isOurs({ namespace, containers }: Window): boolean {
    return namespace === this.options.namespace && containers.length > 0;
  }

  private async recallPast(): Promise<void> {
    const { clock, namespace, store, windowSeconds } = this.options;
    const toMs = clock.nowMs();
    const fromMs = toMs - RECALLED_SECONDS * 1e3;
    let left = MOST_RECALLED;
    for await (const piece of storedWindows({ store, namespace, windowSeconds, fromMs, toMs })) {
      left -= piece.windows.length;
      if (this.stopped || left <= 0) return;
      for (const set of setsOf(store, piece, windowSeconds)) this.flows.recall(set);
    }
  }

  /** Trains whatever is due, what has waited longest first. */
  private async trainDue(): Promise<void> {
    for (;;) {
      const nowMs = this.options.clock.nowMs();
      const [next] = [...this.residuals.due(nowMs), ...this.flows.due(nowMs)].sort(
        (a, b) => (a.lastTriedMs ?? 0) - (b.lastTriedMs ?? 0),
      );
      if (next === undefined || this.stopped) return;
      await next.run();
    }
  }
}
