/** The last so many numbers, with their mean and quantiles. */
export class Recent {
  private readonly kept: Float64Array;
  /** The same in order; the first {@link count} count. */
  private readonly ordered: Float64Array;
  private next = 0;
  private sum = 0;
  count = 0;

  constructor(most: number) {
    this.kept = new Float64Array(most);
    this.ordered = new Float64Array(most);
  }

  add(value: number): void {
    if (this.count === this.kept.length) {
      const oldest = this.kept[this.next] ?? 0;
      const place = this.placeOf(oldest);
      this.ordered.copyWithin(place, place + 1, this.count);
      this.sum -= oldest;
      this.count -= 1;
    }
    const place = this.placeOf(value);
    this.ordered.copyWithin(place + 1, place, this.count);
    this.ordered[place] = value;
    this.kept[this.next] = value;
    this.next = (this.next + 1) % this.kept.length;
    this.sum += value;
    this.count += 1;
  }

  /** 0 where there is none. */
  get mean(): number {
    return this.count > 0 ? this.sum / this.count : 0;
  }

  /** What one more number would be under with these probabilities, by the nearest rank; 0 where there is none. */
  quantiles(shares: readonly number[]): number[] {
    const last = this.count - 1;
    const rank = (share: number): number => Math.round(share * (this.count + 1)) - 1;
    return shares.map((share) => this.ordered[Math.max(0, Math.min(last, rank(share)))] ?? 0);
  }

  /** First place in the order that is not below a value. */
  private placeOf(value: number): number {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.ordered[middle] ?? 0) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
