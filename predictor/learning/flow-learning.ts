import type { Clock } from "@tradewind/core/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { FlowWindow, WindowSet } from "@tradewind/core/contract/window.ts";
import { describeError, TradewindError } from "@tradewind/core/errors.ts";
import { contentHash } from "@tradewind/core/hash.ts";
import type { Logger } from "@tradewind/core/log.ts";
import { readAttention, writeAttention } from "../endtoend/attention-file.ts";
import type { AttentionModel } from "../endtoend/attention-model.ts";
import type { FlowEvidence } from "../policy/evidence.ts";
import { RETRAIN_DEFAULTS } from "../profile/replacement.ts";
import type { RetrainReason, RetrainSettings } from "../profile/replacement.ts";
import type { WindowStore } from "../store/window-store.ts";
import { endToEndRow, LEAST_REQUESTS, LEAST_ROWS_IN_ALL } from "../training/end-to-end-rows.ts";
import type { EndToEndOutcome } from "../training/train-end-to-end.ts";
import { FlowLearner } from "./flow-learner.ts";
import type { FlowTarget } from "./flow-learner.ts";
import { SERVICES_PER_FLOW } from "./flow-record.ts";
import type { ServicesRow } from "./flow-record.ts";
import type { LearningMetrics } from "./metrics.ts";
import { endToEndName, ModelShelf } from "./model-shelf.ts";
import type { ShelvedModel } from "./model-shelf.ts";
import type { DueTraining, ModelTrainer } from "./model-trainer.ts";

export interface FlowLearningOptions {
  readonly namespace: string;
  /** The application as of now: its entry and its percentile say which flows, and what of them. */
  readonly application: () => Application | undefined;
  readonly store: WindowStore;
  readonly trainer: Pick<ModelTrainer, "trainEndToEnd">;
  readonly metrics: LearningMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings?: Partial<RetrainSettings> | undefined;
}

/** Anew with half as many new rows as it was trained on; a training takes seconds of one core. */
const DEFAULTS: RetrainSettings = {
  ...RETRAIN_DEFAULTS,
  firstRows: LEAST_ROWS_IN_ALL,
  rowGrowth: 1.5,
  restMs: 10 * 60_000,
};

/** Flows learnt at once: rows of 50 flows of 50 services are 7 MB. */
export const MOST_FLOWS = 50;
/** A flow unseen for so long makes room for another one. */
const GIVE_WAY_MS = 10 * 60_000;
/** A flow unseen for so long is forgotten. */
const FORGET_MS = 3_600_000;

/**
 * End-to-end residuals of the application's flows while the predictor runs: rows from every window, a training when there
 * are enough, models judged on later windows before they are used and watched from then on. Nothing here throws.
 */
export class FlowLearning {
  private readonly options: FlowLearningOptions;
  private readonly settings: RetrainSettings;
  private readonly shelf: ModelShelf<AttentionModel>;
  private readonly learners = new Map<string, FlowLearner>();
  private stopped = false;

  constructor(options: FlowLearningOptions) {
    this.options = options;
    this.settings = { ...DEFAULTS, ...options.settings };
    this.shelf = new ModelShelf(options.store, readAttention);
  }

  /** A model in use, or one that was, and its file. */
  byHash(hash: string): ShelvedModel<AttentionModel> | undefined {
    return this.shelf.byHash(hash);
  }

  /** Takes in a window set, judging what is in use by it first. */
  observe(set: WindowSet): void {
    for (const { learner, added } of this.rowsOf(set)) learner.observe(added);
    for (const { flow } of set.flows) {
      const learner = this.learners.get(flow);
      if (learner !== undefined) learner.lastSeenMs = set.endMs;
    }
    for (const [flow, { lastSeenMs }] of this.learners) {
      if (set.endMs - lastSeenMs > FORGET_MS) this.learners.delete(flow);
    }
    const standings = [...this.learners].map(([flow, learner]) => learner.standing(flow));
    this.options.metrics.flows(this.options.namespace, standings, set.endMs);
  }

  /** Takes in window sets older than all that were observed, newest first. */
  recall(set: WindowSet): void {
    for (const { learner, added } of this.rowsOf(set)) learner.record.recall(added);
  }

  /** The residuals in use, by name of the flow. */
  evidence(): FlowEvidence[] {
    const flows = [...this.learners.keys()].sort();
    return flows.flatMap((flow) => this.learners.get(flow)?.evidence(flow) ?? []);
  }

  due(nowMs: number): DueTraining[] {
    return [...this.learners].flatMap(([flow, learner]): DueTraining[] => {
      const reason = learner.whyTrain(nowMs, this.settings);
      if (reason === undefined) return [];
      const { lastTriedMs } = learner.tries;
      return [{ lastTriedMs, run: async () => this.train(flow, learner, reason) }];
    });
  }

  /** Outcomes of trainings still under way are dropped from now on. */
  stop(): void {
    this.stopped = true;
  }

  /** The rows of a window set, each with the learner that it is for; the busiest flows come first. */
  private rowsOf(set: WindowSet): { learner: FlowLearner; added: ServicesRow }[] {
    const { application, namespace } = this.options;
    const now = application();
    if (now === undefined) return [];
    const target = { entry: now.entry, percentile: now.objective.percentile };
    const windows = set.windows.filter((window) => window.namespace === namespace);
    return set.flows
      .filter(({ entryService }) => entryService === now.entry)
      .filter(
        ({ latency, services }) => latency.count >= LEAST_REQUESTS && services.length <= SERVICES_PER_FLOW,
      )
      .sort((a, b) => b.latency.count - a.latency.count || (a.flow < b.flow ? -1 : 1))
      .flatMap((flow) => {
        const learner = this.learnerOf(flow.flow, target);
        const added = learner && rowOf({ ...set, windows }, flow, learner);
        return learner === undefined || added === undefined ? [] : [{ learner, added }];
      });
  }

