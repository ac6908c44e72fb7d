import { z } from "zod";
import { PolicyLabel } from "./plan.ts";
import { Count, EpochMs, LatencyObjective, NonNegative, ObjectName, ServiceName } from "./quantity.ts";

/** Change of a latency percentile for one more unit, seconds: below 0 it is faster, 0 changes nothing, never above. */
export const Gain = z.strictObject({
  seconds: z.number().max(0),
  /** Interval of 90 % by the models' own uncertainty: `lowSeconds <= seconds <= highSeconds <= 0`. */
  lowSeconds: z.number().max(0),
  highSeconds: z.number().max(0),
});
export type Gain = z.infer<typeof Gain>;

/** What one more unit of a service does to the slowest route through it, and what it is worth. */
export const UnitWorth = z.strictObject({
  ...Gain.shape,
  /** Price of one unit for an hour, in the application's own currency. */
  costPerHour: NonNegative,
  /** Change of the expected price of missed objectives for an hour, all routes together, <= 0. */
  missCostPerHour: z.number().max(0),
});
export type UnitWorth = z.infer<typeof UnitWorth>;

export const RouteSensitivity = z.strictObject({
  route: z.string().max(200),
  /** Predicted percentile at the sizes decided on, seconds. */
  latencySeconds: NonNegative,
  perCore: Gain,
  perReplica: Gain,
});
export type RouteSensitivity = z.infer<typeof RouteSensitivity>;

/** What one more unit of one service is worth at the sizes decided on. */
export const ServiceSensitivity = z.strictObject({
  service: ServiceName,
  /** The size decided on; CPU and memory of each container. */
  replicas: Count,
  cpuCores: NonNegative,
  memoryBytes: NonNegative,
  slowestRoute: z.string().max(200),
  latencySeconds: NonNegative,
  /** Slope for CPU limit, per core of the service: each container gets its share of it. */
  perCore: UnitWorth,
  /** Exact difference for one replica more. */
  perReplica: UnitWorth,
  perGibibyte: z.strictObject({
    seconds: z.number().max(0),
    costPerHour: NonNegative,
    /** Why it is 0. */
    reason: z.string().max(200),
  }),
  /** All routes through it, slowest first. */
  routes: z.array(RouteSensitivity).max(1_000),
});
export type ServiceSensitivity = z.infer<typeof ServiceSensitivity>;

export const SENSITIVITIES_SCHEMA = "tradewind.dev/sensitivities/v1";

/** What one more unit of each service is worth after the last decision: `GET /v1/sensitivities` of the predictor. */
export const SensitivityList = z.strictObject({
  schema: z.literal(SENSITIVITIES_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  decidedAtMs: EpochMs,
  policy: PolicyLabel,
  objective: LatencyObjective,
  /** Why there are none: the policy that decided, and its reason. Absent where models decided. */
  unavailable: z.string().max(600).optional(),
  /** Services on a user's route that have a calibrated model; a service without one is absent. */
  services: z.array(ServiceSensitivity).max(10_000),
});
export type SensitivityList = z.infer<typeof SensitivityList>;
