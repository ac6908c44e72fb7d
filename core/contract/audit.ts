import { z } from "zod";
import { CHANGE_STATES } from "./change.ts";
import { OVERRIDE_ENDS, OVERRIDE_KINDS } from "./override.ts";
import { Allocation, APPLICATION_MODES, PLAN_RESOURCES, PolicyLabel } from "./plan.ts";
import {
  ChangeId,
  Count,
  DecisionId,
  EpochMs,
  FullHash,
  NonNegative,
  ObjectName,
  ServiceName,
} from "./quantity.ts";

import { DecisionReason } from "./reason.ts";

const RollbackShape = { before: Allocation.partial(), times: Count, untilMs: EpochMs };
const Of = {
  application: ObjectName,
  namespace: ObjectName,
  service: ServiceName,
  /** What happened to the service, in one line. Written when it is served, and not kept. */
  text: z.string().max(1_000).optional(),
};

/** SHA-256 of the change as it is kept beside the trail. Absent before it is written, and from earlier releases. */
const ChangeHash = z.string().length(64).optional();

/** What happened. Times are those of the plan, or of the person who acted. */
export const AuditEvent = z.discriminatedUnion("kind", [
  /** A decision changed a size. */
  z.strictObject({
    kind: z.literal("decision"),
    ...Of,
    atMs: EpochMs,
    decisionId: DecisionId,
    mode: z.enum(APPLICATION_MODES),
    policy: PolicyLabel,
    before: Allocation.partial(),
    after: Allocation,
    codes: z.array(z.string().max(64)).max(32),
    /** Absent in rows of earlier releases. */
    reason: DecisionReason.optional(),
    /** Of the OpenTelemetry trace of the decision; absent where none is sent. */
    traceId: z.hex().length(32).optional(),
    /** SHA-256 of the decision record as it is served. */
    recordHash: FullHash,
  }),
  /** What was measured some windows after a decision. */
  z.strictObject({
    kind: z.literal("outcome"),
    ...Of,
    atMs: EpochMs,
    decisionId: DecisionId,
    outcome: DecisionReason,
  }),
  /** A change did harm; what ran before it is kept for a time. */
  z.strictObject({ kind: z.literal("rollback"), ...Of, atMs: EpochMs, ...RollbackShape }),
  /** An optional service goes down to its minimum for another one, or need not any longer. */
  z.strictObject({
    kind: z.literal("brownout"),
    ...Of,
    atMs: EpochMs,
    state: z.enum(["begun", "ended"]),
    for: z.strictObject({ application: ObjectName, service: ServiceName, priority: z.number() }),
    quota: ObjectName.optional(),
  }),
  /** A calendar that was learned came into this state. */
  z.strictObject({
    kind: z.literal("calendar"),
    ...Of,
    atMs: EpochMs,
    change: ChangeId,
    state: z.enum(CHANGE_STATES),
    calendar: ObjectName,
    floorReplicas: Count,
    changeHash: ChangeHash,
    by: z.string().max(200).optional(),
    note: z.string().max(200).optional(),
  }),
  /** A person overrides the plan, or does no longer. */
  z.strictObject({
    kind: z.literal("override"),
    ...Of,
    atMs: EpochMs,
    override: ChangeId,
    action: z.enum(OVERRIDE_KINDS),
    state: z.enum(["begun", ...OVERRIDE_ENDS]),
    /** Who ordered it, or ended it. */
    by: z.string().max(200),
    note: z.string().max(200),
    untilMs: EpochMs,
    replicas: Count.optional(),
  }),
  /** Somebody set another mode, which stands under the service that users call, or other bounds of a service. */
  z.strictObject({
    kind: z.literal("setting"),
    ...Of,
    atMs: EpochMs,
    setting: z.enum(["mode", "bounds"]),
    from: z.string().max(64),
    to: z.string().max(64),
    /** Field manager that wrote the Application last; absent of a file. */
    by: z.string().max(200).optional(),
  }),
  /** A change that waits for a person came into this state. */
  z.strictObject({
    kind: z.literal("change"),
    ...Of,
    atMs: EpochMs,
    change: ChangeId,
    state: z.enum(CHANGE_STATES),
    resource: z.enum(PLAN_RESOURCES),
    from: NonNegative,
    to: NonNegative,
    changeHash: ChangeHash,
    by: z.string().max(200).optional(),
    note: z.string().max(200).optional(),
    notBeforeMs: EpochMs.optional(),
  }),
]);
export type AuditEvent = z.infer<typeof AuditEvent>;

/** What happened lately, newest first: `GET /v1/events` of the scaler. */
export const EventList = z.object({ events: z.array(AuditEvent).max(10_000) });
export type EventList = z.infer<typeof EventList>;

/** Query of `GET /v1/events`. */
export const EventQuery = z.object({
  namespace: ObjectName.optional(),
  application: ObjectName.optional(),
  service: ServiceName.optional(),
  /** Only those before, ms since the epoch. */
  before: z.coerce.number().optional(),
  most: z.coerce.number().int().min(1).max(2_000).default(500),
});

/** An event with all of its codes is far shorter. */
const MOST_ROW_CHARACTERS = 65_536;

/** A row of the audit trail. `hash` is the SHA-256 of the hash before it and `row`. */
export const AuditRow = z.strictObject({
  seq: Count,
  row: z.string().max(MOST_ROW_CHARACTERS),
  hash: FullHash,
});
export type AuditRow = z.infer<typeof AuditRow>;
