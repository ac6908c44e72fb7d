import type { DropReason } from "./drops.ts";
import type { WindowBuilderTotals } from "./builder-options.ts";

/** Share of the spans that may be refused before what they told is missing. */
const TOLERATED_SHARE = 0.05;

/** Why spans are refused of which it is not always known whose they are, and what that says. What comes too late for its window is told by service. */
const REFUSED: readonly { readonly reasons: readonly DropReason[]; readonly words: string }[] = [
  {
    reasons: ["too-old", "too-far-ahead"],
    words: "do not count for their times: the clock here or at their senders is wrong",
  },
  { reasons: ["invalid-id", "invalid-service"], words: "have no valid id, or no name of a service" },
];

/** Notices when many spans are refused, whose ever they are. */
export class RefusedShare {
  private accepted = 0;
  private readonly before = new Map<string, number>();

  /** @returns what is missing of the spans since the last look, in words; empty where that is nothing worth a word */
  lookAt({ drops, spansAccepted }: Pick<WindowBuilderTotals, "drops" | "spansAccepted">): readonly string[] {
    const accepted = spansAccepted - this.accepted;
    this.accepted = spansAccepted;
    return REFUSED.flatMap(({ reasons, words }) => {
      const total = reasons.reduce((sum, reason) => sum + (drops[reason] ?? 0), 0);
      const refused = total - (this.before.get(words) ?? 0);
      this.before.set(words, total);
      const offered = refused + accepted;
      return refused > TOLERATED_SHARE * offered ? [`${refused} of ${offered} spans ${words}`] : [];
    });
  }
}
