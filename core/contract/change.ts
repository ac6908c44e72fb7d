import { z } from "zod";
import { LearnedCalendar } from "./calendar.ts";
import { Allocation, AskedFor, PLAN_RESOURCES } from "./plan.ts";
import { ChangeId, EpochMs, NonNegative, ObjectName, ServiceName } from "./quantity.ts";

/**
 * `awaiting` a person; `approved`, and carried out once its time has come; the others are ends. A calendar is in force while it is approved,
 * and `withdrawn` when the load speaks for it no longer.
 */
export const CHANGE_STATES = ["awaiting", "approved", "refused", "expired", "executed", "withdrawn"] as const;

const Common = {
  id: ChangeId,
  application: ObjectName,
  namespace: ObjectName,
  service: ServiceName,
  proposedAtMs: EpochMs,
  /** From then on it changes nothing; an approved calendar stays. */
  expiresMs: EpochMs,
  state: z.enum(CHANGE_STATES),
  /** Who decided, by the name of the token that was shown; what was said beside it; and when. */
  by: z.string().max(200).optional(),
  note: z.string().max(200).optional(),
  decidedAtMs: EpochMs.optional(),
  /** What it would change, in one line. Written when it is served, and not kept. */
  text: z.string().max(1_000).optional(),
};

/**
 * A change of one size of a service that a person decides on: one so large that no plan makes it alone, or one that a language model or
 * somebody else asked for.
 */
export const SizeChange = z.strictObject({
  kind: z.literal("size"),
  ...Common,
  resource: z.enum(PLAN_RESOURCES),
  /** Replicas, or cores or bytes of each container; 0 where containers state no such size. */
  from: NonNegative,
  to: NonNegative,
  /** Approved for later. */
  notBeforeMs: EpochMs.optional(),
  /** Of one that was asked for; once approved it is the least that the service gets until it expires. */
  asked: AskedFor.optional(),
});
export type SizeChange = z.infer<typeof SizeChange>;

/** A calendar that the load of the past speaks for. */
export const CalendarChange = z.strictObject({
  kind: z.literal("calendar"),
  ...Common,
  ...LearnedCalendar.shape,
});
export type CalendarChange = z.infer<typeof CalendarChange>;

/** What a person decides on. */
export const Change = z.discriminatedUnion("kind", [SizeChange, CalendarChange]);
export type Change = z.infer<typeof Change>;

/** `GET /v1/changes` of the scaler, newest first. */
export const ChangeList = z.object({
  changes: z.array(Change).max(10_000),
  /** Whether changes can be approved here: with a token only, and this scaler may have none. Absent from earlier releases. */
  takesVerdicts: z.boolean().optional(),
  /** The token that this request showed. Absent where none is asked for, and from earlier releases. */
  token: z.object({ name: z.string().max(63), scopes: z.array(z.string().max(20)).max(10) }).optional(),
});
export type ChangeList = z.infer<typeof ChangeList>;

/** What a decision reads of approvals. */
export const ApprovalContext = z.strictObject({
  /** A change of replicas by more than this share of the reference waits for a person. */
  replicasRatio: z.number().positive(),
  /** The same for CPU and memory of each container. */
  containerRatio: z.number().positive(),
  /** Sizes in force as long ago as a change stands open: a change in small steps counts as one. */
  reference: Allocation,
  /** When a change expires that is proposed now. */
  expiresMs: EpochMs,
  /** Measured latency over the objective in the decision before. */
  severityBefore: NonNegative,
  /** Those of the service that have not expired: open ones, and refused ones, which are not proposed again meanwhile. */
  changes: z
    .array(
      SizeChange.pick({
        id: true,
        resource: true,
        from: true,
        to: true,
        state: true,
        notBeforeMs: true,
        expiresMs: true,
        asked: true,
      }),
    )
    .max(32),
});
export type ApprovalContext = z.infer<typeof ApprovalContext>;
