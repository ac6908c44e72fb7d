import type { AttentionModel } from "../../endtoend/attention-model.ts";
import type { FlowEvidence, RecentErrors } from "../evidence.ts";
import type { Models } from "../inputs.ts";

/** A learnt residual of a flow that may be planned with. */
export interface UsableResidual {
  readonly flow: string;
  readonly hash: string;
  readonly model: AttentionModel;
}

export interface ResidualFacts {
  readonly evidence: readonly FlowEvidence[];
  readonly models: Models;
  /** Of the objective. */
  readonly percentile: number;
  /** Windows before an error tells anything. */
  readonly errorWindows: number;
}

/**
 * The residuals that a decision uses: those that are there, of the objective's percentile, and no further off than the call
 * graph alone over the last windows. A flow without one is planned by its call graph.
 */
export function usableResiduals({
  evidence,
  models,
  percentile,
  errorWindows,
}: ResidualFacts): UsableResidual[] {
  return evidence.flatMap(({ flow, hash, errors, graphErrors }) => {
    const model = models.endToEnd(hash);
    if (model === undefined || model.flow !== flow || model.percentile !== percentile) return [];
    const off = told(errors, errorWindows);
    const graphOff = told(graphErrors, errorWindows);
    return off !== undefined && graphOff !== undefined && off > graphOff ? [] : [{ flow, hash, model }];
  });
}

function told(errors: RecentErrors | undefined, errorWindows: number): number | undefined {
  return errors !== undefined && errors.windows >= errorWindows ? errors.meanAbsoluteRatio : undefined;
}
