import type { Rng } from "@tradewind/core/values/rng.ts";
import { RECENT_WINDOWS } from "../recent-windows.ts";
import { fitResidual } from "./fit-residual.ts";
import type { Percentile } from "./residual.ts";
import type { ResidualModel } from "./residual-model.ts";
import { servedRows } from "./served-rows.ts";
import type { ServiceWindow } from "./served-rows.ts";
import { judge } from "./standing.ts";
import type { Judgement } from "./standing.ts";

/** Everything one training needs; plain data that crosses to the worker thread. */
export interface ResidualJob {
  readonly namespace: string;
  readonly service: string;
  /** Oldest first. */
  readonly windows: readonly ServiceWindow[];
  readonly percentile: Percentile;
  readonly version: number;
  readonly nowMs: number;
  readonly seed: number;
}

export type ResidualOutcome =
  /** `judgements`: by the rows after those that trained it. */
  | {
      readonly kind: "trained";
      readonly model: ResidualModel;
      readonly judgements: readonly Judgement[];
      readonly rows: number;
    }
  | { readonly kind: "too-few-rows"; readonly rows: number }
  | { readonly kind: "failed"; readonly why: string };

/** Rows below which nothing can be told from chance. */
export const LEAST_ROWS = RECENT_WINDOWS;
/** Share of the rows that train; the later ones judge. */
const TRAINING_SHARE = 0.8;

/** Trains a residual on what the service's windows said of its tracked profile since its last deploy. */
export function trainResidual(job: ResidualJob, rng: Rng): ResidualOutcome {
  const { namespace, nowMs, percentile, service, version, windows } = job;
  const deployedMs = windows.findLast(({ observation }) => observation.isAfterDeploy)?.observation.atMs;
  const rows = servedRows(windows, percentile).filter(({ atMs }) => atMs >= (deployedMs ?? 0));
  if (rows.length < LEAST_ROWS) return { kind: "too-few-rows", rows: rows.length };
  const training = rows.slice(0, Math.ceil(TRAINING_SHARE * rows.length));
  const about = {
    namespace,
    service,
    version,
    percentile,
    trainedAtMs: nowMs,
    trainingRows: training.length,
  };
  const model = { ...about, ...fitResidual(training, rng) };
  const later = rows.slice(training.length);
  return { kind: "trained", model, judgements: later.map((row) => judge(model, row)), rows: rows.length };
}
