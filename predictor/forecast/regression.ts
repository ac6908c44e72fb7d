/** Variance of a weight before anything is known: weights are of the order of one. */
const FIRST_VARIANCE = 1;

/** Least squares that learns one example after the other (recursive least squares). */
export class Regression {
  private readonly weights: Float64Array;
  private readonly covariance: Float64Array;
  private readonly gain: Float64Array;

  /** @param size number of inputs */
  constructor(size: number) {
    this.weights = new Float64Array(size);
    this.gain = new Float64Array(size);
    this.covariance = new Float64Array(size * size);
    for (let at = 0; at < size; at += 1) this.covariance[at * size + at] = FIRST_VARIANCE;
  }

  predict(inputs: readonly number[]): number {
    return inputs.reduce((sum, each, at) => sum + each * (this.weights[at] ?? 0), 0);
  }

  learn(inputs: readonly number[], output: number): void {
    const { covariance, gain, weights } = this;
    const size = weights.length;
    let spread = 1;
    for (let row = 0; row < size; row += 1) {
      let sum = 0;
      for (let at = 0; at < size; at += 1) sum += (covariance[row * size + at] ?? 0) * (inputs[at] ?? 0);
      gain[row] = sum;
      spread += sum * (inputs[row] ?? 0);
    }
    const error = output - this.predict(inputs);
    for (let row = 0; row < size; row += 1) {
      const share = (gain[row] ?? 0) / spread;
      weights[row] = (weights[row] ?? 0) + share * error;
      for (let at = 0; at < size; at += 1) {
        const place = row * size + at;
        covariance[place] = (covariance[place] ?? 0) - share * (gain[at] ?? 0);
      }
    }
  }
}
