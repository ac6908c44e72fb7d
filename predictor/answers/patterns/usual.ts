import { median } from "@tradewind/core/values/statistics.ts";

/** Values that a usual one is the median of, and the least that it takes. */
const MOST = 40;
const LEAST = 10;
/** Windows after which what was unusual is usual: half an hour of 15 s. */
const ACCEPTED = 120;

interface UsualState {
  values: number[];
  /** Windows in a row that were not taken up. */
  unusual: number;
  /** Of the last window; what is gone goes first. */
  seen: number;
}

/** Usual values by name: of windows in which nothing was unusual. */
export class UsualValues {
  readonly #known = new Map<string, UsualState>();
  readonly #most: number;
  #window = 0;

  /** @param most names that are followed */
  constructor(most: number) {
    this.#most = most;
  }

  /** Undefined before enough windows have been seen. */
  of(name: string): number | undefined {
    const values = this.#known.get(name)?.values ?? [];
    return values.length < LEAST ? undefined : median(values);
  }

  /** @param isUsual whether the value is one of the usual ones */
  note(name: string, value: number, isUsual: boolean): void {
    let known = this.#known.get(name);
    if (known === undefined) {
      if (this.#known.size >= this.#most) return;
      known = { values: [], unusual: 0, seen: this.#window };
      this.#known.set(name, known);
    }
    known.seen = this.#window;
    known.unusual = isUsual ? 0 : known.unusual + 1;
    if (known.unusual > ACCEPTED) known.values = [];
    else if (isUsual || known.values.length < LEAST) known.values = [...known.values, value].slice(-MOST);
  }

  /** A window is over: names that have not been seen for as long as a value is kept are forgotten. */
  turn(): void {
    this.#window += 1;
    for (const [name, { seen }] of this.#known) if (this.#window - seen > ACCEPTED) this.#known.delete(name);
  }

  clear(): void {
    this.#known.clear();
  }
}
