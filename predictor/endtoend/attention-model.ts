/** How one feature of one service is brought to about [-1, 1] before the network sees it. */
export interface FeatureScale {
  /** ln seconds that become 0: the training mean; stands in for an absent value. */
  readonly centre: number;
  /** ln seconds per unit, > 0. */
  readonly scale: number;
  /** Least and largest ln seconds seen in training; beyond them the feature is held at the edge. */
  readonly low: number;
  readonly high: number;
}

/** Errors on the later time block, which the model was not trained on: mean of |predicted − measured| / measured. */
export interface EndToEndErrors {
  readonly rows: number;
  readonly meanAbsoluteRatio: number;
  /** The same of the call graph alone. */
  readonly priorAbsoluteRatio: number;
}

/** Features per service (Grad Eq. 6): ln of the mean and of the largest own tail over its containers. */
export const FEATURES_PER_SERVICE = 2;

/** Shape of the network: services, width of queries, keys and values, width of the hidden layer. */
export interface AttentionShape {
  readonly services: number;
  readonly width: number;
  readonly hidden: number;
}

/** A trained residual of the end-to-end tail of one flow at one percentile, as it is stored and evaluated. */
export interface AttentionModel {
  readonly flow: string;
  /** Percentile it predicts, 0.95 for p95. */
  readonly percentile: number;
  /** Rises by one with each model of this flow and percentile that replaced another. */
  readonly version: number;
  readonly trainedAtMs: number;
  readonly trainingRows: number;
  /** Names of the services, in the order of the rows of the network's input. */
  readonly services: readonly string[];
  readonly width: number;
  readonly hidden: number;
  /** Two per service: mean, largest. */
  readonly scales: readonly FeatureScale[];
  /** The log residual lies within plus and minus this. */
  readonly bound: number;
  /** Laid out as {@link attentionLayout} says. */
  readonly parameters: Float64Array;
  readonly errors: EndToEndErrors;
}

export const attentionShape = (model: AttentionModel): AttentionShape => ({
  services: model.services.length,
  width: model.width,
  hidden: model.hidden,
});

/** Where each matrix lies in the flat parameter vector, all row by row (`[from][to]`). */
export interface AttentionLayout {
  /** features × width each. */
  readonly query: number;
  readonly key: number;
  readonly value: number;
  /** (services · width) × hidden, then hidden biases. */
  readonly hiddenWeights: number;
  readonly hiddenBiases: number;
  /** hidden × 1, then one bias. */
  readonly outWeights: number;
  readonly outBias: number;
  readonly length: number;
}

export function attentionLayout({ services, width, hidden }: AttentionShape): AttentionLayout {
  const projection = FEATURES_PER_SERVICE * width;
  const hiddenWeights = 3 * projection;
  const hiddenBiases = hiddenWeights + services * width * hidden;
  const outWeights = hiddenBiases + hidden;
  const outBias = outWeights + hidden;
  return {
    query: 0,
    key: projection,
    value: 2 * projection,
    hiddenWeights,
    hiddenBiases,
    outWeights,
    outBias,
    length: outBias + 1,
  };
}
