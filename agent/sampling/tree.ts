import { sumBoundsChild, zeroBoundsChild } from "./pruning.ts";
import { NONE } from "./signal.ts";
import type { SignalId } from "./signal.ts";
import type { Row, RowCursor, SignalTable } from "./table.ts";

/**
 * The tree of signals (of the cgroups they belong to) as linked lists in the rows of a table: parent, first child, next and
 * previous sibling, so that any of ten thousand children leaves at once.
 */
export class SignalTree {
  readonly #row: RowCursor;

  constructor(table: SignalTable) {
    this.#row = table.cursor();
  }

  /** Hangs a row without links below its parent, or nowhere. */
  link(id: SignalId, parent: SignalId): void {
    const next = parent === NONE ? NONE : this.#row.at(parent).firstChild;
    if (parent !== NONE) this.#row.firstChild = id;
    if (next !== NONE) this.#row.at(next).previousSibling = id;
    const row = this.#row.at(id);
    row.parent = parent;
    row.firstChild = NONE;
    row.nextSibling = next;
    row.previousSibling = NONE;
  }

  /** Takes a row out; its children stay without a parent. */
  unlink(id: SignalId): void {
    const { parent, firstChild, nextSibling, previousSibling } = this.#row.at(id);
    for (let child = firstChild; child !== NONE;) {
      const orphan = this.#row.at(child);
      child = orphan.nextSibling;
      orphan.parent = orphan.nextSibling = orphan.previousSibling = NONE;
    }
    if (nextSibling !== NONE) this.#row.at(nextSibling).previousSibling = previousSibling;
    if (previousSibling !== NONE) this.#row.at(previousSibling).nextSibling = nextSibling;
    else if (parent !== NONE) this.#row.at(parent).firstChild = nextSibling;
  }

  /** The children of a signal are told apart from what their parent knew before: it started over. */
  forgetAnchors(parent: SignalId): void {
    for (let id = this.#row.at(parent).firstChild; id !== NONE; id = this.#row.nextSibling) {
      this.#row.at(id).parentAnchor = Number.NaN;
    }
  }

  /** The last total read of a signal's parent; NaN without a parent or reading. */
  parentTotal(row: Row): number {
    return row.parent === NONE ? Number.NaN : this.#row.at(row.parent).lastValue;
  }

  /** Whether these channels reach the signal through its parent. */
  isWokenByParent(row: Row, channels: number): boolean {
    if (!hasTellingParent(row)) return false;
    return (this.#row.at(row.parent).channels & channels) !== 0;
  }

  /** Until when the parent proves that the signal did not move beyond its tolerance, ms; NaN without a proof. */
  provenUntilMs(row: Row): number {
    if (!hasTellingParent(row) || row.awake === 1 || row.settling === 1) return Number.NaN;
    const parent = this.#row.at(row.parent);
    const increase = parent.lastValue - row.parentAnchor;
    const seconds = (parent.lastMs - row.confirmedMs) / 1e3;
    if (!(seconds > 0)) return Number.NaN;
    const isProven =
      row.sums === 1
        ? sumBoundsChild(row.rate, increase, seconds, row.tolerance)
        : zeroBoundsChild(row.rate, increase, row.tolerance);
    return isProven ? parent.lastMs : Number.NaN;
  }
}

/** Whether the signal's parent can prove something about it. */
export function hasTellingParent(row: Row): boolean {
  return row.parent !== NONE && row.sums + row.zeroes > 0;
}
