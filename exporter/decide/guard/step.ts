import type { Allocation, Wish } from "@tradewind/core/contract/plan.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";

/** Everything a step may read. All of it is kept in the decision record, so that a record can be replayed. */
export type GuardContext = Readonly<
  DecisionRecord["context"] & {
    wish: Wish;
    /** When the plan was made, ms since the epoch: the guard's only notion of now. */
    decidedAtMs: number;
  }
>;

/** What a step did: a changed allocation, or `null` when nothing may be recommended at all. */
export interface Verdict {
  readonly allocation: Allocation | null;
  readonly reason: Reason;
}

/** One rule of the guard. Returns null when it has nothing to say. */
export interface GuardStep {
  readonly name: string;
  readonly apply: (allocation: Allocation, context: GuardContext) => Verdict | null;
}
