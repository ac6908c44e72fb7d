/**
 * Remembers which requests were counted, so that spans that are sent again count once although their trace was evaluated. A table of
 * fixed size in which newer ones take the places of older ones; one of 4 billion others is taken for a span by chance.
 */
export class CountedSpans {
  private readonly marks: Uint32Array;

  /** @param least places, rounded up to a power of two */
  constructor(least: number) {
    this.marks = new Uint32Array(2 ** Math.ceil(Math.log2(Math.max(1, least))));
  }

  /** @param kind of the span: both sides of a call may have one id */
  add(traceKey: number, high: number, low: number, kind: number): void {
    this.marks[place(high, low) & (this.marks.length - 1)] = mark(traceKey, high, low, kind);
  }

  has(traceKey: number, high: number, low: number, kind: number): boolean {
    return this.marks[place(high, low) & (this.marks.length - 1)] === mark(traceKey, high, low, kind);
  }
}

/** Ids are random words of their senders. */
function place(high: number, low: number): number {
  const hash = Math.imul(high ^ (low << 13), 0x85ebca6b) ^ low;
  return (hash ^ (hash >>> 15)) >>> 0;
}

function mark(traceKey: number, high: number, low: number, kind: number): number {
  let hash = Math.imul((traceKey >>> 0) ^ low, 0xc2b2ae35) ^ high ^ kind;
  hash = Math.imul(hash ^ (hash >>> 13), 0x85ebca6b);
  // 0 is an empty place.
  return (hash ^ (hash >>> 16)) >>> 0 || 1;
}
