import { decideByCost } from "../../decide/decide-by-cost.ts";
import { latencyGap } from "../facts.ts";
import type { Level } from "./level.ts";

/** The cheapest sizes by one cost, once every service on a user's route has a calibrated model. */
export const COST: Level = {
  choices: ["auto"],
  decide(facts) {
    const gap = latencyGap(facts);
    if (gap !== undefined) return { reason: gap };
    const { context, inputs, observations, verdict } = facts;
    const { allNodes, largestContainer, settings, state, surgeRatio } = inputs;
    const { memory, reason, sensitivities, targets } = decideByCost({
      context,
      observations,
      verdict,
      settings: settings.cost,
      memory: state.cost,
      surgeRatio,
      allNodes,
      largestContainer,
    });
    const decision = targets && ({ policy: "planner-prior", targets, sensitivities } as const);
    return { reason, cost: memory, ...(decision && { decision }) };
  },
};
