import { RECENT_WINDOWS } from "../recent-windows.ts";

/** A normal value lies within so many standard deviations with a probability of 0.8. */
const DEVIATIONS = 1.2816;

/** How well the self time of a service was predicted over its last windows, before each was seen. */
export interface Accuracy {
  /** Mean of |ln(measured / predicted)|. */
  readonly error: number;
  /** Mean of ln(measured / predicted): above 0 where more time was taken than was predicted. */
  readonly bias: number;
  /** Share of the windows within the interval that holds 0.8 of them if the stated deviation is right, [0, 1]. */
  readonly coverage: number;
  readonly windows: number;
}

/** The last predictions of one service, compared with what was measured. */
export class PredictionRecord {
  readonly #errors: number[] = [];
  readonly #areWithin: boolean[] = [];

  /**
   * @param error ln(measured / predicted)
   * @param deviation standard deviation that the prediction stated, chance of the window included
   */
  add(error: number, deviation: number): void {
    this.#errors.push(error);
    this.#areWithin.push(Math.abs(error) <= DEVIATIONS * deviation);
    if (this.#errors.length <= RECENT_WINDOWS) return;
    this.#errors.shift();
    this.#areWithin.shift();
  }

  /** Undefined before the first window. */
  get accuracy(): Accuracy | undefined {
    const windows = this.#errors.length;
    if (windows === 0) return undefined;
    const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);
    return {
      error: sum(this.#errors.map((each) => Math.abs(each))) / windows,
      bias: sum(this.#errors) / windows,
      coverage: this.#areWithin.filter(Boolean).length / windows,
      windows,
    };
  }
}
