/** Coordinates of the grid, axis by axis, and where a point lies between them. */
export class TableLookup {
  /** Interpolated number, and its derivatives by the coordinates. */
  value = 0;
  readonly slopes: Float64Array;
  /** Coordinates to {@link move} to, by axis. */
  readonly point: Float64Array;
  readonly #table: Float64Array;
  readonly #axes: readonly Float64Array[];
  /** Numbers from one step of an axis to the next, and from the first corner of a cell to each of them. */
  readonly #strides: Int32Array;
  readonly #offsets: Int32Array;
  readonly #cells: Int32Array;
  readonly #shares: Float64Array;
  readonly #widths: Float64Array;
  readonly #isOutside: Float64Array;
  readonly #corners: Float64Array;
  readonly #differences: Float64Array;

  /**
   * @param axes at least two; ascending coordinates of the grid, at least two each, in which the table is interpolated linearly
   * @param width numbers of a place
   */
  constructor(table: Float64Array, axes: readonly Float64Array[], width: number) {
    const count = axes.length;
    this.#table = table;
    this.#axes = axes;
    this.#strides = new Int32Array(count);
    let stride = width;
    for (let axis = count - 1; axis >= 0; axis -= 1) {
      this.#strides[axis] = stride;
      stride *= axes[axis]?.length ?? 1;
    }
    // The first half of the corners is the lower end of the first axis, and so on.
    this.#offsets = Int32Array.from({ length: 2 ** count }, (_, corner) =>
      this.#strides.reduce((sum, each, axis) => sum + ((corner >> (count - 1 - axis)) & 1) * each, 0),
    );
    this.slopes = new Float64Array(count);
    this.point = new Float64Array(count);
    this.#cells = new Int32Array(count);
    this.#shares = new Float64Array(count);
    this.#widths = new Float64Array(count);
    this.#isOutside = new Float64Array(count);
    this.#corners = new Float64Array(2 ** count);
    this.#differences = new Float64Array(count * 2 ** count);
  }

  /** Moves to {@link point}; beyond the ends of an axis the table is flat. */
  move(): void {
    for (let axis = 0; axis < this.point.length; axis += 1) {
      const points = this.#axes[axis] as Float64Array;
      const coordinate = this.point[axis] as number;
      const last = points.length - 1;
      let cell = this.#cells[axis] as number;
      while (cell < last - 1 && coordinate > (points[cell + 1] as number)) cell += 1;
      while (cell > 0 && coordinate <= (points[cell] as number)) cell -= 1;
      const from = points[cell] as number;
      const width = (points[cell + 1] as number) - from;
      const bounded = Math.max(from, Math.min(coordinate, points[last] as number));
      this.#isOutside[axis] = bounded === coordinate ? 0 : 1;
      this.#shares[axis] = (bounded - from) / width;
      this.#widths[axis] = width;
      this.#cells[axis] = cell;
    }
  }

  /** Multilinear interpolation of one statistic at the point, with its derivatives. */
  read(statistic: number): void {
    const corners = this.#corners;
    const differences = this.#differences;
    const shares = this.#shares;
    const axes = shares.length;
    const all = corners.length;
    this.#readFirst(statistic);
    let count = all / 4;
    for (let axis = 2; axis < axes; axis += 1) {
      const share = shares[axis] as number;
      count /= 2;
      for (let base = 0; base < axis * all; base += all) {
        for (let i = base; i < base + count; i += 1) {
          const low = differences[i] as number;
          differences[i] = low + share * ((differences[i + count] as number) - low);
        }
      }
      const base = axis * all;
      for (let i = 0; i < count; i += 1) {
        const low = corners[i] as number;
        const difference = (corners[i + count] as number) - low;
        differences[base + i] = difference;
        corners[i] = low + share * difference;
      }
    }
    this.value = corners[0] as number;
    for (let axis = 0; axis < axes; axis += 1) {
      const slope = (differences[axis * all] as number) / (this.#widths[axis] as number);
      this.slopes[axis] = this.#isOutside[axis] === 1 ? 0 : slope;
    }
  }

  /** The number of {@link read} alone, without slopes. */
  valueOf(statistic: number): number {
    const corners = this.#corners;
    const offsets = this.#offsets;
    const shares = this.#shares;
    const table = this.#table;
    const first = this.#firstOf(statistic);
    const stride = this.#strides[0] as number;
    const share0 = shares[0] as number;
    const share1 = shares[1] as number;
    let count = corners.length / 4;
    for (let i = 0; i < count; i += 1) {
      const at = first + (offsets[i] as number);
      const above = first + (offsets[i + count] as number);
      const start = table[at] as number;
      const low = start + share0 * ((table[at + stride] as number) - start);
      const startAbove = table[above] as number;
      const high = startAbove + share0 * ((table[above + stride] as number) - startAbove);
      corners[i] = low + share1 * (high - low);
    }
    for (let axis = 2; axis < shares.length; axis += 1) {
      const share = shares[axis] as number;
      count /= 2;
      for (let i = 0; i < count; i += 1) {
        const low = corners[i] as number;
        corners[i] = low + share * ((corners[i + count] as number) - low);
      }
    }
    return corners[0] as number;
  }

  /** Place of the first corner of the cell. */
  #firstOf(statistic: number): number {
    const cells = this.#cells;
    const strides = this.#strides;
    let first = statistic;
    for (let axis = 0; axis < cells.length; axis += 1) {
      first += (cells[axis] as number) * (strides[axis] as number);
    }
    return first;
  }

  /** Fetches the corners of the cell and interpolates along the first two axes. */
  #readFirst(statistic: number): void {
    const offsets = this.#offsets;
    const table = this.#table;
    const corners = this.#corners;
    const differences = this.#differences;
    const share0 = this.#shares[0] as number;
    const share1 = this.#shares[1] as number;
    const all = corners.length;
    const count = all / 4;
    const stride = this.#strides[0] as number;
    const first = this.#firstOf(statistic);
    for (let i = 0; i < count; i += 1) {
      const at = first + (offsets[i] as number);
      const above = first + (offsets[i + count] as number);
      const start = table[at] as number;
      const along = (table[at + stride] as number) - start;
      const low = start + share0 * along;
      const startAbove = table[above] as number;
      const alongAbove = (table[above + stride] as number) - startAbove;
      const difference = startAbove + share0 * alongAbove - low;
      differences[i] = along + share1 * (alongAbove - along);
      differences[all + i] = difference;
      corners[i] = low + share1 * difference;
    }
  }
}
