/** Every number the controller keeps of a signal. Flags are 0 or 1. */
const COLUMNS = [
  "live",
  "isGauge",
  "channels",
  "tolerance",
  "minSeconds",
  "maxSeconds",
  "weight",
  /** CPU seconds of one read, smoothed, and of all reads. */
  "costSeconds",
  "costTotalSeconds",
  /** Last accepted reading; NaN before the first. */
  "lastMs",
  "lastValue",
  /** Held rate (counter) or level (gauge); NaN until known. */
  "rate",
  /** Length of the gap the held rate is the mean of. */
  "gapSeconds",
  /** Difference of the last two rates; NaN when there is none to go by. */
  "difference",
  /** Variance of a one-second reading that does not last, variance a second adds for good, from so many pairs of differences. */
  "noise",
  "diffusion",
  "pairs",
  /** Logarithm of what the error budget leaves of the time between readings. */
  "logScale",
  /** Interval before and after the cost budget. */
  "wantedSeconds",
  "intervalSeconds",
  /** Longest interval that a reader asks for, and until when. */
  "askedSeconds",
  "askedUntilMs",
  /** The next reading was asked for by a guard. */
  "awake",
  /** The held rate is the mean over a jump; the rate before. */
  "settling",
  "beforeRate",
  "samples",
  "misses",
  "rejected",
  "resets",
] as const;

/** One signal's numbers by name. */
export type Row = Record<(typeof COLUMNS)[number], number>;

/** A window on one row of a table; `at` moves it. Reading and writing its fields reads and writes the table. */
export type RowCursor = Row & { at(slot: number): RowCursor };

const WIDTH = COLUMNS.length;

/** Rows of numbers in one typed array: no object per signal, no allocation until the capacity grows. */
export class SignalTable {
  #numbers: Float64Array;
  #rows = 0;
  readonly #free: number[] = [];

  constructor(capacity: number) {
    this.#numbers = new Float64Array(Math.max(1, capacity) * WIDTH);
  }

  /** Slots ever used: every live slot is below it. */
  get rows(): number {
    return this.#rows;
  }

  /** A cleared slot. */
  allocate(): number {
    const slot = this.#free.pop() ?? this.#rows;
    if (slot === this.#rows) this.#rows += 1;
    if (this.#rows * WIDTH > this.#numbers.length) {
      const grown = new Float64Array(this.#numbers.length * 2);
      grown.set(this.#numbers);
      this.#numbers = grown;
    }
    this.#numbers.fill(0, slot * WIDTH, (slot + 1) * WIDTH);
    return slot;
  }

  free(slot: number): void {
    this.#numbers.fill(0, slot * WIDTH, (slot + 1) * WIDTH);
    this.#free.push(slot);
  }

  cursor(): RowCursor {
    let offset = 0;
    const cursor: Record<string, unknown> = {};
    for (const [index, column] of COLUMNS.entries()) {
      Object.defineProperty(cursor, column, {
        get: () => this.#numbers[offset + index],
        set: (value: number) => {
          this.#numbers[offset + index] = value;
        },
      });
    }
    cursor["at"] = (slot: number): RowCursor => {
      offset = slot * WIDTH;
      return cursor as RowCursor;
    };
    return cursor as RowCursor;
  }
}
