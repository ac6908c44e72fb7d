import { decideByCost } from "../../decide/decide-by-cost.ts";
import { residualsInUse } from "../../decide/residuals.ts";
import { latencyGap } from "../facts.ts";
import type { Level } from "./level.ts";

/** The cheapest sizes by one cost, once every service on a user's route has a calibrated model. */
export const COST: Level = {
  choices: ["auto"],
  decide(facts) {
    const gap = latencyGap(facts);
    if (gap !== undefined) return { reason: gap };
    const { context, inputs, models, observations, verdict } = facts;
    const { allNodes, largestContainer, profiles = [], settings, state, surgeRatio } = inputs;
    const { level, memory, reason, sensitivities, targets } = decideByCost({
      context,
      observations,
      verdict,
      settings: settings.cost,
      memory: state.cost,
      surgeRatio,
      allNodes,
      largestContainer,
      residuals: residualsInUse(profiles, models),
    });
    const decision = targets && { policy: level, targets, sensitivities };
    return { reason, cost: memory, ...(decision && { decision }) };
  },
};
