import type { WindowBuilderTotals } from "./window-builder.ts";

/** Share of the spans that may be refused for their times before what they told is missing. */
const TOLERATED_SHARE = 0.05;

/** What is refused for the times it has. What comes too late for its window is told by service. */
const REFUSED = ["too-old", "too-far-ahead"] as const;

/** Notices when spans do not count because of the times they have: a clock is wrong, ours or a sender's, or they are on the way for too long. */
export class UntimelySpans {
  private offered = 0;
  private untimely = 0;

  /** @returns what is missing of the spans since the last look, in words; empty where that is nothing worth a word */
  lookAt({ drops, spansAccepted }: Pick<WindowBuilderTotals, "drops" | "spansAccepted">): readonly string[] {
    const untimelyTotal = REFUSED.reduce((sum, reason) => sum + (drops[reason] ?? 0), 0);
    const offeredTotal = untimelyTotal + spansAccepted;
    const [untimely, offered] = [untimelyTotal - this.untimely, offeredTotal - this.offered];
    this.untimely = untimelyTotal;
    this.offered = offeredTotal;
    if (untimely <= TOLERATED_SHARE * offered) return [];
    return [
      `${untimely} of ${offered} spans do not count for their times: the clock here or at their senders is wrong`,
    ];
  }
}
