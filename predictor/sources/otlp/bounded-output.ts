/** What a decompressor has written: grows with what is written, up to a limit. */
export class BoundedOutput {
  length = 0;
  readonly #maxBytes: number;
  #bytes: Buffer;

  /** @param firstBytes room at the beginning */
  constructor(firstBytes: number, maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#bytes = Buffer.allocUnsafe(Math.min(firstBytes, maxBytes));
  }

  /** What was written; a view, not a copy. */
  get written(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }

  /** Writes the bytes [from, to) of `source`. @throws RangeError beyond the limit */
  append(source: Uint8Array, from: number, to: number): void {
    if (to > source.length) throw new Error("it ends too early");
    this.#reserve(to - from);
    this.#bytes.set(source.subarray(from, to), this.length);
    this.length += to - from;
  }

  /**
   * Appends a copy of the `count` bytes that begin `distance` bytes before the end (a back-reference of LZ77). Where `count` is
   * larger than `distance`, those bytes repeat.
   * @throws RangeError beyond the limit
   */
  repeat(distance: number, count: number): void {
    if (distance < 1 || distance > this.length) throw new Error(`it refers to ${distance} bytes before`);
    this.#reserve(count);
    let [period, left] = [distance, count];
    while (left > 0) {
      const part = Math.min(period, left);
      const from = this.length - period;
      this.#bytes.copyWithin(this.length, from, from + part);
      this.length += part;
      left -= part;
      period += part;
    }
  }

  #reserve(count: number): void {
    const needed = this.length + count;
    if (needed > this.#maxBytes) throw new RangeError(`more than ${this.#maxBytes} bytes`);
    if (needed <= this.#bytes.length) return;
    const wider = Buffer.allocUnsafe(Math.min(this.#maxBytes, Math.max(needed, 2 * this.#bytes.length)));
    this.#bytes.copy(wider, 0, 0, this.length);
    this.#bytes = wider;
  }
}
