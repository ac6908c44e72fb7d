/**
 * The rate of a cumulative counter between two reads, in units per second. Undefined at the first read, when no time
 * passed, when the counter could not be read, and across a reset: a rate is never invented.
 */
export class Rate {
  #total: number | undefined;
  #seconds = 0;

  /** @param seconds monotonic time of this read */
  next(total: number | undefined, seconds: number): number | undefined {
    const before = this.#total;
    const elapsed = seconds - this.#seconds;
    if (before !== undefined && total !== undefined && elapsed <= 0) return undefined;
    this.#total = total;
    this.#seconds = seconds;
    if (before === undefined || total === undefined || total < before) return undefined;
    return (total - before) / elapsed;
  }

  reset(): void {
    this.#total = undefined;
  }
}

const WRAP = 2 ** 32;

/**
 * A 32-bit kernel counter carried on past its wrap. A step back by more than half the range is a wrap, a smaller one
 * a reset of the source: then counting goes on from the value so far.
 */
export class Unwrapped {
  #last: number | undefined;
  #total = 0;

  /** What was counted so far. */
  get total(): number {
    return this.#total;
  }

  next(raw: number): number {
    if (this.#last === undefined) this.#total = raw;
    else if (raw >= this.#last) this.#total += raw - this.#last;
    else if (this.#last - raw > WRAP / 2) this.#total += raw + WRAP - this.#last;
    else this.#total += raw;
    this.#last = raw;
    return this.#total;
  }

  /** Counts on from this value, which another source may have reached: what was counted so far stays. */
  rebase(raw: number): void {
    this.#last = raw;
  }
}

/** `part / whole`, undefined when either is unknown or the whole is not positive. */
export function ratio(part: number | undefined, whole: number | undefined): number | undefined {
  if (part === undefined || whole === undefined || !(whole > 0)) return undefined;
  return part / whole;
}
