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

/** A changed allocation, and why it was changed. */
export interface Verdict {
  readonly allocation: Allocation;
  readonly reason: Reason;
}

/** One rule of the guard. Both parts return null where they have nothing to say. */
export interface GuardStep {
  readonly name: string;
  /** Counts for a service that a person holds, too: what a cluster or a configuration cannot carry out. */
  readonly bindsHeld?: true;
  /** Why nothing may be recommended at all. Asked of all steps before the first is applied. */
  readonly refuse?: (context: GuardContext) => Reason | null;
  readonly apply: (allocation: Allocation, context: GuardContext) => Verdict | null;
}
