/**
 * Services by the most that any step for them can score, highest first. A binary heap, since a plan looks at a few dozen of
 * thousands in each round; made once and filled anew.
 */
export class PromisingServices {
  readonly #bounds: Float64Array;
  readonly #heap: Int32Array;
  #size = 0;

  constructor(serviceCount: number) {
    this.#bounds = new Float64Array(serviceCount);
    this.#heap = new Int32Array(serviceCount);
  }

  /**
   * Replaces what was there.
   * @param boundOf the most that a step for a service can score; a service with 0 or less, or NaN, is left out
   */
  fill(boundOf: (service: number) => number): void {
    this.#size = 0;
    for (let service = 0; service < this.#bounds.length; service += 1) {
      const bound = boundOf(service);
      if (!(bound > 0)) continue;
      this.#bounds[service] = bound;
      this.#heap[this.#size] = service;
      this.#size += 1;
    }
    for (let at = (this.#size >> 1) - 1; at >= 0; at -= 1) this.#sink(at);
  }

  /** The highest bound left; 0 when none is. */
  get highest(): number {
    return this.#size === 0 ? 0 : (this.#bounds[this.#heap[0] as number] as number);
  }

  /** The service with the highest bound, of several the first; undefined when none is left. */
  take(): number | undefined {
    if (this.#size === 0) return undefined;
    const service = this.#heap[0] as number;
    this.#size -= 1;
    this.#heap[0] = this.#heap[this.#size] as number;
    this.#sink(0);
    return service;
  }

  #sink(from: number): void {
    const heap = this.#heap;
    const moved = heap[from] as number;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= this.#size) break;
      if (child + 1 < this.#size && this.#isBefore(heap[child + 1] as number, heap[child] as number))
        child += 1;
      if (!this.#isBefore(heap[child] as number, moved)) break;
      heap[at] = heap[child] as number;
      at = child;
    }
    heap[at] = moved;
  }

  #isBefore(a: number, b: number): boolean {
    const [boundA, boundB] = [this.#bounds[a] as number, this.#bounds[b] as number];
    return boundA > boundB || (boundA === boundB && a < b);
  }
}
