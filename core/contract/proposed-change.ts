import { z } from "zod";
import { Allocation, Wish } from "./plan.ts";
import { DecisionId, EpochMs, ObjectName, ServiceName } from "./quantity.ts";
import { Reasons } from "./reason.ts";

/** What a plan proposed for a service where that changed a size of it, before any guard. */
export const ProposedChange = z.object({
  /** Sorts by time. */
  id: DecisionId,
  application: ObjectName,
  namespace: ObjectName,
  service: ServiceName,
  decidedAtMs: EpochMs,
  /** Sizes proposed before, or what ran where none were; absent parts are not known. */
  before: Allocation.partial(),
  proposal: Wish,
  /** Why this level of the ladder decided. */
  policyReason: z.string().max(500),
  policyReasons: Reasons,
});
export type ProposedChange = z.infer<typeof ProposedChange>;

/** Proposed changes, newest first: `GET /v1/decisions` of the predictor. */
export const ProposedChanges = z.object({ decisions: z.array(ProposedChange).max(1_000) });
export type ProposedChanges = z.infer<typeof ProposedChanges>;
