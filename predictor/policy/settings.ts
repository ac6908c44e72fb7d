import { z } from "zod";
import { PUBLISHED_WEIGHTS } from "../queue/estimate.ts";
import { CostSettings } from "../decide/settings.ts";

/** Constants of the policies. They are part of a decision's inputs, so that a replay uses the same. */
export const PolicySettings = z.strictObject({
  weights: z
    .strictObject({
      latency: z.number().min(0).default(PUBLISHED_WEIGHTS.latency),
      meanViolation: z.number().min(0).default(PUBLISHED_WEIGHTS.meanViolation),
      tailViolation: z.number().min(0).default(PUBLISHED_WEIGHTS.tailViolation),
    })
    .prefault({}),
  /** CPU demand over capacity that a replica is sized for. */
  targetUtilisation: z.number().gt(0).lt(1).default(0.65),
  /** CPU demand over capacity that must still hold after a replica is taken away. */
  shrinkUtilisation: z.number().gt(0).lt(1).default(0.55),
  /** Time in which the replicas should be able to work off a backlog; at least a window. */
  drainSeconds: z.number().positive().default(30),
  /** The reactive need asks at most this many times the ready replicas at once. */
  needGrowthLimit: z.number().min(1).default(3),
  /** A flow with fewer calls cannot show a miss. */
  minimumCalls: z.number().int().min(1).default(20),
  /** Windows before this one that may tell of a flow with fewer calls, as long as nothing it runs on has changed. */
  pooledWindows: z.number().int().min(0).max(64).default(12),
  /** Tail over objective from which one window is enough to grow; below it two in a row are needed. */
  clearMissRatio: z.number().min(1).default(1.2),
  /** Pods that are not yet serving hold back further growth unless the miss gets worse by this factor. */
  worseRatio: z.number().min(1).default(1.25),
  /** Tail over objective below which a window counts as calm. */
  calmRatio: z.number().gt(0).lt(1).default(0.8),
  /** Tail over objective that may be predicted for after a pod is taken away. */
  predictedRatioLimit: z.number().gt(0).lt(1).default(0.9),
  /** Share of failed requests from which a window is not calm. */
  errorRatioLimit: z.number().min(0).max(1).default(0.05),
  /** Calm windows before the first pod is taken away; at least the objective's own interval. */
  patienceWindows: z.number().int().min(1).default(3),
  /** Calm windows between one step down and the next. */
  settleWindows: z.number().int().min(1).default(2),
  /** Share of all pods that one step down may take, rounded up. */
  shrinkStep: z.number().gt(0).max(1).default(0.1),
  /** A miss this many windows after a step down counts as caused by it, and doubles the patience. */
  regretWindows: z.number().int().min(1).default(8),
  /** How often the patience may double. */
  patienceDoublings: z.number().int().min(0).default(4),
  /** A replica that uses less CPU than this share and queues nothing cannot be what is slow. */
  idleUtilisation: z.number().gt(0).lt(1).default(0.3),
  /** Own requests in a replica at once below which nothing queues there. */
  idleOwnRequests: z.number().gt(0).default(0.5),
  /** Windows without growth for latency after growth has first shown no effect. */
  futileWindows: z.number().int().min(1).default(8),
  /** How often that pause may double while the objective stays missed. */
  futileDoublings: z.number().int().min(0).default(4),
  /** A state older than this many windows no longer tells what the platform was asked for. */
  staleStateWindows: z.number().int().min(1).default(4),
  cost: CostSettings.prefault({}),
  /** A service that nobody has reported for so long is forgotten. */
  forgetServiceSeconds: z.number().positive().default(3_600),
});
export type PolicySettings = z.infer<typeof PolicySettings>;
