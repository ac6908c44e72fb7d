import type { PolicyName } from "@tradewind/core/contract/plan.ts";
import type { ResidualModel } from "../../models/residual/residual-model.ts";
import type { ServiceEvidence } from "../../facts/evidence.ts";
import type { Models } from "../../facts/evidence.ts";
import type { Observation } from "../../facts/observation.ts";

/** A trained residual of a service's tracked profile, and the variance of ln of the self time that is left with it. */
export interface ResidualInUse {
  readonly model: ResidualModel;
  readonly hash: string;
  readonly variance: number;
}
export type Residuals = ReadonlyMap<string, ResidualInUse>;

export type CostLevel = Extract<PolicyName, "planner" | "planner-prior">;

/** The residuals that the evidence names, by service; one whose model is gone is left out. */
export function residualsInUse(evidence: readonly ServiceEvidence[], models: Models): Residuals {
  return new Map(
    evidence.flatMap(({ residual, service }): [string, ResidualInUse][] => {
      if (residual === undefined) return [];
      const { hash, variance } = residual;
      const model = models.residual(hash);
      return model === undefined ? [] : [[service, { model, hash, variance }]];
    }),
  );
}

/** Share of the time that requests spend in services from which a service counts. */
const MEASURABLE_SHARE = 0.1;

/** Which level decides with these residuals. @param routed services that requests of users pass */
export function levelOf(routed: readonly Observation[], residuals: Residuals): CostLevel {
  const times = routed.map(({ service, window }) => {
    const seconds = (window?.requestsPerSecond ?? 0) * (window?.ownLatency?.meanSeconds ?? 0);
    return { service, seconds };
  });
  const total = times.reduce((sum, { seconds }) => sum + seconds, 0);
  const measurable = times.filter(({ seconds }) => seconds > 0 && seconds >= MEASURABLE_SHARE * total);
  const areTrained = measurable.length > 0 && measurable.every(({ service }) => residuals.has(service));
  return areTrained ? "planner" : "planner-prior";
}
