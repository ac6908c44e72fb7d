const NONE = -1;

/** Calls that wait in order. A call is in one queue at a time, so the links are a column of the pool of calls. */
export class CallQueue {
  length = 0;
  private head = NONE;
  private tail = NONE;

  /** @param next column of links of the pool */
  append(call: number, next: Int32Array): void {
    next[call] = NONE;
    if (this.tail === NONE) this.head = call;
    else next[this.tail] = call;
    this.tail = call;
    this.length += 1;
  }

  /** @param next column of links of the pool */
  prepend(call: number, next: Int32Array): void {
    next[call] = this.head;
    if (this.tail === NONE) this.tail = call;
    this.head = call;
    this.length += 1;
  }

  /** Only called when a call waits. */
  shift(next: Int32Array): number {
    const call = this.head;
    this.head = next[call] ?? NONE;
    if (this.head === NONE) this.tail = NONE;
    this.length -= 1;
    return call;
  }

  clear(): void {
    this.length = 0;
    this.head = NONE;
    this.tail = NONE;
  }
}
