import type { ApplicationPlan } from "../../plan/application-plan.ts";
import { learntCorrection } from "../../plan/correction.ts";
import type { PlannerMemory } from "../state.ts";
import type { Preparation } from "./preparation.ts";

/** Flows whose correction is remembered: those of the last plan, and others as long as there is room. */
const MOST_FLOWS = 200;

/** What steady windows have shown of each flow, with the residual that it is predicted with now. */
export function correctionsLearnt({ memory, residuals }: Preparation): Map<string, number> {
  const hashOf = new Map(residuals.map(({ flow, hash }) => [flow, hash]));
  return new Map(
    (memory.flowCorrections ?? []).flatMap(({ flow, correction, modelHash }): [string, number][] =>
      modelHash === hashOf.get(flow) ? [[flow, correction]] : [],
    ),
  );
}

/** The same with what this window has shown. */
export function learntFlows(
  preparation: Preparation,
  plan: ApplicationPlan | undefined,
): Pick<PlannerMemory, "flowCorrections"> {
  if (plan === undefined) {
    const { flowCorrections } = preparation.memory;
    return flowCorrections === undefined ? {} : { flowCorrections };
  }
  const known = correctionsLearnt(preparation);
  const hashOf = new Map(preparation.residuals.map(({ flow, hash }) => [flow, hash]));
  for (const [flow, shown] of plan.shown.flows) {
    const before = known.get(flow);
    known.delete(flow);
    known.set(flow, learntCorrection(before, shown));
  }
  if (known.size === 0) return {};
  const kept = [...known].slice(-MOST_FLOWS);
  return {
    flowCorrections: kept.map(([flow, correction]) => {
      const modelHash = hashOf.get(flow);
      return modelHash === undefined ? { flow, correction } : { flow, correction, modelHash };
    }),
  };
}
