import { z } from "zod";
import { APPLICATION_MODES } from "./plan.ts";
import { Count, EpochMs, LatencyObjective, NonNegative, ObjectName, Ratio, ServiceName } from "./quantity.ts";

/** One application in one line. Absent means not known, never 0. */
export const FleetRow = z.strictObject({
  /** Address of the scaler that gave it; absent: this one. */
  cluster: z.string().max(500).optional(),
  namespace: ObjectName,
  name: ObjectName,
  mode: z.enum(APPLICATION_MODES).optional(),
  /** What stands in the way of a new plan. */
  problem: z.string().max(1_000).optional(),
  objective: LatencyObjective.optional(),
  /** Of the last window: measured latency over the objective, or failed requests over those that may be late, whichever is more. */
  sloRatio: NonNegative.optional(),
  /** How it stood in the last window, in one sentence. */
  standing: z.string().max(1_000).optional(),
  /** Measured latency over the objective in the last hour, oldest first, one for each minute; null where nothing was measured. */
  course: z.array(NonNegative.nullable()).max(60),
  /** Of the requests that may be over the objective, the share that is left; below 0: more than all were. */
  budgetLeftRatio: z.number().max(1).optional(),
  /** Time that this is counted over, at most the period of the error budget and 24 h. */
  budgetSeconds: NonNegative.optional(),
  services: Count,
  /** Of the services of which it is known. */
  replicasReady: Count.optional(),
  replicas: Count,
  costPerHour: NonNegative.optional(),
  recommendedCostPerHour: NonNegative.optional(),
  /** Share of its services that a person overrides, and each override in words. */
  heldRatio: Ratio,
  overrides: z.array(z.string().max(1_000)).max(20),
  lastChange: z
    .strictObject({
      atMs: EpochMs,
      service: ServiceName,
      what: z.string().max(500),
      reason: z.string().max(1_000),
    })
    .optional(),
});
export type FleetRow = z.infer<typeof FleetRow>;

export const FLEET_SCHEMA = "tradewind.dev/fleet/v1";

/** All applications, worst first: `GET /v1/fleet` of the scaler. */
export const Fleet = z.strictObject({
  schema: z.literal(FLEET_SCHEMA),
  applications: z.array(FleetRow).max(10_000),
  /** Scalers of other clusters that gave nothing. */
  unreachable: z
    .array(z.strictObject({ cluster: z.string().max(500), problem: z.string().max(500) }))
    .max(100),
});
export type Fleet = z.infer<typeof Fleet>;

/** Missed objectives first, the worst before the others; then those without a new plan; then by the budget that is left. */
export function worstFirst(one: FleetRow, other: FleetRow): number {
  return (
    missed(other) - missed(one) ||
    Number(other.problem !== undefined) - Number(one.problem !== undefined) ||
    (one.budgetLeftRatio ?? 1) - (other.budgetLeftRatio ?? 1) ||
    (other.sloRatio ?? 0) - (one.sloRatio ?? 0) ||
    (keyOf(one) < keyOf(other) ? -1 : 1)
  );
}

/** 0 where the objective is met. */
const missed = ({ sloRatio = 0 }: FleetRow): number => (sloRatio > 1 ? sloRatio : 0);

const keyOf = ({ cluster = "", name, namespace }: FleetRow): string => `${cluster} ${namespace}/${name}`;
