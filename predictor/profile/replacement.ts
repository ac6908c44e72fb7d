/** When a profile is trained anew, and when the new one takes the old one's place. All pure. */

export interface ProfileAge {
  readonly trainedAtMs: number;
  readonly trainingRows: number;
  /** Mean |predicted − measured| / measured on the later block when it was trained. */
  readonly meanAbsoluteRatio: number;
}

export interface Evidence {
  readonly nowMs: number;
  /** Usable windows stored, old and new. */
  readonly rows: number;
  /** Mean |predicted − measured| / measured over the last windows; absent when too few. */
  readonly recentAbsoluteRatio: number | undefined;
  /** Start of the youngest replica or change of image: what came before may be another program. */
  readonly lastDeployMs: number | undefined;
  /** Usable windows since then. */
  readonly rowsSinceDeploy: number;
}

export interface RetrainSettings {
  /** Windows before the first training: 240 of 15 s are an hour. */
  readonly firstRows: number;
  /** Windows of the new program before it is learnt. */
  readonly rowsAfterDeploy: number;
  /** Error growth over the error at training that calls for a new one. */
  readonly errorGrowth: number;
  /** Errors below this never call for one. */
  readonly tolerableRatio: number;
  /** A profile is renewed with this many times the rows it was trained on, error or not. */
  readonly rowGrowth: number;
  /** Least time between two trainings of a service. */
  readonly restMs: number;
}

export const RETRAIN_DEFAULTS: RetrainSettings = {
  firstRows: 240,
  rowsAfterDeploy: 120,
  errorGrowth: 1.5,
  tolerableRatio: 0.1,
  rowGrowth: 2,
  restMs: 10 * 60_000,
};

export type RetrainReason = "first" | "deploy" | "error-growth" | "more-evidence";

/**
 * @param current the profile in use, undefined before the first
 * @param lastTriedMs end of the last training, whether or not its result was taken
 * @returns why to train now, or undefined
 */
export function retrainReason(
  current: ProfileAge | undefined,
  evidence: Evidence,
  lastTriedMs: number | undefined,
  settings: RetrainSettings = RETRAIN_DEFAULTS,
): RetrainReason | undefined {
  if (lastTriedMs !== undefined && evidence.nowMs - lastTriedMs < settings.restMs) return undefined;
  if (current === undefined) return evidence.rows >= settings.firstRows ? "first" : undefined;
  const { lastDeployMs, recentAbsoluteRatio } = evidence;
  const isOlder = lastDeployMs !== undefined && lastDeployMs > current.trainedAtMs;
  if (isOlder) return evidence.rowsSinceDeploy >= settings.rowsAfterDeploy ? "deploy" : undefined;
  const limit = Math.max(settings.tolerableRatio, settings.errorGrowth * current.meanAbsoluteRatio);
  if (recentAbsoluteRatio !== undefined && recentAbsoluteRatio > limit) return "error-growth";
  return evidence.rows >= settings.rowGrowth * current.trainingRows ? "more-evidence" : undefined;
}

/**
 * Whether the candidate replaces what is in use, both judged on the same later block that trained neither.
 * @param current error of the profile in use (trained or prior), undefined when there is none
 */
export function isBetter(candidate: number, current: number | undefined): boolean {
  if (!Number.isFinite(candidate)) return false;
  return current === undefined || !Number.isFinite(current) || candidate < current;
}
