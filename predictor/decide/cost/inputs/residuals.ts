import type { PolicyName } from "@tradewind/core/contract/plan.ts";
import type { Use } from "../../../models/residual/residual.ts";
import type { ResidualModel } from "../../../models/residual/residual-model.ts";
import { MOSTLY_TRAINED } from "../../../models/residual/standing.ts";
import type { ServiceEvidence } from "../../facts/evidence.ts";
import type { Models } from "../../facts/evidence.ts";
import type { Observation } from "../../facts/observation.ts";

/** A trained residual of a service's tracked profile, and how it is used. */
export interface ResidualInUse extends Required<Use> {
  readonly model: ResidualModel;
  readonly hash: string;
}
export type Residuals = ReadonlyMap<string, ResidualInUse>;

export type CostLevel = Extract<PolicyName, "planner" | "planner-prior">;

/** The residuals that the evidence names, by service; one whose model is gone is left out. */
export function residualsInUse(evidence: readonly ServiceEvidence[], models: Models): Residuals {
  return new Map(
    evidence.flatMap(({ residual, service }): [string, ResidualInUse][] => {
      if (residual === undefined) return [];
      const { hash, variance, weight } = residual;
      const model = models.residual(hash);
      return model === undefined ? [] : [[service, { model, hash, variance, weight }]];
    }),
  );
}

/**
 * Which level decides with these residuals: trained profiles where their weight is a half or more in the mean over the time that
 * requests spend. @param routed services that requests of users pass
 */
export function levelOf(routed: readonly Observation[], residuals: Residuals): CostLevel {
  let [total, trained] = [0, 0];
  for (const { service, window } of routed) {
    const seconds = (window?.requestsPerSecond ?? 0) * (window?.ownLatency?.meanSeconds ?? 0);
    total += seconds;
    trained += seconds * (residuals.get(service)?.weight ?? 0);
  }
  return total > 0 && trained >= MOSTLY_TRAINED * total ? "planner" : "planner-prior";
}
