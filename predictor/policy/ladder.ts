import type { PolicyName } from "@tradewind/core/contract/plan.ts";
import { contentHash } from "@tradewind/core/hash.ts";
import { flowObjective } from "../queue/objective.ts";
import { decideByCost } from "../decide/decide-by-cost.ts";
import { residualsInUse } from "../decide/residuals.ts";
import type { Sensitivities } from "../decide/sensitivities.ts";
import type { CostMemory } from "../decide/state.ts";
import { balanceQueues } from "./balance/queue-balancing.ts";
import { hold, keepPlatform, reactiveFloor } from "./floor.ts";
import { NO_MODELS } from "./inputs.ts";
import type { Models, PolicyInputs, PolicyOutcome } from "./inputs.ts";
import { statedSize } from "./observe/container-size.ts";
import { missingTraffic } from "./observe/missing.ts";
import { observe } from "./observe/observation.ts";
import type { DecisionContext, Observation } from "./observe/observation.ts";
import { judge } from "./observe/verdict.ts";
import type { Verdict } from "./observe/verdict.ts";
import { afterGap, remember } from "./remember.ts";
import type { Course } from "./remember.ts";
import type { Target, Targets } from "./target.ts";
import { flowFacts, toWish } from "./wish.ts";

/** What one rung decides. */
interface RungDecision {
  readonly policy: PolicyName;
  readonly reason: string;
  readonly targets: Targets;
  readonly course: Course;
  readonly cost?: CostMemory;
  readonly sensitivities?: Sensitivities | undefined;
}

/**
 * One decision: from the state before and what was measured to the state after and a wish for each service. Pure: equal
 * inputs give equal outcomes. The level that decides is the highest one whose evidence is there: hold, reactive floor,
 * queue balancing, sizes by one cost.
 * @param models gives back the models that the evidence names
 */
export function decide(inputs: PolicyInputs, models: Models = NO_MODELS): PolicyOutcome {
  const { application, settings, surgeRatio, windowSet, nowMs } = inputs;
  const state = afterGap(inputs.state, windowSet);
  const objective = flowObjective(application.objective);
  const verdict = judge(windowSet.flows, application.entry, objective, settings, state.flows);
  const missing = missingTraffic(windowSet, verdict, application.namespace);
  const context: DecisionContext = { application, settings, state, windowSet, missing, nowMs };
  const observations = observe(context);
  const rung = climb({ inputs, models, context, observations, verdict });
  const targets = rung.policy === "static" ? rung.targets : withSizes(observations, rung.targets);
  const windowHash = contentHash(surgeRatio === undefined ? windowSet : [windowSet, surgeRatio]);
  const facts = { context, verdict, windowHash, objective, course: rung.course, ...flowFacts(verdict) };
  const wishes = observations.flatMap((observation) => {
    const target = targets.get(observation.service);
    return target === undefined ? [] : [toWish(observation, target, facts)];
  });
  return {
    state: {
      ...remember(context, observations, targets, rung.course),
      ...((rung.cost ?? state.cost) && { cost: rung.cost ?? state.cost }),
    },
    queues: observations.flatMap(({ queue }) => (queue === undefined ? [] : [queue])),
    ...(rung.sensitivities && { sensitivities: rung.sensitivities }),
    plan: {
      application: application.name,
      namespace: application.namespace,
      plannedAtMs: nowMs,
      policy: rung.policy,
      policyReason: rung.reason.slice(0, 500),
      objective: { percentile: objective.percentile, seconds: objective.tailSeconds },
      ...(verdict.tailSeconds !== undefined && { measuredLatencySeconds: verdict.tailSeconds }),
      wishes,
    },
  };
}

/** A size that was once wished stays wished, whichever rung decides. */
function withSizes(observations: readonly Observation[], targets: Targets): Targets {
  return new Map(
    observations.flatMap((observation): [string, Target][] => {
      const target = targets.get(observation.service);
      if (target === undefined) return [];
      return [[observation.service, { ...statedSize(observation, observation.container), ...target }]];
    }),
  );
}

interface Footing {
  readonly inputs: PolicyInputs;
  readonly models: Models;
  readonly context: DecisionContext;
  readonly observations: readonly Observation[];
  readonly verdict: Verdict;
}

function climb(footing: Footing): RungDecision {
  const { context, inputs, observations, verdict } = footing;
  const { growth, futile, patienceDoublings } = context.state;
  const unchanged: Course = {
    calmWindows: 0,
    missedWindows: 0,
    patienceDoublings,
    ...(growth && { growth }),
    ...(futile && { futile }),
  };
  if (inputs.choice === "static") {
    const reason = "the operator chose the static policy";
    return { policy: "static", reason, targets: keepPlatform(observations), course: unchanged };
  }
  const latencyGap = whyNoLatency(context, verdict);
  if (latencyGap === undefined && inputs.choice === "auto") return byCost(footing, unchanged);
  if (latencyGap === undefined) return { policy: "queue", ...balanceQueues(context, observations, verdict) };
  if (observations.some(({ need }) => need !== undefined)) {
    const reason = `${latencyGap}, but CPU use is known`;
    const targets = reactiveFloor(observations);
    return { policy: "reactive", reason, targets, course: unchanged };
  }
  const nothing =
    observations.length === 0 ? `no service has a workload in '${context.application.namespace}'` : "";
  const reason = [latencyGap, nothing || "no CPU use is known either"].join("; ");
  return { policy: "hold", reason, targets: hold(observations, "no data"), course: unchanged };
}

function byCost(
  { inputs, models, context, observations, verdict }: Footing,
  unchanged: Course,
): RungDecision {
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
  if (targets !== undefined)
    return { policy: level, reason, targets, course: unchanged, cost: memory, sensitivities };
  const balancing = balanceQueues(context, observations, verdict);
  return { policy: "queue", ...balancing, reason: `${balancing.reason}; ${reason}`, cost: memory };
}

/** Why the latency of users' requests is not known; undefined when it is. */
function whyNoLatency(
  { application, missing, windowSet }: DecisionContext,
  verdict: Verdict,
): string | undefined {
  if (verdict.flows.length > 0) return undefined;
  if (windowSet.flows.length === 0) {
    return `no trace of a user's request${missing === undefined ? "" : ` came, but ${missing}`}`;
  }
  const entries = [...new Set(windowSet.flows.map(({ entryService }) => entryService))].sort().slice(0, 5);
  return `no flow enters through '${application.entry}' (traces enter through ${entries.join(", ")})`;
}
