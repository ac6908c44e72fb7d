/**
 * Slots ordered by the time they are due: an indexed binary heap on typed arrays. Moving, adding and removing cost
 * O(log n) and allocate nothing until the capacity grows.
 */
export class DueQueue {
  /** Heap position to slot. */
  #heap: Int32Array;
  /** Slot to heap position, -1 when absent. */
  #position: Int32Array;
  #dueMs: Float64Array;
  #size = 0;

  constructor(capacity: number) {
    this.#heap = new Int32Array(capacity);
    this.#position = new Int32Array(capacity).fill(-1);
    this.#dueMs = new Float64Array(capacity).fill(Infinity);
  }

  get size(): number {
    return this.#size;
  }

  /** The slot due first, or -1. */
  first(): number {
    return this.#size === 0 ? -1 : this.#slotAt(0);
  }

  /** When the slot is due, ms; Infinity when it is not queued. */
  dueMs(slot: number): number {
    return this.#dueMs[slot] ?? Infinity;
  }

  /** Queues the slot or moves it. `dueMs` must not be NaN. */
  set(slot: number, dueMs: number): void {
    if (slot >= this.#position.length) this.#grow(slot + 1);
    let position = this.#position[slot] ?? -1;
    if (position < 0) {
      position = this.#size;
      this.#size += 1;
      this.#place(slot, position);
    }
    this.#dueMs[slot] = dueMs;
    this.#siftDown(this.#siftUp(position));
  }

  remove(slot: number): void {
    const position = this.#position[slot] ?? -1;
    if (position < 0) return;
    this.#position[slot] = -1;
    this.#dueMs[slot] = Infinity;
    this.#size -= 1;
    if (position === this.#size) return;
    this.#place(this.#slotAt(this.#size), position);
    this.#siftDown(this.#siftUp(position));
  }

  #slotAt(position: number): number {
    return this.#heap[position] ?? -1;
  }

  #keyAt(position: number): number {
    return this.#dueMs[this.#slotAt(position)] ?? Infinity;
  }

  #place(slot: number, position: number): void {
    this.#heap[position] = slot;
    this.#position[slot] = position;
  }

  #swap(a: number, b: number): void {
    const slot = this.#slotAt(a);
    this.#place(this.#slotAt(b), a);
    this.#place(slot, b);
  }

  #siftUp(start: number): number {
    let position = start;
    while (position > 0) {
      const above = (position - 1) >> 1;
      if (this.#keyAt(above) <= this.#keyAt(position)) break;
      this.#swap(above, position);
      position = above;
    }
    return position;
  }

  #siftDown(start: number): void {
    let position = start;
    for (;;) {
      let least = 2 * position + 1;
      if (least >= this.#size) return;
      if (least + 1 < this.#size && this.#keyAt(least + 1) < this.#keyAt(least)) least += 1;
      if (this.#keyAt(position) <= this.#keyAt(least)) return;
      this.#swap(position, least);
      position = least;
    }
  }

  #grow(needed: number): void {
    const capacity = Math.max(needed, this.#position.length * 2, 16);
    const heap = new Int32Array(capacity);
    heap.set(this.#heap);
    const position = new Int32Array(capacity).fill(-1);
    position.set(this.#position);
    const dueMs = new Float64Array(capacity).fill(Infinity);
    dueMs.set(this.#dueMs);
    this.#heap = heap;
    this.#position = position;
    this.#dueMs = dueMs;
  }
}
