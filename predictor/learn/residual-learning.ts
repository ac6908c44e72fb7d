import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { modelPercentile } from "../decide/cost/learn/percentile.ts";
import type { ProfileState } from "../models/queue/tracked-profile.ts";
import { readResidual, writeResidual } from "../models/residual/residual-model.ts";
import type { ResidualModel } from "../models/residual/residual-model.ts";
import { servedRow } from "../models/residual/served-rows.ts";
import { Standing } from "../models/residual/standing.ts";
import type { InUse } from "../models/residual/standing.ts";
import { LEAST_ROWS } from "../models/residual/train-residual.ts";
import type { ResidualOutcome } from "../models/residual/train-residual.ts";
import type { ResidualEvidence, ServiceEvidence } from "../decide/facts/evidence.ts";
import type { WindowStore } from "../store/window-store.ts";
import type { LearningMetrics, ProfileStanding } from "./metrics.ts";
import { ModelShelf, residualName } from "./model-shelf.ts";
import type { ShelvedModel } from "./model-shelf.ts";
import type { ModelTrainer } from "./model-trainer.ts";
import { reducedWindow, windowsToTrainOn } from "./service-windows.ts";
import { Tries } from "./tries.ts";

export interface ResidualLearningOptions {
  readonly namespace: string;
  /** The application as of now: its percentile says which of the self time. */
  readonly application: () => Application | undefined;
  readonly windowSeconds: number;
  /** How long a container counts as young, s. */
  readonly youngSeconds: number;
  readonly store: WindowStore;
  readonly trainer: Pick<ModelTrainer, "trainResidual">;
  readonly metrics: LearningMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings?: Partial<ResidualSettings> | undefined;
}

export interface ResidualSettings {
  /** Least time between two trainings of a service. */
  readonly restMs: number;
  /** How far back windows are trained on. */
  readonly historySeconds: number;
}

const DEFAULTS: ResidualSettings = { restMs: 5 * 60_000, historySeconds: 2 * 86_400 };

/** So many new windows always call for another training: an hour of 15 s. */
const MOST_NEW_ROWS = 240;
/** A service that nobody has reported for so long is forgotten. */
const FORGET_MS = 3_600_000;

interface Learner {
  readonly standing: Standing;
  readonly tries: Tries;
  /** Usable windows since the last deploy or change of the percentile, stored ones included once a training has counted them. */
  rows: number;
  /** The same when it was last tried. */
  rowsTried: number;
  lastSeenMs: number;
  revision: string | undefined;
  /** Of the self time, that its rows and residuals are of. */
  percentile: number | undefined;
  version: number;
}

/**
 * Residuals of the services' tracked profiles while the predictor runs: each window judges them, trainings on another thread make
 * new ones. Nothing is remembered over a restart but the windows: the first training after it
 * reads them.
 */
export class ResidualLearning {
  private readonly options: ResidualLearningOptions;
  private readonly settings: ResidualSettings;
  private readonly shelf: ModelShelf<ResidualModel>;
  private readonly learners = new Map<string, Learner>();
  private stopped = false;

  constructor(options: ResidualLearningOptions) {
    this.options = options;
    this.settings = { ...DEFAULTS, ...options.settings };
    this.shelf = new ModelShelf(options.store, readResidual);
  }

  /** A model in use, or one that was, and its file. */
  byHash(hash: string): ShelvedModel<ResidualModel> | undefined {
    return this.shelf.byHash(hash);
  }

  /** @param served the profiles as they were before these windows, by service */
  observe(windows: readonly Window[], served: ReadonlyMap<string, ProfileState>): void {
    for (const window of windows) this.judge(window, served.get(window.service));
    const newestMs = windows.reduce((newest, { endMs }) => Math.max(newest, endMs), 0);
    for (const [service, { lastSeenMs }] of this.learners) {
      if (newestMs - lastSeenMs > FORGET_MS) this.learners.delete(service);
    }
  }

  /** The residual in use of each service that has one, and how well self times were predicted of late. */
  evidence(): ServiceEvidence[] {
    const services = [...this.learners].sort(([a], [b]) => (a < b ? -1 : 1));
    return services.flatMap(([service, { standing }]): ServiceEvidence[] => {
      const { accuracy, inUse } = standing;
      if (accuracy === undefined && inUse === undefined) return [];
      return [
        { service, ...(accuracy && { accuracy }), ...(inUse && { residual: residualEvidence(inUse) }) },
      ];
    });
  }

  standings(): ReadonlyMap<string, ProfileStanding> {
    return new Map(
      [...this.learners].map(([service, { rows, standing }]) => {
        const { accuracy, inUse } = standing;
        const residual = inUse && { version: inUse.model.version, weight: inUse.weight };
        return [service, { rows, ...(accuracy && { accuracy }), ...(residual && { residual }) }];
      }),
    );
  }

  /**
   * Trains the service that has waited longest of those that are due, and puts what comes of it to the test; never rejects.
   * @param nowMs on the monotonic clock
   */
  mostDue(nowMs: number): (() => Promise<void>) | undefined {
    const due = [...this.learners].filter(([, learner]) => this.isDue(learner, nowMs));
    due.sort(([, a], [, b]) => (a.tries.lastTriedMs ?? 0) - (b.tries.lastTriedMs ?? 0));
    const [next] = due;
    return next && (async () => this.train(...next));
  }

  /** Outcomes of trainings still under way are dropped from now on. */
  stop(): void {
    this.stopped = true;
  }

