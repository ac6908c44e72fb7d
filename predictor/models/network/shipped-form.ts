/** Errors on services that a training never saw: mean |ln(true / said)| of the p95. */
export interface NetworkErrors {
  readonly network: number;
  readonly curve: number;
  /** Geometric mean of both. */
  readonly both: number;
}

/** A network as a release ships with it. */
export interface ShippedNetwork {
  /** How its weights came about: equal settings give equal weights on one engine. */
  readonly about: {
    readonly seed: number;
    readonly services: number;
    readonly steps: number;
    readonly batch: number;
    /** What services were drawn from, and how they were measured. */
    readonly prior: string;
    /** SHA-256 of the weights as 32-bit floats, little-endian. */
    readonly hash: string;
    readonly heldOut: HeldOut;
  };
  /** 32-bit floats, little-endian, in base64. */
  readonly weights: string;
}

/** What it was judged by: services of the same prior, drawn afresh. */
export interface HeldOut {
  readonly services: number;
  readonly loss: number;
  /** Places as they are and others. */
  readonly places: NetworkErrors;
  /** Places whose p95 is twice the usual one and more. */
  readonly knee: NetworkErrors;
  /** ln of the ratio of two places. */
  readonly ratios: NetworkErrors;
  /** Share of the true answers within the middle 80 % of the quantiles. */
  readonly coverage: { readonly all: number; readonly knee: number };
}
