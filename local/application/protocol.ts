import { z } from "zod";
import { ReplicaFault } from "./service-fault.ts";
import { Calibration } from "./work.ts";

/** What a replica is told when it starts, as JSON in the environment variable `TRADEWIND_REPLICA`. */
export const ReplicaConfig = z.strictObject({
  application: z.string().min(1),
  service: z.string().min(1),
  podName: z.string().min(1),
  podUid: z.string().min(1),
  calibration: Calibration,
  /** Where spans go, `http://127.0.0.1:4318/v1/traces`; without it none are sent. */
  tracesUrl: z.url().optional(),
});
export type ReplicaConfig = z.infer<typeof ReplicaConfig>;

/** Endpoints of each service that the replica calls. */
export const Endpoints = z.record(z.string(), z.array(z.string()));
export type Endpoints = z.infer<typeof Endpoints>;

export const ToReplica = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("endpoints"), endpoints: Endpoints }),
  /** CPU limit to keep by itself from now on, where no cgroup enforces it. */
  z.strictObject({ kind: z.literal("limit"), cpuCores: z.number().positive() }),
  /** What is wrong with the replica from now on. */
  z.strictObject({ kind: z.literal("fault"), fault: ReplicaFault }),
  /** No new requests will come: finish, send the last spans, exit. */
  z.strictObject({ kind: z.literal("drain") }),
]);
export type ToReplica = z.infer<typeof ToReplica>;

export const FromReplica = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("listening"), port: z.number().int().positive() }),
  z.strictObject({
    kind: z.literal("usage"),
    /** When it was read, ms since the Unix epoch. */
    atMs: z.number().nonnegative(),
    /** CPU time of the process since its start. */
    cpuSeconds: z.number().nonnegative(),
    residentBytes: z.number().nonnegative(),
    requestsTotal: z.number().int().nonnegative(),
    refusedTotal: z.number().int().nonnegative(),
  }),
]);
export type FromReplica = z.infer<typeof FromReplica>;

/** Carries the number from which every service draws what this request costs it. */
export const DEMAND_HEADER = "x-demand-seed";
