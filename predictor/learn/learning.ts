import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { ProfileState } from "../models/queue/tracked-profile.ts";
import type { ServiceEvidence } from "../decide/facts/evidence.ts";
import type { Models } from "../decide/facts/evidence.ts";
import type { ModelTrainer } from "./model-trainer.ts";
import { ResidualLearning } from "./residual-learning.ts";
import type { ResidualLearningOptions } from "./residual-learning.ts";

export interface LearningOptions extends ResidualLearningOptions {
  readonly trainer: ModelTrainer;
}

/**
 * What is learnt while the predictor runs: residuals of the services' tracked profiles, one training at a time on another
 * thread. Nothing here throws or keeps a decision waiting.
 */
export class Learning {
  private readonly options: LearningOptions;
  private readonly residuals: ResidualLearning;
  private training: Promise<void> | undefined;
  private stopped = false;

  constructor(options: LearningOptions) {
    this.options = options;
    this.residuals = new ResidualLearning(options);
  }

  /** Give back models in use, and those that were. */
  readonly models: Models = { residual: (hash) => this.residuals.byHash(hash)?.model };

  /** The file of a model in use, or of one that was. */
  modelText(hash: string): string | undefined {
    return this.residuals.byHash(hash)?.text;
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

  /** Resolves when no training is under way; for tests and for the end. */
  async settled(): Promise<void> {
    await this.training;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.residuals.stop();
    await this.options.trainer.stop();
    await this.settled();
  }

  private learnFrom(set: WindowSet, served: ReadonlyMap<string, ProfileState>): void {
    const windows = set.windows.filter((window) => this.isOurs(window));
    this.residuals.observe(windows, served);
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

  /** Trains whatever is due, what has waited longest first. */
  private async trainDue(): Promise<void> {
    for (;;) {
      const next = this.residuals.mostDue(this.options.clock.monotonicMs());
      if (next === undefined || this.stopped) return;
      await next();
    }
  }
}
