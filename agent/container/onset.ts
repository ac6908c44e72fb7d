import type { Interference, InterferenceName } from "@tradewind/core/contract/interference.ts";
import { COMPONENTS } from "@tradewind/core/measure/interference.ts";

/** The components that moved by more than `tolerance`; one that comes or goes moved. */
export function movedComponents(
  before: Interference,
  now: Interference,
  tolerance: number,
): InterferenceName[] {
  return COMPONENTS.filter((name) => {
    const a = before[name].value;
    const b = now[name].value;
    if (a === undefined || b === undefined) return a !== b;
    return Math.abs(a - b) > tolerance;
  });
}

/**
 * Decides what is worth telling about one object. A move is told when it holds for two looks, so that the first look at a
 * container's own burst, whose rate is still the mean of a long gap, is not taken for interference.
 */
export class Onset {
  readonly #looks: number;
  #told: Interference;
  #seen = 0;

  /** @param looks how many looks in a row a move must hold, at least 1 */
  constructor(first: Interference, looks: number) {
    this.#told = first;
    this.#looks = looks;
  }

  /** A move was seen and waits for its confirmation: look again at the next cycle. */
  get isPending(): boolean {
    return this.#seen > 0;
  }

  /** @returns the components to tell, empty when there is nothing to tell */
  look(now: Interference, tolerance: number): InterferenceName[] {
    const moved = movedComponents(this.#told, now, tolerance);
    this.#seen = moved.length === 0 ? 0 : this.#seen + 1;
    if (this.#seen < this.#looks) return [];
    this.#seen = 0;
    this.#told = now;
    return moved;
  }
}
