/**
 * Numbers that stand for names. Bounded: some names have places of their own, the others share `limit` places, and those not
 * used for a while make room for new ones.
 */
export class NameTable {
  private readonly ids = new Map<string, number>();
  private readonly names: (string | undefined)[] = [];
  private readonly usedMs: number[] = [];
  private readonly free: number[] = [];
  private readonly limit: number;
  private reserved: ReadonlySet<string> = new Set();
  /** Names without a place of their own. */
  private others = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get size(): number {
    return this.ids.size;
  }

  /** Names that have a place of their own from now on, in place of those named before. */
  reserve(names: ReadonlySet<string>): void {
    this.reserved = names;
    this.others = 0;
    for (const name of this.ids.keys()) if (!names.has(name)) this.others += 1;
  }

  /** The number of `name`, a new one when it is not known yet; -1 when there is no place for it. */
  intern(name: string, nowMs: number): number {
    const known = this.ids.get(name);
    if (known !== undefined) {
      this.usedMs[known] = nowMs;
      return known;
    }
    const isReserved = this.reserved.has(name);
    if (!isReserved && this.others >= this.limit) return -1;
    if (!isReserved) this.others += 1;
    const id = this.free.pop() ?? this.names.length;
    this.ids.set(name, id);
    this.names[id] = name;
    this.usedMs[id] = nowMs;
    return id;
  }

  /** The number of `name`; -1 when it has none. */
  numberOf(name: string): number {
    return this.ids.get(name) ?? -1;
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

  /**
   * Forgets names not interned since `beforeMs`; their numbers are given out again.
   * @returns their numbers
   */
  expire(beforeMs: number): number[] {
    return this.forget([...this.ids].filter(([, id]) => (this.usedMs[id] ?? 0) < beforeMs));
  }

  /**
   * Forgets names that nothing refers to, those unused for longest first: so many that half of the shared places are free,
   * if there are as many. Names interned at `nowMs` stay, since who did so may be about to refer to them.
   * @returns their numbers
   */
  makeRoom(nowMs: number, isHeld: (id: number, name: string) => boolean): number[] {
    const surplus = this.others - Math.floor(this.limit / 2);
    if (surplus <= 0) return [];
    const unused = [...this.ids]
      .filter(([name, id]) => !this.reserved.has(name) && (this.usedMs[id] ?? 0) < nowMs && !isHeld(id, name))
      .sort(([, a], [, b]) => (this.usedMs[a] ?? 0) - (this.usedMs[b] ?? 0));
    return this.forget(unused.slice(0, surplus));
  }

  private forget(entries: readonly (readonly [string, number])[]): number[] {
    for (const [name, id] of entries) {
      this.ids.delete(name);
      this.names[id] = undefined;
      this.free.push(id);
      if (!this.reserved.has(name)) this.others -= 1;
    }
    return entries.map(([, id]) => id);
  }
}
