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
  /** The present bucket of each sparser tier. */
  readonly #open: (Bucket | undefined)[];

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
      const number = Math.floor(atMs / everyMs);
      if (open?.number === number) return open.add(row);
      if (open !== undefined) this.#rings[tier]?.push(open.merged());
      const next = new Bucket(number, this.#layout);
      next.add(row);
      this.#open[tier] = next;
    });
  }

  /** Oldest first: of each time the densest that is kept. @param sinceMs only rows after it */
  rows(sinceMs = 0): number[][] {
    let denseRows: number[][] = [];
    let fromMs = Number.POSITIVE_INFINITY;
    this.#rings.forEach((ring, tier) => {
      const open = this.#open[tier];
      const tierRows = [...ring.rows(), ...(open === undefined ? [] : [open.merged()])];
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

/** What is kept of a column: its last value and the highest, its sum and the sum of its weights. */
const [LAST, HIGHEST, SUM, WEIGHT] = [0, 1, 2, 3];
const CELLS = 4;

/** Rows that become one. */
class Bucket {
  readonly number: number;
  readonly #layout: TierLayout;
  readonly #cells: Float64Array;

  constructor(number: number, layout: TierLayout) {
    this.number = number;
    this.#layout = layout;
    this.#cells = new Float64Array(CELLS * layout.merges.length);
    for (let cell = LAST; cell < this.#cells.length; cell += CELLS) this.#cells[cell] = Number.NaN;
  }

  add(row: readonly number[]): void {
    const { merges, weight } = this.#layout;
    for (const [column, merge] of merges.entries()) {
      const value = row[column] ?? Number.NaN;
      if (Number.isNaN(value)) continue;
      const cells = this.#cells.subarray(CELLS * column, CELLS * (column + 1));
      const [last = Number.NaN, highest = 0, sum = 0, total = 0] = cells;
      const share = merge === "byWeight" ? (row[weight] ?? 0) : 1;
      cells[HIGHEST] = Number.isNaN(last) ? value : Math.max(highest, value);
      cells[LAST] = value;
      cells[SUM] = sum + value * share;
      cells[WEIGHT] = total + share;
    }
  }

  merged(): number[] {
    return this.#layout.merges.map((merge, column) => {
      const cells = this.#cells.subarray(CELLS * column, CELLS * (column + 1));
      const [last = Number.NaN, highest = Number.NaN, sum = 0, total = 0] = cells;
      if (Number.isNaN(last) || merge === "last") return last;
      if (merge === "max") return highest;
      return total === 0 || Number.isNaN(total) ? last : sum / total;
    });
  }
}
