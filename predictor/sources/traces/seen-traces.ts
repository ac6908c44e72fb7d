/** Remembers trace ids for a while, in bounded space: when one generation is full, the one before it is forgotten. */
export class SeenTraces {
  private current = new Set<string>();
  private former = new Set<string>();
  private readonly generationSize: number;

  constructor(generationSize = 100_000) {
    this.generationSize = generationSize;
  }

  /** Whether this id is new; it is remembered from now on. */
  add(traceId: string): boolean {
    if (this.current.has(traceId) || this.former.has(traceId)) return false;
    if (this.current.size >= this.generationSize) {
      this.former = this.current;
      this.current = new Set();
    }
    this.current.add(traceId);
    return true;
  }
}
