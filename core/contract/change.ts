import { z } from "zod";
import { Count, EpochMs, NonNegative, ObjectName, ServiceName } from "./quantity.ts";

/** `awaiting` a person; `approved`, and carried out once its time has come; the other three are ends. */
export const CHANGE_STATES = ["awaiting", "approved", "refused", "expired", "executed"] as const;

/** A change of replicas so large that a person decides on it. */
export const Change = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{10}$/),
  application: ObjectName,
  namespace: ObjectName,
  service: ServiceName,
  fromReplicas: Count,
  toReplicas: Count,
  proposedAtMs: EpochMs,
  /** From then on it changes nothing. */
  expiresMs: EpochMs,
  state: z.enum(CHANGE_STATES),
  /** Approved for later. */
  notBeforeMs: EpochMs.optional(),
  /** Who decided, and when. */
  by: z.string().max(200).optional(),
  decidedAtMs: EpochMs.optional(),
});
export type Change = z.infer<typeof Change>;

/** `GET /v1/changes` of the scaler, newest first. */
export const ChangeList = z.object({
  changes: z.array(Change).max(10_000),
  /** Whether changes can be approved here: with a token only, and this scaler may have none. Absent from earlier releases. */
  takesVerdicts: z.boolean().optional(),
});
export type ChangeList = z.infer<typeof ChangeList>;

/** What a decision reads of approvals. */
export const ApprovalContext = z.strictObject({
  /** A larger change of the reference waits for a person. */
  replicasRatio: z.number().positive(),
  /** Replicas in force as long ago as a change stands open: a change in small steps counts as one. */
  referenceReplicas: Count,
  /** When a change expires that is proposed now. */
  expiresMs: EpochMs,
  /** Measured latency over the objective in the decision before. */
  severityBefore: NonNegative,
  /** Those of the service that are open now. */
  changes: z
    .array(Change.pick({ id: true, fromReplicas: true, toReplicas: true, state: true, notBeforeMs: true }))
    .max(16),
});
export type ApprovalContext = z.infer<typeof ApprovalContext>;
