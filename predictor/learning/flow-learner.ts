import { AttentionResidual } from "../endtoend/attention.ts";
import type { AttentionModel } from "../endtoend/attention-model.ts";
import type { FlowEvidence, RecentErrors } from "../policy/evidence.ts";
import { retrainReason } from "../profile/replacement.ts";
import type { RetrainReason, RetrainSettings } from "../profile/replacement.ts";
import { FlowRecord, ROWS_PER_FLOW } from "./flow-record.ts";
import type { ServicesRow } from "./flow-record.ts";
import { Tries } from "./tries.ts";

/** Windows over which the error of a prediction is taken. */
const ERROR_WINDOWS = 24;
/** Windows before an error calls for a training. */
const TELLING_WINDOWS = 8;
/** One window off by more than this counts as this: a disturbance shall not decide alone. */
const MOST_ERROR = 1;

/** |predicted − measured| / measured of one window's tail, at most 1. */
interface Judgement {
  readonly graph: number;
  /** With the residual in use; absent without one. */
  readonly residual?: number;
}

/** How the predictions of one flow stand. */
export interface FlowStanding {
  readonly flow: string;
  readonly rows: number;
  /** Of the call graph alone. */
  readonly graphErrorRatio: number | undefined;
  /** Of the call graph with the residual in use. */
  readonly errorRatio: number | undefined;
  readonly trainedAtMs: number | undefined;
}

/** What a flow is predicted for. */
export interface FlowTarget {
  readonly entry: string;
  readonly percentile: number;
}

/**
 * One flow: its rows, the residual in use, and how far that and the call graph alone were off. Each window judges both
 * before it is learnt from. No clock, no I/O.
 */
export class FlowLearner {
  readonly target: FlowTarget;
  readonly record = new FlowRecord();
  readonly tries = new Tries(ROWS_PER_FLOW / 2);
  lastSeenMs: number;
  private readonly judgements: Judgement[] = [];
  private inUse: { readonly hash: string; readonly residual: AttentionResidual } | undefined;

  constructor(target: FlowTarget, nowMs: number) {
    this.target = target;
    this.lastSeenMs = nowMs;
  }

  get model(): AttentionModel | undefined {
    return this.inUse?.residual.model;
  }

  /** Services whose own tails a row should tell. */
  servicesWith(members: readonly string[]): string[] {
    return [...new Set([...members, ...this.record.services, ...(this.model?.services ?? [])])].sort();
  }

  /** Takes a residual into use; its errors are counted anew. */
  use(hash: string, model: AttentionModel): void {
    this.inUse = { hash, residual: new AttentionResidual(model) };
    for (const [at, { graph }] of this.judgements.entries()) this.judgements[at] = { graph };
  }

  observe(added: ServicesRow): void {
    this.judgements.push(this.judge(added));
    if (this.judgements.length > ERROR_WINDOWS) this.judgements.shift();
    this.record.observe(added);
  }

  evidence(flow: string): FlowEvidence | undefined {
    if (this.inUse === undefined) return undefined;
    const { hash, residual } = this.inUse;
    const judged = this.judgements.filter((each) => each.residual !== undefined);
    const errors = errorsOf(judged.map((each) => each.residual ?? 0));
    const graphErrors = errorsOf(judged.map(({ graph }) => graph));
    return {
      flow,
      hash,
      version: residual.model.version,
      ...(errors && { errors }),
      ...(graphErrors && { graphErrors }),
    };
  }

  standing(flow: string): FlowStanding {
    return {
      flow,
      rows: this.record.rows,
      graphErrorRatio: errorsOf(this.judgements.map(({ graph }) => graph))?.meanAbsoluteRatio,
      errorRatio: this.residualErrors()?.meanAbsoluteRatio,
      trainedAtMs: this.model?.trainedAtMs,
    };
  }

  /** Why the residual is to be trained now, if it is. */
  whyTrain(nowMs: number, settings: RetrainSettings): RetrainReason | undefined {
    const { model, record, tries } = this;
    if (record.rows < settings.firstRows || record.servicesToTrainOn().length === 0) return undefined;
    const recent = this.residualErrors();
    const evidence = {
      nowMs,
      // Rows make room for others: what counts is those that the model has not seen.
      rows: model === undefined ? record.rows : model.trainingRows + record.rowsAfter(model.trainedAtMs),
      recentAbsoluteRatio:
        recent !== undefined && recent.windows >= TELLING_WINDOWS ? recent.meanAbsoluteRatio : undefined,
      lastDeployMs: undefined,
      rowsSinceDeploy: 0,
    };
    const age = model && {
      trainedAtMs: model.trainedAtMs,
      trainingRows: model.trainingRows,
      meanAbsoluteRatio: model.errors.meanAbsoluteRatio,
    };
    const reason = retrainReason(age, evidence, tries.lastTriedMs, settings);
    return reason === "error-growth" || tries.hasGrown(record.rowsSeen) ? reason : undefined;
  }

  private residualErrors(): RecentErrors | undefined {
    return errorsOf(this.judgements.flatMap(({ residual }) => (residual === undefined ? [] : [residual])));
  }

  private judge({ row, services }: ServicesRow): Judgement {
    const off = (predicted: number): number =>
      Math.min(MOST_ERROR, Math.abs(predicted - row.tailSeconds) / row.tailSeconds);
    const graph = off(row.priorSeconds);
    if (this.inUse === undefined) return { graph };
    const tailOf = new Map(services.map((name, at) => [name, row.ownTails[at] ?? Number.NaN]));
    const { residual } = this.inUse;
    const ownTails = Float64Array.from(residual.model.services, (name) => tailOf.get(name) ?? Number.NaN);
    return { graph, residual: off(row.priorSeconds * Math.exp(residual.evaluate(ownTails))) };
  }
}

function errorsOf(ratios: readonly number[]): RecentErrors | undefined {
  if (ratios.length === 0) return undefined;
  const meanAbsoluteRatio = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
  return { windows: ratios.length, meanAbsoluteRatio };
}
