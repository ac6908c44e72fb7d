import { z } from "zod";
import {
  Count,
  EpochMs,
  LatencyObjective,
  NodeClassName,
  NonNegative,
  ObjectName,
  ServiceName,
} from "./quantity.ts";

const pair = <Schema extends z.ZodType>(schema: Schema) => z.strictObject({ now: schema, then: schema });

/** What agents have read of the nodes of a class; absent where no agent says it. */
export const ClassHardware = z.strictObject({
  /** Fastest kind of disk that each of its nodes has. */
  storage: z.enum(["nvme", "ssd", "hdd"]).optional(),
  /** Speed of the fastest link that each of its nodes has. */
  networkBytesPerSecond: z.number().positive().optional(),
});
export type ClassHardware = z.infer<typeof ClassHardware>;

/** `nvme, 12.5 Gbit/s`; empty where neither is known. */
export function hardwareInWords({ networkBytesPerSecond, storage }: ClassHardware): string {
  const gigabits = ((networkBytesPerSecond ?? 0) * 8) / 1e9;
  return [
    ...(storage === undefined ? [] : [storage]),
    ...(gigabits > 0 ? [`${+gigabits.toPrecision(3)} Gbit/s`] : []),
  ].join(", ");
}

/** Nodes that are alike, and how fast their CPUs have been measured to be. */
export const NodeClass = z.strictObject({
  nodeClass: NodeClassName,
  /** Nodes of the class that the platform lists; absent where it lists none. */
  nodes: Count.optional(),
  /** CPU that pods leave of those that take pods, cores. */
  roomCores: NonNegative.optional(),
  /** CPU work done in a second of CPU time over that of the reference class: 0.6 takes 1.67 times the CPU a request. 1 while not measured. */
  speed: z.number().positive(),
  /** Interval of 99 % of the measured speed; absent of the reference class and without a comparison. */
  lowSpeed: z.number().positive().optional(),
  highSpeed: z.number().positive().optional(),
  /** How many comparisons of equal weight say as much; a comparison is one service in one window. */
  comparisons: NonNegative,
  /** Others are compared with it. */
  isReference: z.boolean(),
  /** Decisions count with the speed: the interval leaves out 1, and there are enough comparisons. */
  isCounted: z.boolean(),
  ...ClassHardware.shape,
});
export type NodeClass = z.infer<typeof NodeClass>;

/** What was measured of a service before its pods moved to a class, and since. Medians over windows. */
export const MeasuredMove = z.strictObject({
  /** Windows since. */
  windows: Count,
  /** CPU seconds of a request of the service. */
  cpuSecondsPerRequest: pair(NonNegative),
  /** The objective's percentile of its self time. */
  selfTimeSeconds: pair(NonNegative),
  replicas: pair(NonNegative),
});
export type MeasuredMove = z.infer<typeof MeasuredMove>;

/** What the models expect of a service if all of its pods ran on nodes of one class. Advice: nobody carries it out. */
export const Placement = z.strictObject({
  service: ServiceName,
  nodeClass: NodeClassName,
  /** CPU seconds a request there over those of the pods as they run. */
  cpuRatio: z.number().positive(),
  /** Objective's percentile of the slowest route through it, and of its self time, with as many replicas. */
  latencySeconds: pair(NonNegative),
  selfTimeSeconds: pair(NonNegative),
  /** `then`: the fewest with which its self time is no longer than now. */
  replicas: pair(Count),
  /** Price of the service with so many replicas, at the application's prices. */
  costPerHour: pair(NonNegative),
  /** Merge patch of its workload that makes new pods prefer such nodes. */
  patch: z.record(z.string().max(253), z.unknown()),
  /** What is patched, as `Deployment/cart`; absent where the platform does not list it. */
  workload: z.string().max(330).optional(),
  /** Label of the nodes that the patch names; where it is `tradewind.dev/node-class`, nodes need it first. */
  label: z.string().max(317),
  /** Present once all of its pods have run there for ten windows. */
  measured: MeasuredMove.optional(),
});
export type Placement = z.infer<typeof Placement>;

export const NODE_CLASSES_SCHEMA = "tradewind.dev/node-classes/v1";

/** Node classes and what services would gain on faster ones: `GET /v1/node-classes` of the predictor. */
export const NodeClassList = z.strictObject({
  schema: z.literal(NODE_CLASSES_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  decidedAtMs: EpochMs,
  objective: LatencyObjective,
  /** Empty where all nodes are of one class. */
  classes: z.array(NodeClass).max(17),
  /** Most saved first. */
  placements: z.array(Placement).max(100),
});
export type NodeClassList = z.infer<typeof NodeClassList>;
