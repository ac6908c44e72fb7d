import type { WindowBuilderTotals } from "./window-builder.ts";

/** Share of the spans that may be refused for their times before what they told is missing. */
const TOLERATED_SHARE = 0.05;

/** What does not count for the times it has. What is merely `late` is often sent again, and says nothing new. */
const UNTIMELY = ["too-old", "too-far-ahead", "late-request"] as const;

/** Notices when spans do not count because of the times they have: a clock is wrong, ours or a sender's, or they are on the way for too long. */
export class UntimelySpans {
  private accepted = 0;
  private refused = 0;

  /** @returns what is missing of the spans since the last look, in words; empty where that is nothing worth a word */
  lookAt({ drops, spansAccepted }: Pick<WindowBuilderTotals, "drops" | "spansAccepted">): readonly string[] {
    const refusedTotal = UNTIMELY.reduce((sum, reason) => sum + (drops[reason] ?? 0), 0);
    const refused = refusedTotal - this.refused;
    const offered = Math.max(refused, refused + spansAccepted - this.accepted);
    this.refused = refusedTotal;
    this.accepted = spansAccepted;
    if (refused <= TOLERATED_SHARE * offered) return [];
    return [
      `${refused} of ${offered} spans do not count for their times: the clock here or at their senders is wrong, or they come later than the grace`,
    ];
  }
}
