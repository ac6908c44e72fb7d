/** Numbers that stand for names. Bounded: names not used for a while make room for new ones. */
export class NameTable {
  private readonly ids = new Map<string, number>();
  private readonly names: (string | undefined)[] = [];
  private readonly usedMs: number[] = [];
  private readonly free: number[] = [];
  private readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  get size(): number {
    return this.ids.size;
  }

  /** The number of `name`, a new one when it is not known yet; -1 when the table is full. */
  intern(name: string, nowMs: number): number {
    const known = this.ids.get(name);
    if (known !== undefined) {
      this.usedMs[known] = nowMs;
      return known;
    }
    if (this.ids.size >= this.limit) return -1;
    const id = this.free.pop() ?? this.names.length;
    this.ids.set(name, id);
    this.names[id] = name;
    this.usedMs[id] = nowMs;
    return id;
  }

  /** @throws RangeError when nothing has that number */
  nameOf(id: number): string {
    const name = this.names[id];
    if (name === undefined) throw new RangeError(`no name has the number ${id}`);
    return name;
  }

  entries(): IterableIterator<[string, number]> {
    return this.ids.entries();
  }

  /** Forgets names not interned since `beforeMs`; their numbers are given out again. */
  expire(beforeMs: number): void {
    for (const [name, id] of this.ids) {
      if ((this.usedMs[id] ?? 0) >= beforeMs) continue;
      this.ids.delete(name);
      this.names[id] = undefined;
      this.free.push(id);
    }
  }
}
