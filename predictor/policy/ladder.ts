import type { Reason } from "@tradewind/core/contract/reason.ts";
import { distinct } from "@tradewind/core/reasons.ts";
import { adviceOf } from "./advice.ts";
import { factsOf } from "./facts.ts";
import type { Facts } from "./facts.ts";
import { NO_MODELS } from "../facts/evidence.ts";
import type { PolicyInputs, PolicyOutcome } from "./inputs.ts";
import type { Models } from "../facts/evidence.ts";
import type { LevelDecision } from "./level.ts";
import { LEVELS } from "./levels.ts";
import { isCarriedOut, statedSize } from "../facts/container-size.ts";
import { planOf } from "./plan.ts";
import { courseUnchanged, remember, unchangedCourse } from "./remember.ts";
import type { Target, Targets } from "../facts/target.ts";
import { sloStanding } from "../facts/verdict.ts";

/**
 * One decision: from the state before and what was measured to the state after and a wish for each service. Pure: equal
 * inputs give equal outcomes. The highest level that can decide does.
 * @param models gives back the models that the evidence names
 */
export function decide(inputs: PolicyInputs, models: Models = NO_MODELS): PolicyOutcome {
  const facts = factsOf(inputs, models);
  const { cost, decision, reasons } = climb(facts);
  const { policy } = decision;
  const decided = decision.course ?? unchangedCourse(facts.context.state);
  const course = isCarriedOut(inputs.application) ? decided : courseUnchanged(decided, facts.context);
  const targets = withAdvice(facts, keepSizes(facts, decision));
  const slo = sloStanding(facts.verdict, facts.objective);
  return {
    state: { ...remember(facts, targets, course), ...(cost && { cost }) },
    ...(slo && { slo }),
    ...(decision.sensitivities && { sensitivities: decision.sensitivities }),
    ...(decision.whatIf && { whatIf: decision.whatIf }),
    queues: facts.observations.flatMap(({ queue }) => (queue === undefined ? [] : [queue])),
    plan: planOf(facts, { course, policy, reasons, targets }),
  };
}

interface Climbed {
  readonly decision: LevelDecision;
  /** Why this level decides so, and why those above it do not. */
  readonly reasons: readonly Reason[];
  readonly cost: PolicyInputs["state"]["cost"];
}

function climb(facts: Facts): Climbed {
  const passed: Reason[] = [];
  let { cost } = facts.inputs.state;
  for (const level of LEVELS) {
    if (!level.choices.includes(facts.inputs.choice)) continue;
    const outcome = level.decide(facts);
    cost = outcome.cost ?? cost;
    if (outcome.decision === undefined) {
      passed.push(...outcome.reasons);
      continue;
    }
    return { decision: outcome.decision, reasons: distinct([...outcome.reasons, ...passed]), cost };
  }
  throw new RangeError(`no level decides for policy '${facts.inputs.choice}'`);
}

/** Every service of known use has a size: one to count on, or one to look at. */
function withAdvice({ context, observations }: Facts, targets: Targets): Targets {
  return new Map(
    observations.flatMap((observation): [string, Target][] => {
      const target = targets.get(observation.service);
      if (target === undefined) return [];
      return [[observation.service, { ...target, advice: adviceOf(observation, target, context) }]];
    }),
  );
}

/** The last recommended container size stays where the level sets none; the static level states no sizes at all. */
function keepSizes({ observations }: Facts, { policy, targets }: LevelDecision): Targets {
  if (policy === "static") return targets;
  return new Map(
    observations.flatMap((observation): [string, Target][] => {
      const target = targets.get(observation.service);
      if (target === undefined) return [];
      return [[observation.service, { ...statedSize(observation, observation.container), ...target }]];
    }),
  );
}
