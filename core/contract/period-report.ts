import { z } from "zod";
import { Allocation } from "./plan.ts";
import { ShadowComparison } from "./shadow.ts";
import { Count, EpochMs, LatencyObjective, NonNegative, ObjectName, ServiceName } from "./quantity.ts";

export const PERIOD_REPORT_SCHEMA = "tradewind.dev/period-report/v1";

/** Requests of users by the objective, which a failed one misses, and for how long they were measured. */
const Judged = {
  requests: NonNegative,
  /** Those that failed or took longer than the objective; the latter counted where the source counts them, else read off the percentiles. */
  requestsOver: NonNegative,
  /** Time in windows with requests, and the part of it in which the objective was missed. */
  measuredSeconds: NonNegative,
  missedSeconds: NonNegative,
  /** Largest value of the objective's percentile in a window. Absent without requests. */
  worstLatencySeconds: NonNegative.optional(),
};

/** What was paid for: limits of the containers that were ready, else what they request. */
const Paid = {
  cost: NonNegative,
  cpuCoreHours: NonNegative,
  memoryGigabyteHours: NonNegative,
  replicaHours: NonNegative,
};

/** What happened to an application over a time: `GET /v1/report?from=&to=` of the predictor. Every number was measured, but those of `shadow` that are of the HPA. */
export const PeriodReport = z.strictObject({
  schema: z.literal(PERIOD_REPORT_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  /** Begin of the first window that is stored of the time, and end of the last one. */
  fromMs: EpochMs,
  toMs: EpochMs,
  objective: LatencyObjective,
  /** All routes; missed where any of them was. */
  ...Judged,
  routes: z
    .array(
      z.strictObject({
        route: z.string().max(200),
        /** Absent where it is the application's. */
        objective: LatencyObjective.optional(),
        ...Judged,
      }),
    )
    .max(1_000),
  /** All services whose size is known, in the application's own currency. */
  ...Paid,
  /** What the prices are in; absent where the application does not say it. */
  currency: z.string().max(8).optional(),
  /** Beside what the HPA before would have done; absent where no models decided. */
  shadow: ShadowComparison.optional(),
  /** What it would have cost had each service kept the size of its first window. */
  costAtFirstSizes: NonNegative,
  services: z
    .array(
      z.strictObject({
        service: ServiceName,
        ...Paid,
        /** Ready replicas: the fewest and the most in a window. */
        replicasLeast: Count,
        replicasMost: Count,
        /** How often a plan proposed another size for it. */
        decisions: Count,
      }),
    )
    .max(10_000),
  /** Plans' proposals that changed a size of a service. */
  decisions: Count,
  /** The newest of them, newest first. */
  newest: z
    .array(
      z.strictObject({
        service: ServiceName,
        decidedAtMs: EpochMs,
        before: Allocation.partial(),
        after: Allocation,
        reason: z.string().max(1_000),
      }),
    )
    .max(20),
});
export type PeriodReport = z.infer<typeof PeriodReport>;
