import type { CpuInflation } from "./cpu-inflation.ts";
import type { Activation, NetworkShape } from "./shape.ts";

/** The three additions to Grad's profile, each of which can be left out. */
export interface Switches {
  /** Queueing prior times exp(network); without it exp(network) alone, on the seven features. */
  readonly prior: boolean;
  /** Signs held by construction; without it the network may bend any way. */
  readonly monotone: boolean;
  /** Interval of a width that depends on the input; without it one width everywhere. */
  readonly uncertainty: boolean;
}

export const ALL_ON: Switches = { prior: true, monotone: true, uncertainty: true };

/** What a network input spanned in training, before normalisation to [0, 1]. */
export interface Span {
  readonly low: number;
  readonly high: number;
  /** Stands in for an absent value: the training median. */
  readonly neutral: number;
}

/** Interval bounds in units of the spread: ln measured − ln predicted lies in [low, high] · spread 9 times in 10. */
export interface IntervalScale {
  readonly low: number;
  readonly high: number;
}

/** Errors on the later time block, which no part of the model was trained on. */
export interface ModelErrors {
  readonly rows: number;
  /** Mean of |predicted − measured| / measured. */
  readonly meanAbsoluteRatio: number;
  /** Share of measured values inside the interval. */
  readonly coverage: number;
}

/** A trained profile as it is stored and evaluated. */
export interface ProfileModel {
  readonly namespace: string;
  readonly service: string;
  /** Rises by one with each model of this service that replaced another. */
  readonly version: number;
  /** Percentile it predicts, 0.95 for p95. */
  readonly percentile: number;
  readonly trainedAtMs: number;
  readonly trainingRows: number;
  readonly switches: Switches;
  /** How strongly the service followed the prior in training, see prior-weight.ts; states are estimated with it. */
  readonly priorWeight: number;
  /** Used where the input carries no state. */
  readonly cpuSecondsPerRequest: number;
  readonly baseSeconds: number;
  /** How interference inflates CPU seconds per request; absent where nothing could be told. */
  readonly inflation?: CpuInflation;
  /** One per network input. */
  readonly spans: readonly Span[];
  readonly hidden: readonly number[];
  readonly activation: Activation;
  /** Networks whose heads are averaged, all of the same shape. */
  readonly members: readonly Float64Array[];
  readonly interval: IntervalScale;
  readonly errors: ModelErrors;
}

export function shapeOf(model: Pick<ProfileModel, "spans" | "hidden" | "activation">): NetworkShape {
  return { inputs: model.spans.length, hidden: model.hidden, activation: model.activation };
}
