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

/** A trained residual of a service's tracked profile that later windows have proven. */
export const ResidualEvidence = z.strictObject({
  /** Content of the model file, see models/residual/residual-model.ts. */
  hash: ContentHash,
  version: z.number().int().min(1),
  /** Variance of ln of the self time that is left with it, less chance, over so many windows after those that trained it. */
  variance: NonNegative,
  windows: Count,
});
export type ResidualEvidence = z.infer<typeof ResidualEvidence>;

/**
 * What is known of one service when a decision is made besides what its state says. Of a trained model only the name: so the
 * inputs stay small.
 */
export const ServiceEvidence = z.object({
  service: ServiceName,
  /** Absent in records of releases that kept something else of a service, which is left out. */
  residual: ResidualEvidence.optional(),
});
export type ServiceEvidence = z.infer<typeof ServiceEvidence>;
