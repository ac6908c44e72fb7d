import { OUTLIER } from "../queue/take-window.ts";
import { residualVariance } from "../queue/tracked-profile.ts";
import { RECENT_WINDOWS } from "../recent-windows.ts";
import { PredictionRecord } from "./accuracy.ts";
import type { Accuracy } from "./accuracy.ts";
import type { ResidualModel } from "./residual-model.ts";
import { residualAt } from "./served-rows.ts";
import type { ServedRow } from "./served-rows.ts";

/** What one later window says of a version. */
export interface Judgement {
  readonly atMs: number;
  /** |ln error| without the residual less that with it, in standard deviations of chance. */
  readonly gain: number;
  /** ln(measured / predicted) with it. */
  readonly error: number;
  /** Squared error with it less the variance that chance explains. */
  readonly excess: number;
}

/** Standard deviation of ln of a percentile that counts besides chance: a gain of a thousandth is none. */
export const LEAST_DEVIATION = 0.05;

/** Judges a model by a window that did not train it. */
export function judge(model: ResidualModel, row: ServedRow): Judgement {
  const { atMs, error, variance } = row;
  const left = error - residualAt(model, row);
  const gain = (Math.abs(error) - Math.abs(left)) / Math.hypot(Math.sqrt(variance), LEAST_DEVIATION);
  return {
    atMs,
    gain: Math.min(OUTLIER, Math.max(-OUTLIER, gain)),
    error: left,
    excess: Math.min(left * left - variance, OUTLIER ** 2 * variance),
  };
}

/**
 * Student's t of the mean of paired differences, oldest first. Neighbours are alike, so they count as n·(1 − r)/(1 + r) of
 * their number, r their correlation.
 */
export function pairedT(differences: readonly number[]): number {
  const count = differences.length;
  if (count < 2) return 0;
  const mean = differences.reduce((sum, each) => sum + each, 0) / count;
  const off = differences.map((each) => each - mean);
  const square = off.reduce((sum, each) => sum + each * each, 0);
  if (!(square > 0)) return 0;
  const lagged = off.reduce((sum, each, i) => sum + each * (off[i - 1] ?? 0), 0);
  const alike = Math.min(0.95, Math.max(0, lagged / square));
  const independent = (count * (1 - alike)) / (1 + alike);
  return mean / Math.sqrt(square / (count - 1) / independent);
}

/** Windows that a verdict needs at least, and that are kept. */
const LEAST_WINDOWS = 12;
const MOST_WINDOWS = 3 * RECENT_WINDOWS;
/** t from which a candidate is promoted, and from which what is in use is taken out again. */
const PROMOTED = 2.5;
const DEMOTED = 2;

/** A trained residual and the name of its file. */
export interface Version {
  readonly hash: string;
  readonly model: ResidualModel;
}

interface Judged extends Version {
  readonly judgements: Judgement[];
}

/** Which residual of a service is used: a candidate only once later windows prove it, and only as long as they bear it out. */
export class Standing {
  private current: Judged | undefined;
  private previous: Judged | undefined;
  private candidate: Judged | undefined;
  /** Windows since the last change of what is in use. */
  private windowsInUse = 0;
  private readonly record = new PredictionRecord();

  /** The version in use, and what is left of its errors. */
  get inUse(): (Version & { readonly variance: number; readonly windows: number }) | undefined {
    if (this.current === undefined) return undefined;
    const { hash, judgements, model } = this.current;
    const recent = judgements.slice(-RECENT_WINDOWS);
    const variance = Math.max(0, recent.reduce((sum, { excess }) => sum + excess, 0) / recent.length);
    return { hash, model, variance, windows: recent.length };
  }

  /** Of what was in use in each of the last windows; undefined before the first. */
  get accuracy(): Accuracy | undefined {
    return this.record.accuracy;
  }

  /** Puts a version on trial in place of the one that was. @param judgements of windows after those that trained it */
  offer(version: Version, judgements: readonly Judgement[]): "promoted" | undefined {
    this.candidate = { ...version, judgements: [...judgements] };
    return this.promote();
  }

  /** Takes in a window: all versions are judged by it. @returns what changed */
  observe(row: ServedRow): "promoted" | "demoted" | undefined {
    const stated = this.inUse?.variance;
    for (const version of [this.current, this.previous, this.candidate]) {
      if (version?.model.percentile !== row.percentile) continue;
      version.judgements.push(judge(version.model, row));
      if (version.judgements.length > MOST_WINDOWS) version.judgements.shift();
    }
    const last = this.current?.judgements.at(-1);
    const isJudged = stated !== undefined && last?.atMs === row.atMs;
    const left = isJudged ? stated : residualVariance(row.state, row.percentile);
    this.record.add(isJudged ? last.error : row.error, Math.sqrt(row.variance + left));
    this.windowsInUse += 1;
    return this.promote() ?? this.demote();
  }

  /** The service has changed: what was learnt is of another program. */
  forget(): void {
    this.current = undefined;
    this.previous = undefined;
    this.candidate = undefined;
  }

  private promote(): "promoted" | undefined {
    const { candidate, current } = this;
    if (candidate === undefined || !isBetter(candidate, current, candidate.judgements.length))
      return undefined;
    if (current !== undefined && !isBetter(candidate, undefined, candidate.judgements.length))
      return undefined;
    this.previous = current;
    this.current = candidate;
    this.candidate = undefined;
    this.windowsInUse = 0;
    return "promoted";
  }

  private demote(): "demoted" | undefined {
    const { current, previous } = this;
    const windows = Math.min(RECENT_WINDOWS, this.windowsInUse);
    if (current === undefined || windows < LEAST_WINDOWS) return undefined;
    const isWorseThan = (other: Judged | undefined): boolean =>
      pairedT(differences(current, other, windows)) <= -DEMOTED;
    const isPreviousBetter = previous !== undefined && isWorseThan(previous);
    if (!isPreviousBetter && !isWorseThan(undefined)) return undefined;
    const isPreviousGood = previous !== undefined && pairedT(differences(previous, undefined, windows)) > 0;
    this.current = isPreviousGood ? previous : undefined;
    this.previous = undefined;
    this.windowsInUse = 0;
    return "demoted";
  }
}

/** Gains over another version, or over none, of the last windows that judged both. */
function differences(one: Judged, other: Judged | undefined, windows: number): number[] {
  const recent = one.judgements.slice(-windows);
  if (other === undefined) return recent.map(({ gain }) => gain);
  const gains = new Map(other.judgements.map(({ atMs, gain }) => [atMs, gain]));
  return recent.flatMap(({ atMs, gain }) => {
    const theirs = gains.get(atMs);
    return theirs === undefined ? [] : [gain - theirs];
  });
}

function isBetter(one: Judged, other: Judged | undefined, windows: number): boolean {
  const gains = differences(one, other, windows);
  return gains.length >= LEAST_WINDOWS && pairedT(gains) >= PROMOTED;
}
