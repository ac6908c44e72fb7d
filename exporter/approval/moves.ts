/** Sizes of a service that are remembered. */
const MOST_MOVES = 256;

/** How many replicas were in force when, as far back as changes stand open. */
export class Moves {
  readonly #byService = new Map<string, { readonly atMs: number; readonly replicas: number }[]>();

  note(key: string, atMs: number, replicas: number): void {
    const moves = this.#byService.get(key) ?? [];
    this.#byService.set(key, moves);
    if (moves.at(-1)?.replicas === replicas) return;
    moves.push({ atMs, replicas });
    if (moves.length > MOST_MOVES) moves.shift();
  }

  /** The replicas at that time, or the oldest that are known; undefined where none are. */
  inForceAt(key: string, atMs: number): number | undefined {
    const moves = this.#byService.get(key) ?? [];
    return (moves.findLast((each) => each.atMs <= atMs) ?? moves[0])?.replicas;
  }
}
