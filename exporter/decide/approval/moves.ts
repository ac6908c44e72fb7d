import type { Allocation } from "@tradewind/core/contract/plan.ts";
import { SIZES } from "@tradewind/core/contract/recommendation.ts";

/** Values of one size of a service that are remembered. */
const MOST_MOVES = 256;

/** Which sizes were in force when, as far back as changes stand open. */
export class Moves {
  readonly #bySize = new Map<string, { readonly atMs: number; readonly value: number }[]>();

  /** @param before what was in force since ever, where nothing is known of it */
  note(key: string, atMs: number, allocation: Partial<Allocation>, before: Partial<Allocation>): void {
    for (const size of SIZES) {
      const value = allocation[size];
      if (value === undefined) continue;
      const first = before[size];
      const moves =
        this.#bySize.get(`${key}\n${size}`) ??
        (first === undefined ? [] : [{ atMs: Number.NEGATIVE_INFINITY, value: first }]);
      this.#bySize.set(`${key}\n${size}`, moves);
      if (moves.at(-1)?.value === value) continue;
      moves.push({ atMs, value });
      if (moves.length > MOST_MOVES) moves.shift();
    }
  }

  /** The sizes at that time, or the oldest that are known; without those of which none is. */
  inForceAt(key: string, atMs: number): Partial<Allocation> {
    return Object.fromEntries(
      SIZES.flatMap((size) => {
        const moves = this.#bySize.get(`${key}\n${size}`) ?? [];
        const move = moves.findLast((each) => each.atMs <= atMs) ?? moves[0];
        return move === undefined ? [] : [[size, move.value]];
      }),
    );
  }
}