  private isDue({ rows, rowsTried, tries }: Learner, nowMs: number): boolean {
    const { lastTriedMs } = tries;
    const isRested = lastTriedMs === undefined || nowMs - lastTriedMs >= this.settings.restMs;
    // Windows of before may come into the store at any time, so it looks again and again until there are enough.
    const isEnough = rows >= LEAST_ROWS && rowsTried < LEAST_ROWS;
    return tries.hasEnded ? isRested && tries.hasGrown(rows) : isRested || isEnough;
  }

  private judge(window: Window, state: ProfileState | undefined): void {
    const learner = this.learnerOf(window.service);
    learner.lastSeenMs = window.endMs;
    const reduced = reducedWindow(window, this.options.youngSeconds);
    const application = this.options.application();
    if (reduced === undefined || application === undefined) return;
    const before = learner.revision;
    learner.revision = reduced.revision ?? before;
    if (before !== undefined && learner.revision !== before) this.begin(window.service, learner, "deployed");
    const percentile = modelPercentile(application.objective.percentile);
    if (learner.percentile !== undefined && learner.percentile !== percentile)
      this.begin(window.service, learner, "given another percentile");
    learner.percentile = percentile;
    const row = state && servedRow(state, reduced, percentile);
    if (row === undefined) return;
    learner.rows += 1;
    learner.standing.observe(row);
  }

  /** What was learnt is of something else. @param change what happened to the service */
  private begin(service: string, learner: Learner, change: string): void {
    if (learner.standing.inUse !== undefined)
      this.options.log.info({ service }, `the service was ${change}; its residual is no longer used`);
    learner.standing.forget();
    learner.rows = 0;
    learner.rowsTried = 0;
    learner.tries.restart();
  }

  private learnerOf(service: string): Learner {
    const known = this.learners.get(service);
    if (known !== undefined) return known;
    const made: Learner = {
      standing: new Standing(),
      tries: new Tries(MOST_NEW_ROWS),
      rows: 0,
      rowsTried: 0,
      lastSeenMs: 0,
      revision: undefined,
      percentile: undefined,
      version: 0,
    };
    this.learners.set(service, made);
    return made;
  }

  private async train(service: string, learner: Learner): Promise<void> {
    const { clock, log, metrics } = this.options;
    const beganMs = clock.monotonicMs();
    const { revision, tries } = learner;
    learner.rowsTried = learner.rows;
    tries.tried(beganMs);
    const outcome = await this.outcomeOf(service, learner.version + 1);
    if (this.stopped) return;
    const endedMs = clock.monotonicMs();
    tries.tried(endedMs);
    const seconds = (endedMs - beganMs) / 1e3;
    metrics.trained(outcome.kind, seconds);
    if (outcome.kind === "failed") {
      const level = tries.failed(outcome.why) ? "warn" : "debug";
      log[level]({ service, problem: outcome.why }, "a residual could not be trained, the old one goes on");
      return;
    }
    if (learner.revision !== revision && revision !== undefined) return;
    if (outcome.kind === "trained" && outcome.model.percentile !== this.percentile()) return;
    learner.rows = Math.max(learner.rows, outcome.rows);
    if (outcome.kind === "too-few-rows") return;
    tries.ended(learner.rows);
    this.offer(service, learner, outcome);
  }

  /** That models are of now; undefined without an application. */
  private percentile(): number | undefined {
    const application = this.options.application();
    return application && modelPercentile(application.objective.percentile);
  }

  private async outcomeOf(service: string, version: number): Promise<ResidualOutcome> {
    const { application, clock, namespace, store, trainer, windowSeconds, youngSeconds } = this.options;
    const now = application();
    if (now === undefined) return { kind: "failed", why: "the application is gone" };
    try {
      const nowMs = clock.nowMs();
      const fromMs = nowMs - this.settings.historySeconds * 1e3;
      const query = { store, namespace, service, windowSeconds, fromMs, toMs: nowMs };
      return await trainer.trainResidual({
        namespace,
        service,
        windows: await windowsToTrainOn(query, youngSeconds),
        percentile: modelPercentile(now.objective.percentile),
        version,
        nowMs,
        seed: Number.parseInt(contentHash([namespace, service, version]).slice(0, 7), 16),
      });
    } catch (error) {
      return { kind: "failed", why: describeError(error) };
    }
  }

  private offer(
    service: string,
    learner: Learner,
    { judgements, model }: Extract<ResidualOutcome, { kind: "trained" }>,
  ): void {
    const { log, metrics, namespace } = this.options;
    const { trainedAtMs: createdAtMs, trainingRows: rows, version } = model;
    const facts = { createdAtMs, metadata: { version, rows } };
    const shelved = this.shelf.save(residualName(namespace, service), writeResidual(model), facts);
    if (shelved instanceof TradewindError) {
      metrics.modelUnusable();
      log.error({ service, problem: describeError(shelved) }, "a residual just trained cannot be used");
      return;
    }
    learner.version = version;
    learner.standing.offer(shelved, judgements);
    const { inUse } = learner.standing;
    const used = { version: inUse?.model.version, weight: inUse?.weight ?? 0 };
    log.info(
      { service, trained: version, ...used },
      "a residual was trained; later windows say how much of it is used",
    );
  }
}

const residualEvidence = ({ hash, model, variance, weight, windows }: InUse): ResidualEvidence => ({
  hash,
  version: model.version,
  weight,
  variance,
  windows,
});
