import { mean } from "@tradewind/core/values/statistics.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { emptyProfile, isCalibrated, track } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import type { ProfileState } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import { fitResidual } from "@tradewind/predictor/models/residual/fit-residual.ts";
import { residualAt, servedRow } from "@tradewind/predictor/models/residual/served-rows.ts";
import type { ServedRow, ServiceWindow } from "@tradewind/predictor/models/residual/served-rows.ts";
import { judge, Standing } from "@tradewind/predictor/models/residual/standing.ts";
import { LEAST_ROWS } from "@tradewind/predictor/models/residual/train-residual.ts";
import type { Recording } from "./recordings.ts";

/** Windows before a profile is left as it is, for the column without tracking. */
const UNTRACKED_WINDOWS = 3;

interface Errors {
  readonly untracked: number[];
  readonly tracked: number[];
  readonly withResidual: number[];
  readonly byChance: number[];
  readonly weights: number[];
}

/** |ln error| of p95 in each window by what was known before it; residuals are trained and weighed as in the product. */
function follow(windows: readonly ServiceWindow[], errors: Errors): void {
  let state: ProfileState = emptyProfile();
  let first: ProfileState | undefined;
  const rows: ServedRow[] = [];
  const standing = new Standing();
  let trainedOn = 0;
  for (const window of windows) {
    const row = servedRow(state, window, 0.95);
    const untracked = first && servedRow(first, window, 0.95);
    state = track(state, window.observation);
    if (first === undefined && isCalibrated(state) && state.windows >= UNTRACKED_WINDOWS) first = state;
    if (row === undefined || untracked === undefined) continue;
    const { inUse } = standing;
    if (rows.length >= LEAST_ROWS) {
      errors.untracked.push(Math.abs(untracked.error));
      errors.tracked.push(Math.abs(row.error));
      errors.withResidual.push(
        Math.abs(row.error - (inUse ? inUse.weight * residualAt(inUse.model, row) : 0)),
      );
      errors.byChance.push(Math.sqrt((2 / Math.PI) * row.variance));
      errors.weights.push(inUse?.weight ?? 0);
    }
    rows.push(row);
    standing.observe(row);
    if (rows.length < LEAST_ROWS || rows.length < Math.min(1.25 * trainedOn, trainedOn + 240)) continue;
    trainedOn = rows.length;
    const recent = rows.slice(-3_000);
    const training = recent.slice(0, Math.ceil(0.8 * recent.length));
    const model = {
      ...fitResidual(training, seededRng(trainedOn)),
      namespace: "bench",
      service: "bench",
      version: 1,
      percentile: 0.95 as const,
      trainedAtMs: 0,
      trainingRows: training.length,
    };
    const later = recent.slice(training.length).map((each) => judge(model, each));
    standing.offer({ hash: String(trainedOn), model }, later);
  }
}

const roundedMean = (values: readonly number[]): number => Math.round(1e3 * mean(values, 0)) / 1e3;

/** Mean |ln(measured / predicted)| of p95 as served: untracked prior, tracked, and tracked with residual. */
export function measureServed({ name, rows }: Recording): Record<string, unknown> {
  const errors: Errors = { untracked: [], tracked: [], withResidual: [], byChance: [], weights: [] };
  const services = Map.groupBy(rows, ({ service }) => service);
  for (const windows of services.values())
    follow(
      windows.map(({ window }) => window),
      errors,
    );
  return {
    name,
    services: services.size,
    rows: errors.tracked.length,
    untracked: roundedMean(errors.untracked),
    tracked: roundedMean(errors.tracked),
    withResidual: roundedMean(errors.withResidual),
    byChance: roundedMean(errors.byChance),
    residualWeight: roundedMean(errors.weights),
  };
}
