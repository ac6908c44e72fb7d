/** Values that are looked at together. */
const BLOCK = 64;

/**
 * Finds the least of many numbers of which few change from one time to the next. Only blocks that hold a changed number are
 * walked again. Of equal numbers the first one counts; Infinity and NaN are never the least.
 */
export class Least {
  private readonly values: Float64Array;
  /** By block: place of its least number, -1 for none. */
  private readonly best: Int32Array;
  private readonly isStale: Uint8Array;

  constructor(count: number) {
    const blocks = Math.ceil(count / BLOCK);
    this.values = new Float64Array(count).fill(Infinity);
    this.best = new Int32Array(blocks).fill(-1);
    this.isStale = new Uint8Array(blocks);
  }

  get(place: number): number {
    return this.values[place] ?? Infinity;
  }

  set(place: number, value: number): void {
    this.values[place] = value;
    this.isStale[Math.floor(place / BLOCK)] = 1;
  }

  /** @returns place of the least number below `bound` of those that are allowed; -1: none */
  find(bound: number, isAllowed: (place: number) => boolean): number {
    let best = -1;
    let leastValue = bound;
    for (let block = 0; block < this.best.length; block += 1) {
      if (this.isStale[block] === 1) this.walk(block);
      let place = this.best[block] as number;
      if (place < 0 || !((this.values[place] as number) < leastValue)) continue;
      if (!isAllowed(place)) place = this.leastAllowed(block, leastValue, isAllowed);
      if (place < 0) continue;
      best = place;
      leastValue = this.values[place] as number;
    }
    return best;
  }

  private walk(block: number): void {
    this.isStale[block] = 0;
    this.best[block] = this.leastAllowed(block, Infinity, () => true);
  }

  private leastAllowed(block: number, bound: number, isAllowed: (place: number) => boolean): number {
    const end = Math.min(this.values.length, (block + 1) * BLOCK);
    let best = -1;
    let leastValue = bound;
    for (let place = block * BLOCK; place < end; place += 1) {
      const value = this.values[place] as number;
      if (!(value < leastValue) || !isAllowed(place)) continue;
      best = place;
      leastValue = value;
    }
    return best;
  }
}
