import { z } from "zod";
import { PUBLISHED_WEIGHTS } from "./queue-estimate.ts";
import { CostSettings } from "./cost-settings.ts";

/** Constants of the policies. They are part of a decision's inputs, so that a replay uses the same. */
export const PolicySettings = z.strictObject({
  weights: z
    .strictObject({
      latency: z.number().min(0).default(PUBLISHED_WEIGHTS.latency),
      meanViolation: z.number().min(0).default(PUBLISHED_WEIGHTS.meanViolation),
      tailViolation: z.number().min(0).default(PUBLISHED_WEIGHTS.tailViolation),
    })
    .prefault({}),
  /** Share of its CPU that a replica is sized to use. */
  targetUtilisation: z.number().gt(0).lt(1).default(0.65),
  /** Most share of their CPU that the others may use after a replica is taken away. */
  shrinkUtilisation: z.number().gt(0).lt(1).default(0.55),
  /** Time in which the replicas should be able to work off a backlog; at least a window. */
  drainSeconds: z.number().positive().default(30),
  /** The reactive need asks for at most this many times the ready replicas at once. */
  needGrowthLimit: z.number().min(1).default(3),
  /** Calls from which the latency of a flow counts as a miss. */
  minimumCalls: z.number().int().min(1).default(20),
  /** Earlier windows that a flow with fewer calls is judged with, while no service it runs on has changed. */
  pooledWindows: z.number().int().min(0).max(64).default(12),
  /** Tail over objective from which one window is enough to grow; below it two in a row are needed. */
  clearMissRatio: z.number().min(1).default(1.2),
  /** While pods start, more are added only once the miss is worse by this factor. */
  worseRatio: z.number().min(1).default(1.25),
  /** Tail over objective below which a window counts as calm. */
  calmRatio: z.number().gt(0).lt(1).default(0.8),
  /** Most predicted tail over objective after a pod is taken away. */
  predictedRatioLimit: z.number().gt(0).lt(1).default(0.9),
  /** Share of failed requests from which a window is not calm. */
  errorRatioLimit: z.number().min(0).max(1).default(0.05),
  /** Calm windows before the first pod is taken away; at least as many as make up `objective.windowSeconds`. */
  patienceWindows: z.number().int().min(1).default(3),
  /** Calm windows between one step down and the next. */
  settleWindows: z.number().int().min(1).default(2),
  /** Share of all pods that one step down may take, rounded up. */
  shrinkStep: z.number().gt(0).max(1).default(0.1),
  /** A miss within this many windows of a step down counts as caused by it, and doubles the calm windows before the next. */
  regretWindows: z.number().int().min(1).default(8),
  /** Most doublings of the calm windows before a step down. */
  patienceDoublings: z.number().int().min(0).default(4),
  /** A service that uses less of its CPU than this share and queues nothing is idle: more pods do not help it. */
  idleUtilisation: z.number().gt(0).lt(1).default(0.3),
  /** Requests in a replica at once below which nothing queues there. */
  idleOwnRequests: z.number().gt(0).default(0.5),
  /** Windows without growth after added pods had no effect; doubles each time. */
  futileWindows: z.number().int().min(1).default(8),
  /** Most doublings of that pause while the objective stays missed. */
  futileDoublings: z.number().int().min(0).default(4),
  /** A state older than this many windows is stale: the larger of the last wish and what runs counts. */
  staleStateWindows: z.number().int().min(1).default(4),
  cost: CostSettings.prefault({}),
  /** A service that no source has reported for this time is forgotten, seconds. */
  forgetServiceSeconds: z.number().positive().default(3_600),
});
export type PolicySettings = z.infer<typeof PolicySettings>;
