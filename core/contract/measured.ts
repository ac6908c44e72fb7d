import { z } from "zod";
import { CAUSE_TYPES } from "./cause.ts";
import { INTERFERENCE_COMPONENTS } from "./interference.ts";
import { PolicyLabel } from "./plan.ts";
import { EpochMs, NonNegative, ObjectName, Ratio, ServiceName } from "./quantity.ts";

/** One service in the last window, summed up. Absent means not measured, never 0. */
export const MeasuredService = z.strictObject({
  service: ServiceName,
  requestsPerSecond: NonNegative.optional(),
  errorRatio: Ratio.optional(),
  /** p95 of its self time, seconds. */
  selfTimeP95Seconds: NonNegative.optional(),
  /** CPU used over CPU limit (request where there is no limit), mean of its main containers. */
  cpuUsedRatio: NonNegative.optional(),
  /** Working set over memory limit (request where there is no limit), the highest of its main containers. */
  memoryUsedRatio: NonNegative.optional(),
  /** The strongest interference by others on the node of any of its containers, and in what. */
  interferenceRatio: Ratio.optional(),
  interferenceIn: z.enum(INTERFERENCE_COMPONENTS).optional(),
  /**
   * Share of the slowest route's predicted percentile that its self time makes up, by the models of the last decision; absent
   * where no models decided. Shares sum to 1.
   */
  tailShare: Ratio.optional(),
});
export type MeasuredService = z.infer<typeof MeasuredService>;

/** Calls of one service to another in the last window. */
export const MeasuredCall = z.strictObject({
  caller: ServiceName,
  callee: ServiceName,
  callsPerSecond: NonNegative,
});
export type MeasuredCall = z.infer<typeof MeasuredCall>;

export const MEASURED_SCHEMA = "tradewind.dev/measured/v1";

/** What was measured of each service in the window of the last plan: `GET /v1/measured` of the predictor and the scaler. */
export const Measured = z.strictObject({
  schema: z.literal(MEASURED_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  /** Service that users call. */
  entry: ServiceName,
  startMs: EpochMs,
  endMs: EpochMs,
  services: z.array(MeasuredService).max(10_000),
  calls: z.array(MeasuredCall).max(100_000),
});
export type Measured = z.infer<typeof Measured>;

/** One window of an application as a whole. */
export const CoursePoint = z.strictObject({
  /** End of the window. */
  atMs: EpochMs,
  /** The objective's percentile of the slowest route; absent without traffic. */
  latencySeconds: NonNegative.optional(),
  objectiveSeconds: z.number().positive(),
  /** Requests that users began. */
  requestsPerSecond: NonNegative,
  /** Share of them over the objective. */
  overRatio: Ratio,
  /** Price of what ran, and of what was recommended, for an hour; absent where no size is known. */
  costPerHour: NonNegative.optional(),
  recommendedCostPerHour: NonNegative.optional(),
  policy: PolicyLabel,
});
export type CoursePoint = z.infer<typeof CoursePoint>;

/** A new program of a service: its newest pods run another pod template than before. */
export const Deploy = z.strictObject({
  service: ServiceName,
  /** Begin of the first window that it was seen in. */
  atMs: EpochMs,
  /** Hashes of the pod templates. */
  from: z.string().max(253),
  to: z.string().max(253),
});
export type Deploy = z.infer<typeof Deploy>;

export const COURSE_SCHEMA = "tradewind.dev/course/v1";

/** The windows of the last hours, oldest first: `GET /v1/course` of the predictor. */
export const Course = z.strictObject({
  schema: z.literal(COURSE_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  points: z.array(CoursePoint).max(10_000),
  /** All since the predictor began, oldest first. */
  deploys: z.array(Deploy).max(1_000).default([]),
});
export type Course = z.infer<typeof Course>;

/**
 * One window of an application or of a service as a scaler keeps it, or several of the past as one: then the highest latency, the share of
 * all their requests, and means. Absent means not measured, never 0.
 */
export const KeptPoint = z.strictObject({
  /** End of the window, or of the last one. */
  atMs: EpochMs,
  /** The objective's percentile of the slowest route; of a service, of the routes through it. */
  latencySeconds: NonNegative.optional(),
  objectiveSeconds: NonNegative.optional(),
  requestsPerSecond: NonNegative.optional(),
  /** Share of the requests over the objective; not of a service. */
  overRatio: Ratio.optional(),
  replicas: NonNegative.optional(),
  recommendedReplicas: NonNegative.optional(),
  /** Of all replicas: what they use, and their limits (requests where there is no limit). */
  cpuUsedCores: NonNegative.optional(),
  cpuCores: NonNegative.optional(),
  costPerHour: NonNegative.optional(),
  recommendedCostPerHour: NonNegative.optional(),
});
export type KeptPoint = z.infer<typeof KeptPoint>;

/** The last 24 hours of an application, or of one of its services, oldest first: `GET /v1/course` of the scaler. */
export const KeptCourse = z.strictObject({
  schema: z.literal(COURSE_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  service: ServiceName.optional(),
  points: z.array(KeptPoint).max(1_000),
  deploys: z.array(Deploy).max(1_000),
});
export type KeptCourse = z.infer<typeof KeptCourse>;

/** A missed objective that was explained; `GET /v1/explain?at=` has all of it. */
export const Incident = z.strictObject({
  atMs: EpochMs,
  onsetMs: EpochMs,
  measuredLatencySeconds: NonNegative.optional(),
  objectiveSeconds: z.number().positive(),
  summary: z.string().max(1_000),
  cause: z.strictObject({ service: ServiceName, type: z.enum(CAUSE_TYPES) }).optional(),
});
export type Incident = z.infer<typeof Incident>;

/** Those that are kept, newest first: `GET /v1/incidents` of the predictor and the scaler. */
export const IncidentList = z.strictObject({ incidents: z.array(Incident).max(1_000) });
export type IncidentList = z.infer<typeof IncidentList>;
