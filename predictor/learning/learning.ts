import type { Clock } from "@tradewind/core/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { TradewindError, describeError } from "@tradewind/core/errors.ts";
import { contentHash } from "@tradewind/core/hash.ts";
import type { Logger } from "@tradewind/core/log.ts";
import type { FlowEvidence, ServiceEvidence } from "../policy/evidence.ts";
import type { Models } from "../policy/inputs.ts";
import { readModel, writeModel } from "../profile/model-file.ts";
import { ALL_ON } from "../profile/model.ts";
import type { ProfileModel } from "../profile/model.ts";
import { RETRAIN_DEFAULTS, retrainReason } from "../profile/replacement.ts";
import type { RetrainReason, RetrainSettings } from "../profile/replacement.ts";
import { TrainedProfile } from "../profile/trained-profile.ts";
import type { WindowStore } from "../store/window-store.ts";
import type { TrainingOutcome } from "../training/train-service.ts";
import { FlowLearning } from "./flow-learning.ts";
import type { LearningMetrics, ProfileStanding } from "./metrics.ts";
import { ModelShelf, profileName } from "./model-shelf.ts";
import type { DueTraining, ModelTrainer } from "./model-trainer.ts";
import { OWN_PERCENTILE, ServiceRecord } from "./service-record.ts";
import { MOST_ROWS, setsOf, storedWindows, windowsToTrainOn } from "./stored-windows.ts";
import { Tries } from "./tries.ts";

export interface LearningOptions {
  readonly namespace: string;
  /** The application as of now; undefined once it is gone. */
  readonly application: () => Application | undefined;
  readonly windowSeconds: number;
  readonly store: WindowStore;
  readonly trainer: ModelTrainer;
  readonly metrics: LearningMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings?: Partial<LearningSettings>;
  readonly flowSettings?: Partial<RetrainSettings>;
}

export interface LearningSettings extends RetrainSettings {
  /** Load per core, 95th over 5th percentile of the windows: with less than this there is no curve to learn. */
  readonly leastLoadSpread: number;
  /** How far back windows are trained on. */
  readonly historySeconds: number;
}

/**
 * A first training needs 40 rows to learn from, of which 64 % of all windows are left, and some more to be judged by. A
 * training takes seconds of one core, so each service rests for five minutes.
 */
const DEFAULTS: LearningSettings = {
  ...RETRAIN_DEFAULTS,
  firstRows: 80,
  restMs: 5 * 60_000,
  leastLoadSpread: 1.5,
  historySeconds: 2 * 86_400,
};

/** Windows read back at a start, all services together. */
const MOST_RECALLED = 100_000;

/** A service that nobody has reported for so long is forgotten. */
const FORGET_MS = 3_600_000;

interface Learner {
  readonly record: ServiceRecord;
  readonly tries: Tries;
}

/**
 * Latency profiles of all services while the predictor runs: the queueing prior from the last windows, at once and always;
 * trained profiles, judged on later windows before they replace anything; errors watched, so that what drifts is trained
 * anew. The flows' residuals beside them take their turns: one training at a time on another thread. Nothing here throws
 * or keeps a decision waiting.
 */
export class Learning {
  private readonly options: LearningOptions;
  private readonly settings: LearningSettings;
  private readonly shelf: ModelShelf<TrainedProfile>;
  private readonly flows: FlowLearning;
  private readonly learners = new Map<string, Learner>();
  private training: Promise<void> | undefined;
  private recalling: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(options: LearningOptions) {
    this.options = options;
    this.settings = { ...DEFAULTS, ...options.settings };
    this.shelf = new ModelShelf(options.store, readProfile);
    this.flows = new FlowLearning({ ...options, settings: options.flowSettings });
  }

  /** Give back models in use, and those that were. */
  readonly models: Models = {
    profile: (hash) => this.shelf.byHash(hash)?.model,
    endToEnd: (hash) => this.flows.byHash(hash)?.model,
  };

