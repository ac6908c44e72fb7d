const ARITY = 4;
const NOWHERE = -1;

/**
 * Times of events by slot, the earliest first: a heap with four children a node and the place of every slot, so that an event
 * can be moved and taken out. A slot has at most one event. Times stand in heap order, since siblings are read together.
 */
export class EventHeap {
  private size = 0;
  private times = new Float64Array(64);
  private slots = new Int32Array(64);
  private places = new Int32Array(64).fill(NOWHERE);

  get length(): number {
    return this.size;
  }

  /** Infinity when there is none. */
  get nextMs(): number {
    return this.size === 0 ? Infinity : (this.times[0] ?? 0);
  }

  /** Puts the slot's event at this time, or moves it there. */
  set(slot: number, atMs: number): void {
    if (slot >= this.places.length) this.growPlaces(slot);
    const place = this.places[slot] ?? NOWHERE;
    if (place === NOWHERE) {
      const last = this.size;
      if (last === this.times.length) this.growHeap();
      this.size = last + 1;
      this.up(last, slot, atMs);
    } else if (atMs < (this.times[place] ?? 0)) {
      this.up(place, slot, atMs);
    } else {
      this.down(place, slot, atMs);
    }
  }

  /** Takes the slot's event out, if there is one. */
  remove(slot: number): void {
    const place = slot < this.places.length ? (this.places[slot] ?? NOWHERE) : NOWHERE;
    if (place === NOWHERE) return;
    this.places[slot] = NOWHERE;
    const last = this.size - 1;
    this.size = last;
    if (place === last) return;
    const moved = this.slots[last] ?? 0;
    const atMs = this.times[last] ?? 0;
    if (place > 0 && atMs < (this.times[(place - 1) >> 2] ?? 0)) this.up(place, moved, atMs);
    else this.down(place, moved, atMs);
  }

  /** Takes the earliest event out. @returns its slot; only called when there is one */
  pop(): number {
    const slot = this.slots[0] ?? 0;
    this.places[slot] = NOWHERE;
    const last = this.size - 1;
    this.size = last;
    if (last > 0) this.down(0, this.slots[last] ?? 0, this.times[last] ?? 0);
    return slot;
  }

  private up(from: number, slot: number, atMs: number): void {
    const { times, slots, places } = this;
    let place = from;
    while (place > 0) {
      const above = (place - 1) >> 2;
      const aboveMs = times[above] ?? 0;
      if (aboveMs <= atMs) break;
      const other = slots[above] ?? 0;
      times[place] = aboveMs;
      slots[place] = other;
      places[other] = place;
      place = above;
    }
    times[place] = atMs;
    slots[place] = slot;
    places[slot] = place;
  }

  private down(from: number, slot: number, atMs: number): void {
    const { times, slots, places, size } = this;
    let place = from;
    for (;;) {
      const first = ARITY * place + 1;
      if (first >= size) break;
      const end = first + ARITY < size ? first + ARITY : size;
      let least = first;
      let leastMs = times[first] ?? 0;
      for (let child = first + 1; child < end; child += 1) {
        const childMs = times[child] ?? 0;
        if (childMs < leastMs) {
          least = child;
          leastMs = childMs;
        }
      }
      if (leastMs >= atMs) break;
      const other = slots[least] ?? 0;
      times[place] = leastMs;
      slots[place] = other;
      places[other] = place;
      place = least;
    }
    times[place] = atMs;
    slots[place] = slot;
    places[slot] = place;
  }

  private growHeap(): void {
    const times = new Float64Array(2 * this.times.length);
    const slots = new Int32Array(2 * this.slots.length);
    times.set(this.times);
    slots.set(this.slots);
    this.times = times;
    this.slots = slots;
  }

  private growPlaces(slot: number): void {
    const places = new Int32Array(Math.max(2 * this.places.length, slot + 1)).fill(NOWHERE);
    places.set(this.places);
    this.places = places;
  }
}
