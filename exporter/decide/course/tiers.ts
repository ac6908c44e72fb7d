/** How far back rows are kept, and how densely. */
export interface TierSize {
  /** Rows within this time become one; 0: each is kept. */
  readonly everyMs: number;
  readonly mostRows: number;
}

/** How a column of several rows becomes one number. `mean` of those that are known; `byWeight` by the column `weight`. */
export type Merge = "last" | "max" | "mean" | "byWeight";

export interface TierLayout {
  /** Of each column, the first of which is the time, ms. */
  readonly merges: readonly Merge[];
  /** Column that `byWeight` weighs by. */
  readonly weight: number;
  /** The densest first. */
  readonly sizes: readonly TierSize[];
}

/** Rows of numbers that get sparser with age, in memory that does not grow. NaN is not known. Times rise. */
export class Tiers {
  readonly #layout: TierLayout;
  readonly #rings: readonly Ring[];
  /** Rows of the present bucket of each sparser tier. */
  readonly #open: (number[][] | undefined)[];

  constructor(layout: TierLayout) {
    this.#layout = layout;
    this.#rings = layout.sizes.map(({ mostRows }) => new Ring(mostRows, layout.merges.length));
    this.#open = layout.sizes.map(() => undefined);
  }

  /** Time of the newest row; 0 before the first. ms */
  get lastMs(): number {
    return this.#rings[0]?.at(-1)?.[0] ?? 0;
  }

  /** Rows no newer than the last are left out. */
  add(row: readonly number[]): void {
    const [atMs = Number.NaN] = row;
    if (!(atMs > this.lastMs)) return;
    this.#rings[0]?.push(row);
    this.#layout.sizes.forEach(({ everyMs }, tier) => {
      if (everyMs === 0) return;
      const open = this.#open[tier];
      const [first] = open ?? [];
      if (open === undefined || first === undefined) this.#open[tier] = [[...row]];
      else if (Math.floor((first[0] ?? 0) / everyMs) === Math.floor(atMs / everyMs)) open.push([...row]);
      else {
        this.#rings[tier]?.push(merged(open, this.#layout));
        this.#open[tier] = [[...row]];
      }
    });
  }

  /** Oldest first: of each time the densest that is kept. @param sinceMs only rows after it */
  rows(sinceMs = 0): number[][] {
    let denseRows: number[][] = [];
    let fromMs = Number.POSITIVE_INFINITY;
    this.#rings.forEach((ring, tier) => {
      const open = this.#open[tier];
      const tierRows = [...ring.rows(), ...(open === undefined ? [] : [merged(open, this.#layout)])];
      const older = tierRows.filter(([atMs = 0]) => atMs < fromMs && atMs > sinceMs);
      denseRows = [...older, ...denseRows];
      fromMs = Math.min(fromMs, tierRows[0]?.[0] ?? Number.POSITIVE_INFINITY);
    });
    return denseRows;
  }
}

const FIRST_ROWS = 8;

/** The newest rows, as many as there is room for: the time in full, the other columns as 32-bit floats, in memory that grows with them. */
class Ring {
  readonly #mostRows: number;
  readonly #width: number;
  #times = new Float64Array(FIRST_ROWS);
  #values: Float32Array;
  #count = 0;
  #next = 0;

  constructor(mostRows: number, width: number) {
    this.#mostRows = mostRows;
    this.#width = width - 1;
    this.#values = new Float32Array(FIRST_ROWS * this.#width);
  }

  push([atMs = Number.NaN, ...values]: readonly number[]): void {
    if (this.#next === this.#times.length) this.#grow();
    this.#times[this.#next] = atMs;
    this.#values.set(values, this.#next * this.#width);
    this.#next = (this.#next + 1) % this.#mostRows;
    this.#count = Math.min(this.#mostRows, this.#count + 1);
  }

  /** @param index from the oldest; negative from the newest */
  at(index: number): number[] | undefined {
    const place = index < 0 ? this.#count + index : index;
    if (place < 0 || place >= this.#count) return undefined;
    const row = (this.#next - this.#count + place + this.#mostRows) % this.#mostRows;
    const values = this.#values.subarray(row * this.#width, (row + 1) * this.#width);
    return [this.#times[row] ?? Number.NaN, ...Array.from(values, asWritten)];
  }

  rows(): number[][] {
    return Array.from({ length: this.#count }, (_, index) => this.at(index) ?? []);
  }

  /** Before the first row is written over. */
  #grow(): void {
    const rows = Math.min(this.#mostRows, 2 * this.#times.length);
    const [times, values] = [this.#times, this.#values];
    this.#times = new Float64Array(rows);
    this.#values = new Float32Array(rows * this.#width);
    this.#times.set(times);
    this.#values.set(values);
  }
}

/** A 32-bit float in the digits that it holds: 0.3, not 0.30000001192092896. */
const asWritten = (value: number): number => Number(value.toPrecision(7));

function merged(rows: readonly (readonly number[])[], { merges, weight }: TierLayout): number[] {
  return merges.map((merge, column) => {
    const rowsWithValue = rows.filter((row) => !Number.isNaN(row[column]));
    const values = rowsWithValue.map((row) => row[column] ?? Number.NaN);
    if (values.length === 0) return Number.NaN;
    if (merge === "last") return values.at(-1) ?? Number.NaN;
    if (merge === "max") return Math.max(...values);
    const weights = rowsWithValue.map((row) => (merge === "byWeight" ? (row[weight] ?? 0) : 1));
    const total = weights.reduce((sum, each) => sum + each, 0);
    if (total === 0) return values.at(-1) ?? Number.NaN;
    return values.reduce((sum, value, index) => sum + value * (weights[index] ?? 0), 0) / total;
  });
}
