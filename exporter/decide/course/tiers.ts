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

/** The newest rows, as many as there is room for. */
class Ring {
  readonly #values: Float64Array;
  readonly #width: number;
  #count = 0;
  #next = 0;

  constructor(mostRows: number, width: number) {
    this.#values = new Float64Array(mostRows * width);
    this.#width = width;
  }

  push(row: readonly number[]): void {
    this.#values.set(row, this.#next * this.#width);
    const mostRows = this.#values.length / this.#width;
    this.#next = (this.#next + 1) % mostRows;
    this.#count = Math.min(mostRows, this.#count + 1);
  }

  /** @param index from the oldest; negative from the newest */
  at(index: number): number[] | undefined {
    const mostRows = this.#values.length / this.#width;
    const place = index < 0 ? this.#count + index : index;
    if (place < 0 || place >= this.#count) return undefined;
    const row = (this.#next - this.#count + place + mostRows) % mostRows;
    return [...this.#values.subarray(row * this.#width, (row + 1) * this.#width)];
  }

  rows(): number[][] {
    return Array.from({ length: this.#count }, (_, index) => this.at(index) ?? []);
  }
}

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
