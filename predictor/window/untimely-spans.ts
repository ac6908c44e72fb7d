import type { WindowBuilderTotals } from "./window-builder.ts";

/** Share of the spans that may be refused for their times before what they told is missing. */
const TOLERATED_SHARE = 0.05;

/** What does not count for the times it has. What is merely `late` is often sent again, and says nothing new. */
const REFUSED = ["too-old", "too-far-ahead"] as const;
const UNTIMELY = [...REFUSED, "late-request"] as const;

/** Notices when spans do not count because of the times they have: a clock is wrong, ours or a sender's, or they are on the way for too long. */
export class UntimelySpans {
  private offered = 0;
  private untimely = 0;

  /** @returns what is missing of the spans since the last look, in words; empty where that is nothing worth a word */
  lookAt({ drops, spansAccepted }: Pick<WindowBuilderTotals, "drops" | "spansAccepted">): readonly string[] {
    const total = (reasons: readonly (typeof UNTIMELY)[number][]): number =>
      reasons.reduce((sum, reason) => sum + (drops[reason] ?? 0), 0);
    // What comes late was accepted.
    const offeredTotal = total(REFUSED) + spansAccepted;
    const untimelyTotal = total(UNTIMELY);
    const [untimely, offered] = [untimelyTotal - this.untimely, offeredTotal - this.offered];
    this.untimely = untimelyTotal;
    this.offered = offeredTotal;
    if (untimely <= TOLERATED_SHARE * offered) return [];
    return [
      `${untimely} of ${offered} spans do not count for their times: the clock here or at their senders is wrong, or they come later than the grace`,
    ];
  }
}