  /** Known, or made where there is room; what was learnt for another entry or percentile does not count. */
  private learnerOf(flow: string, target: FlowTarget): FlowLearner | undefined {
    const known = this.learners.get(flow);
    if (known?.target.entry === target.entry && known.target.percentile === target.percentile) return known;
    this.learners.delete(flow);
    const nowMs = this.options.clock.nowMs();
    if (this.learners.size >= MOST_FLOWS && !this.makeRoom(nowMs)) return undefined;
    const made = this.makeLearner(flow, target, nowMs);
    this.learners.set(flow, made);
    return made;
  }

  private makeRoom(nowMs: number): boolean {
    const [longestUnseen] = [...this.learners].sort(([, a], [, b]) => a.lastSeenMs - b.lastSeenMs);
    if (longestUnseen === undefined || nowMs - longestUnseen[1].lastSeenMs < GIVE_WAY_MS) return false;
    return this.learners.delete(longestUnseen[0]);
  }

  private makeLearner(flow: string, target: FlowTarget, nowMs: number): FlowLearner {
    const { log, metrics, namespace } = this.options;
    const learner = new FlowLearner(target, nowMs);
    const stored = this.shelf.newest(endToEndName(namespace, flow), (model) => {
      if (model.flow !== flow) return `is of '${model.flow}'`;
      const count = model.services.length;
      return count <= SERVICES_PER_FLOW ? undefined : `has ${count} services, more than are followed`;
    });
    if (stored instanceof TradewindError) {
      metrics.modelUnusable();
      log.error(
        { flow, problem: describeError(stored) },
        "a stored end-to-end model cannot be used, the flow goes on with its call graph",
      );
    } else if (stored?.model.percentile === target.percentile) learner.use(stored.hash, stored.model);
    return learner;
  }

  private async train(flow: string, learner: FlowLearner, reason: RetrainReason): Promise<void> {
    const { clock, log, metrics } = this.options;
    const { record, tries } = learner;
    const beganMs = clock.monotonicMs();
    const rows = record.rowsSeen;
    tries.tried(clock.nowMs());
    const outcome = await this.outcomeOf(flow, learner);
    if (this.stopped) return;
    tries.tried(clock.nowMs());
    const seconds = (clock.monotonicMs() - beganMs) / 1e3;
    metrics.trainedEndToEnd(outcome.kind, seconds);
    if (outcome.kind === "failed") {
      const level = tries.failed(outcome.why) ? "warn" : "debug";
      log[level](
        { flow, problem: outcome.why },
        "an end-to-end model could not be trained, what is there goes on",
      );
      return;
    }
    tries.ended(rows);
    if (outcome.kind === "replaced") {
      this.takeIntoUse(flow, learner, outcome.model, { reason, seconds, before: outcome.previousRatio });
    } else log.debug({ flow, reason, ...outcome }, "no new end-to-end model");
  }

  private async outcomeOf(flow: string, { model, record, target }: FlowLearner): Promise<EndToEndOutcome> {
    const { clock, namespace, trainer } = this.options;
    const services = record.servicesToTrainOn(model?.services);
    try {
      return await trainer.trainEndToEnd({
        flow,
        percentile: target.percentile,
        services,
        rows: record.rowsToTrainOn(services),
        current: model,
        nowMs: clock.nowMs(),
        seed: Number.parseInt(contentHash([namespace, flow, model?.version ?? 0]).slice(0, 7), 16),
      });
    } catch (error) {
      return { kind: "failed", why: describeError(error) };
    }
  }

  private takeIntoUse(
    flow: string,
    learner: FlowLearner,
    model: AttentionModel,
    facts: { readonly reason: string; readonly seconds: number; readonly before: number },
  ): void {
    if (this.learners.get(flow) !== learner) return;
    const { log, metrics, namespace, store } = this.options;
    const name = endToEndName(namespace, flow);
    const { trainedAtMs: atMs, trainingRows: rows, version } = model;
    const { meanAbsoluteRatio, priorAbsoluteRatio } = model.errors;
    const metadata = { version, rows, meanAbsoluteRatio, priorAbsoluteRatio };
    const shelved = this.shelf.save(name, writeAttention(model), { createdAtMs: atMs, metadata });
    if (shelved instanceof TradewindError) {
      metrics.modelUnusable();
      log.error({ flow, problem: describeError(shelved) }, "an end-to-end model just trained cannot be used");
      return;
    }
    const { hash } = shelved;
    learner.use(hash, shelved.model);
    store.appendModelErrors([{ name, hash, atMs, measure: "mape", value: meanAbsoluteRatio }]);
    log.info({ flow, version, rows, error: meanAbsoluteRatio, ...facts }, "a new end-to-end model is in use");
  }
}

function rowOf(set: WindowSet, flow: FlowWindow, learner: FlowLearner): ServicesRow | undefined {
  const services = learner.servicesWith(flow.services);
  const row = endToEndRow(set, flow, services, learner.target.percentile);
  return row && { row, services, members: flow.services };
}
