import { decideByCost } from "../../decide/decide-by-cost.ts";
import { residualsInUse } from "../../decide/residuals.ts";
import { latencyGap } from "../facts.ts";
import type { Level } from "./level.ts";

/** The cheapest sizes by one cost, once every service on a user's route has a calibrated model. */
export const COST: Level = {
  choices: ["auto"],
  decide(facts) {
    const gap = latencyGap(facts);
    if (gap.length > 0) return { reasons: gap };
    const { context, inputs, models, observations, verdict } = facts;
    const { allNodes, largestContainer, profiles = [], settings, state, surgeRatio } = inputs;
    const { level, memory, reasons, sensitivities, targets } = decideByCost({
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
    return { reasons, cost: memory, ...(decision && { decision }) };
  },
};
