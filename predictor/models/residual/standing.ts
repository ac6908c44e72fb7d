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
  /** ln(measured / tracked). */
  readonly error: number;
  /** What the version says of it. */
  readonly residual: number;
  /** Variance of `error` that is not the profile's. */
  readonly variance: number;
}

/** Standard deviation of ln of a percentile that counts besides chance: a gain of a thousandth is none. */
export const LEAST_DEVIATION = 0.05;

/** Judges a model by a window that did not train it. */
export function judge(model: ResidualModel, row: ServedRow): Judgement {
  const { atMs, error, variance } = row;
  return { atMs, error, residual: residualAt(model, row), variance };
}

/** Weight of a residual from which a service's profile is called a trained one. */
export const MOSTLY_TRAINED = 0.5;

/** How much of a residual windows bear out. */
export interface Proof {
  /** Factor on it that is likeliest, [0, 1]. */
  readonly weight: number;
  /** Twice the logarithm of how much likelier the windows are with it so weighed than without; >= 0. */
  readonly gain: number;
}

/**
 * Before any window a residual is as likely to be off by all of itself as to be right: its weight is normal about 0 with a standard
 * deviation of 1. Errors are normal about the weighed residual; one of more than three deviations counts as three.
 */
export function proofOf(judgements: readonly Judgement[]): Proof {
  let borneOut = 0;
  let size = 1;
  for (const { error, residual, variance } of judgements) {
    const deviation = Math.hypot(Math.sqrt(variance), LEAST_DEVIATION);
    const held = Math.min(OUTLIER, Math.max(-OUTLIER, error / deviation));
    const said = residual / deviation;
    borneOut += held * said;
    size += said * said;
  }
  if (borneOut <= 0) return { weight: 0, gain: 0 };
  const weight = Math.min(1, borneOut / size);
  return { weight, gain: weight * (2 * borneOut - weight * size) };
}

/** Windows that judge a version. */
const MOST_WINDOWS = 3 * RECENT_WINDOWS;

/** A trained residual and the name of its file. */
export interface Version {
  readonly hash: string;
  readonly model: ResidualModel;
}

interface Judged extends Version {
  readonly judgements: Judgement[];
}

/** A version that is used. */
export interface InUse extends Version {
  /** How much of it is used, (0, 1]. */
  readonly weight: number;
  /** Variance of ln of the self time that is left with it, less chance, over so many windows after those that trained it. */
  readonly variance: number;
  readonly windows: number;
}

/**
 * Which residual of a service is used, and how much of it: as much as later windows bear out. The version before stays beside the
 * newest; the one that gains more in the windows that judged both is used.
 */
export class Standing {
  private newest: Judged | undefined;
  private before: Judged | undefined;
  private used: InUse | undefined;
  private readonly record = new PredictionRecord();

  /** Undefined where nothing of a version is borne out. */
  get inUse(): InUse | undefined {
    return this.used;
  }

  /** Of what was in use in each of the last windows; undefined before the first. */
  get accuracy(): Accuracy | undefined {
    return this.record.accuracy;
  }

  /** Takes in a newly trained version. @param judgements of windows after those that trained it */
  offer(version: Version, judgements: readonly Judgement[]): void {
    this.before = this.better;
    this.newest = { ...version, judgements: judgements.slice(-MOST_WINDOWS) };
    this.used = inUseOf(this.better);
  }

  /** Takes in a window: what is in use is compared with it, and both versions are judged by it. */
  observe(row: ServedRow): void {
    const { used } = this;
    const said = used?.model.percentile === row.percentile ? used.weight * residualAt(used.model, row) : 0;
    const left = used?.variance ?? residualVariance(row.state, row.percentile);
    this.record.add(row.error - said, Math.sqrt(row.variance + left));
    for (const version of [this.newest, this.before]) {
      if (version?.model.percentile !== row.percentile) continue;
      version.judgements.push(judge(version.model, row));
      if (version.judgements.length > MOST_WINDOWS) version.judgements.shift();
    }
    this.used = inUseOf(this.better);
  }

  /** The service has changed: what was learnt is of another program. */
  forget(): void {
    this.newest = undefined;
    this.before = undefined;
    this.used = undefined;
  }

  private get better(): Judged | undefined {
    const { before, newest } = this;
    if (before === undefined || newest === undefined) return newest;
    const since = Math.max(before.judgements[0]?.atMs ?? Infinity, newest.judgements[0]?.atMs ?? Infinity);
    const gainOf = ({ judgements }: Judged): number =>
      proofOf(judgements.filter(({ atMs }) => atMs >= since)).gain;
    return gainOf(before) > gainOf(newest) ? before : newest;
  }
}

function inUseOf(version: Judged | undefined): InUse | undefined {
  if (version === undefined) return undefined;
  const { hash, judgements, model } = version;
  const { weight } = proofOf(judgements);
  if (weight === 0) return undefined;
  const recent = judgements.slice(-RECENT_WINDOWS);
  const excess = recent.map(({ error, residual, variance }) =>
    Math.min((error - weight * residual) ** 2 - variance, OUTLIER ** 2 * variance),
  );
  const variance = Math.max(0, excess.reduce((sum, each) => sum + each, 0) / recent.length);
  return { hash, model, weight, variance, windows: recent.length };
}
