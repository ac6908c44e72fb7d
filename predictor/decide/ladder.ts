import { withSizes } from "./advice.ts";
import { courseOf } from "./course.ts";
import { factsOf } from "./window-facts.ts";
import type { PolicyInputs, PolicyOutcome } from "./inputs.ts";
import { climb, learnFrom } from "./levels.ts";
import { planOf } from "./plan.ts";
import { remember } from "./remember.ts";

/**
 * One decision: from the state before and what was measured to the state after and a wish for each service. Pure: equal
 * inputs give equal outcomes. The highest level that can decide does.
 */
export function decide(inputs: PolicyInputs): PolicyOutcome {
  const facts = factsOf(inputs);
  const learned = learnFrom(facts);
  const { decision, memory: cost = inputs.state.cost, reasons } = climb(facts, learned);
  const { policy, sensitivities, whatIf } = decision;
  const course = courseOf(decision.course, facts.context);
  const targets = withSizes(facts, decision);
  return {
    state: { ...remember(facts, targets, course), ...(cost && { cost }) },
    ...(facts.slo && { slo: facts.slo }),
    ...(sensitivities && { sensitivities }),
    ...(whatIf && { whatIf }),
    queues: facts.observations.flatMap(({ queue }) => (queue === undefined ? [] : [queue])),
    plan: planOf(facts, { course, policy, reasons, targets }),
  };
}
