import { ContentHash, Count, NonNegative, ServiceName } from "@tradewind/core/contract/quantity.ts";
import { z } from "zod";

/** How far a profile was off over the last windows that say something, each judged before the profile had seen it. */
export const RecentErrors = z.strictObject({
  windows: Count,
  /** Mean of |predicted − measured| / measured, each at most 1. */
  meanAbsoluteRatio: NonNegative,
  /**
   * The same with the correction by what was measured before, which plans make, and less what chance alone makes of a tail of
   * so few calls: what decides whether a profile is believed.
   */
  excessRatio: NonNegative.optional(),
  /** What that would have been of predicting that the tail stays as it was: how much of the error is restlessness of the tail. */
  persistenceRatio: NonNegative.optional(),
});
export type RecentErrors = z.infer<typeof RecentErrors>;

/** Name of a flow, as in `FlowWindow`. */
const FlowName = z.string().min(1).max(200);

/**
 * What is known of the learnt end-to-end residual of one flow when a decision is made: the model by its name, and how it
 * did since it is in use, next to what the call graph alone would have said of the same windows.
 */
export const FlowEvidence = z.strictObject({
  flow: FlowName,
  /** Content of the model file, see endtoend/attention-file.ts. */
  hash: ContentHash,
  version: z.number().int().min(1),
  errors: RecentErrors.optional(),
  graphErrors: RecentErrors.optional(),
});
export type FlowEvidence = z.infer<typeof FlowEvidence>;

/** See profile/service-state.ts. */
const State = z.strictObject({
  cpuSecondsPerRequest: z.number().positive(),
  baseSeconds: z.number().positive(),
});

/**
 * What is known of one service's latency profile when a decision is made. The windows it was learnt from are not in here,
 * only what came of them, and of a trained model only the name: a decision needs no more, and so its inputs stay small.
 */
export const ServiceEvidence = z.strictObject({
  service: ServiceName,
  /** Queueing prior: state, and measured over predicted at the 5th and 95th percentile where there are enough windows. */
  prior: z
    .strictObject({
      state: State,
      factors: z.strictObject({ lower: z.number().positive(), upper: z.number().positive() }).optional(),
      errors: RecentErrors.optional(),
    })
    .optional(),
  trained: z
    .strictObject({
      /** Content of the model file, see profile/model-file.ts. */
      hash: ContentHash,
      version: z.number().int().min(1),
      state: State,
      /** As calibrated in training and moved by what was measured since. */
      interval: z.strictObject({ low: z.number().max(0), high: NonNegative }),
      /** Error on the later block when it was trained. */
      trainingRatio: NonNegative,
      errors: RecentErrors.optional(),
    })
    .optional(),
  /** Most memory that a container used over the windows kept, bytes; absent where not all of them were measured. */
  memoryPeakBytes: NonNegative.optional(),
});
export type ServiceEvidence = z.infer<typeof ServiceEvidence>;