  /** The file of a model in use, or of one that was. */
  modelText(hash: string): string | undefined {
    return (this.shelf.byHash(hash) ?? this.flows.byHash(hash))?.text;
  }

  /** Begins to read what the store knows of the past; goes on in the background. */
  recall(): void {
    this.recalling = this.recallPast().catch((error: unknown) => {
      this.options.log.warn({ problem: describeError(error) }, "the stored windows cannot be learnt from");
    });
  }

  /** Takes in a window set, judging the profiles by it first, and begins a training when one is due. Never throws. */
  observe(set: WindowSet): void {
    try {
      this.learnFrom(set);
    } catch (error) {
      this.options.log.error({ problem: describeError(error) }, "nothing was learnt from this window");
    }
  }

  /** What is known of the profiles now, by service name. */
  evidence(): ServiceEvidence[] {
    const services = [...this.learners.keys()].sort();
    return services.flatMap((service) => this.learners.get(service)?.record.evidence(service) ?? []);
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
    this.flows.stop();
    await this.options.trainer.stop();
    await this.settled();
  }

  private learnFrom(set: WindowSet): void {
    for (const window of set.windows) {
      if (this.isOurs(window)) this.learnerOf(window.service).record.observe(window);
    }
    for (const [service, { record }] of this.learners) {
      if (set.endMs - record.lastSeenMs > FORGET_MS) this.learners.delete(service);
    }
    this.flows.observe(set);
    this.options.metrics.profiles(this.options.namespace, this.standings());
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

  private learnerOf(service: string): Learner {
    const known = this.learners.get(service);
    if (known !== undefined) return known;
    const made: Learner = { record: new ServiceRecord(), tries: new Tries(MOST_ROWS) };
    this.learners.set(service, made);
    const { namespace } = this.options;
    const stored = this.shelf.newest(profileName(namespace, service), ({ model }) =>
      model.namespace === namespace && model.service === service ? undefined : `is of '${model.service}'`,
    );
    if (stored instanceof TradewindError) {
      this.options.metrics.modelUnusable();
      this.options.log.error(
        { service, problem: describeError(stored) },
        "a stored model cannot be used, the service goes on with the queueing prior",
      );
    } else if (stored !== undefined) made.record.use(stored.hash, stored.model);
    return made;
  }

  private standings(): ReadonlyMap<string, ProfileStanding> {
    const standings = new Map<string, ProfileStanding>();
    for (const [service, { record }] of this.learners) {
      const evidence = record.evidence(service) ?? { service };
      standings.set(service, { evidence, rows: record.rows });
    }
    return standings;
  }

  private async recallPast(): Promise<void> {
    const { clock, namespace, store, windowSeconds } = this.options;
    const toMs = clock.nowMs();
    const fromMs = toMs - this.settings.historySeconds * 1e3;
    let left = MOST_RECALLED;
    for await (const piece of storedWindows({ store, namespace, windowSeconds, fromMs, toMs })) {
      left -= piece.windows.length;
      if (this.stopped || left <= 0) return;
      for (const window of [...piece.windows].reverse()) {
        if (this.isOurs(window)) this.learnerOf(window.service).record.recall(window);
      }
      for (const set of setsOf(store, piece, windowSeconds)) this.flows.recall(set);
    }
  }

  /** Trains the service or flow that has waited longest of those that are due. */
  private async trainDue(): Promise<void> {
    const nowMs = this.options.clock.nowMs();
    const services = [...this.learners].flatMap(([service, learner]): DueTraining[] => {
      const reason = this.whyTrain(learner, nowMs);
      if (reason === undefined) return [];
      const { lastTriedMs } = learner.tries;
      return [{ lastTriedMs, run: async () => this.train(service, learner, reason) }];
    });
    const [next] = [...services, ...this.flows.due(nowMs)].sort(
      (a, b) => (a.lastTriedMs ?? 0) - (b.lastTriedMs ?? 0),
    );
    if (next !== undefined && !this.stopped) await next.run();
  }

  private whyTrain({ record, tries }: Learner, nowMs: number): RetrainReason | undefined {
    if (record.loadSpread() < this.settings.leastLoadSpread) return undefined;
    const model = record.model?.model;
    const age = model && {
      trainedAtMs: model.trainedAtMs,
      trainingRows: model.trainingRows,
      meanAbsoluteRatio: model.errors.meanAbsoluteRatio,
    };
    const reason = retrainReason(age, record.trainingEvidence(nowMs), tries.lastTriedMs, this.settings);
    const isForRows = reason === "first" || reason === "more-evidence";
    return isForRows && !tries.hasGrown(record.rows) ? undefined : reason;
  }

  private async train(service: string, learner: Learner, reason: RetrainReason): Promise<void> {
    const { clock, log, metrics, namespace } = this.options;
    const nowMs = clock.nowMs();
    const beganMs = clock.monotonicMs();
    const { rows } = learner.record;
    learner.tries.tried(nowMs);
    const outcome = await this.outcomeOf(service, learner.record.model?.model, nowMs);
    if (this.stopped) return;
    learner.tries.tried(clock.nowMs());
    const seconds = (clock.monotonicMs() - beganMs) / 1e3;
    metrics.trained(outcome.kind, seconds);
    if (outcome.kind === "failed") {
      const level = learner.tries.failed(outcome.why) ? "warn" : "debug";
      log[level](
        { service, problem: outcome.why },
        "a latency profile could not be trained, the old one goes on",
      );
      return;
    }
    learner.tries.ended(rows);
    if (outcome.kind !== "replaced") {
      log.debug({ namespace, service, reason, ...outcome }, "no new latency profile");
      return;
    }
    this.takeIntoUse(service, learner, outcome.model, { reason, seconds, before: outcome.previousRatio });
  }

  private async outcomeOf(
    service: string,
    current: ProfileModel | undefined,
    nowMs: number,
  ): Promise<TrainingOutcome> {
    const { namespace, store, trainer, windowSeconds } = this.options;
    try {
      const fromMs = nowMs - this.settings.historySeconds * 1e3;
      const query = { store, namespace, service, windowSeconds, fromMs, toMs: nowMs };
      return await trainer.train({
        namespace,
        service,
        windows: await windowsToTrainOn(query, OWN_PERCENTILE),
        percentile: OWN_PERCENTILE,
        switches: ALL_ON,
        current,
        nowMs,
        seed: Number.parseInt(contentHash([namespace, service, current?.version ?? 0]).slice(0, 7), 16),
      });
    } catch (error) {
      return { kind: "failed", why: describeError(error) };
    }
  }

  private takeIntoUse(
    service: string,
    { record }: Learner,
    model: ProfileModel,
    facts: { readonly reason: string; readonly seconds: number; readonly before: number | undefined },
  ): void {
    const { log, metrics, namespace, store } = this.options;
    const name = profileName(namespace, service);
    const { trainedAtMs: atMs, trainingRows, version } = model;
    const { meanAbsoluteRatio, coverage } = model.errors;
    const metadata = { version, rows: trainingRows, meanAbsoluteRatio, coverage };
    const shelved = this.shelf.save(name, writeModel(model), { createdAtMs: atMs, metadata });
    if (shelved instanceof TradewindError) {
      metrics.modelUnusable();
      log.error({ service, problem: describeError(shelved) }, "a model just trained cannot be used");
      return;
    }
    const { hash } = shelved;
    record.use(hash, shelved.model);
    store.appendModelErrors([
      { name, hash, atMs, measure: "mape", value: meanAbsoluteRatio },
      { name, hash, atMs, measure: "coverage", value: coverage },
    ]);
    log.info(
      { service, version, rows: trainingRows, error: meanAbsoluteRatio, ...facts },
      "a new latency profile is in use",
    );
  }
}

function readProfile(text: string): TrainedProfile | TradewindError {
  const model = readModel(text);
  return model instanceof TradewindError ? model : new TrainedProfile(model);
}
