import type { WindowBuilderTotals } from "./window-builder.ts";

/** Share of the spans that may be refused for their times before what they told is missing. */
const TOLERATED_SHARE = 0.05;

/** Notices when spans are refused because of the times they have: a clock is wrong, ours or a sender's. */
export class UntimelySpans {
  private accepted = 0;
  private refused = 0;

  /** @returns what is missing of the spans since the last look, in words; empty where that is nothing worth a word */
  lookAt({ drops, spansAccepted }: Pick<WindowBuilderTotals, "drops" | "spansAccepted">): readonly string[] {
    const refusedTotal = (drops["too-old"] ?? 0) + (drops["too-far-ahead"] ?? 0);
    const refused = refusedTotal - this.refused;
    const offered = refused + spansAccepted - this.accepted;
    this.refused = refusedTotal;
    this.accepted = spansAccepted;
    if (refused <= TOLERATED_SHARE * offered) return [];
    return [
      `${refused} of ${offered} spans were refused for their times: the clock here or at their senders is wrong`,
    ];
  }
}
