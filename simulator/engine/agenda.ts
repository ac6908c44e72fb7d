interface Entry {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** What is due at given times and happens seldom: scrapes, pods that become ready, incidents. Equal times keep their order. */
export class Agenda {
  private readonly entries: Entry[] = [];
  private count = 0;

  /** Infinity when nothing is due. */
  get nextMs(): number {
    return this.entries[0]?.atMs ?? Infinity;
  }

  at(atMs: number, run: () => void): void {
    const entry: Entry = { atMs, order: this.count, run };
    this.count += 1;
    const { entries } = this;
    let place = entries.length;
    entries.push(entry);
    while (place > 0) {
      const above = (place - 1) >> 1;
      const other = entries[above];
      if (other === undefined || !isBefore(entry, other)) break;
      entries[place] = other;
      place = above;
    }
    entries[place] = entry;
  }

  /** Takes out what is due first and runs it. */
  run(): void {
    const { entries } = this;
    const [first] = entries;
    const last = entries.pop();
    if (first === undefined || last === undefined) return;
    if (entries.length > 0) this.sink(last);
    first.run();
  }

  private sink(entry: Entry): void {
    const { entries } = this;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      let least = entries[child];
      const right = entries[child + 1];
      if (least === undefined) break;
      if (right !== undefined && isBefore(right, least)) {
        child += 1;
        least = right;
      }
      if (!isBefore(least, entry)) break;
      entries[place] = least;
      place = child;
    }
    entries[place] = entry;
  }
}

const isBefore = (a: Entry, b: Entry): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
