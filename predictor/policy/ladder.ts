import type { PolicyName } from "@tradewind/core/contract/plan.ts";
import { contentHash } from "@tradewind/core/hash.ts";
import { flowObjective } from "../queue/objective.ts";
import { hold, keepPlatform, reactiveFloor } from "./floor.ts";
import type { PolicyInputs, PolicyOutcome } from "./inputs.ts";
import { observe } from "./observation.ts";
import type { DecisionContext, Observation } from "./observation.ts";
import { balanceQueues } from "./queue-balancing.ts";
import { afterGap, remember } from "./remember.ts";
import type { Course } from "./remember.ts";
import type { Targets } from "./target.ts";
import { judge } from "./verdict.ts";
import type { Verdict } from "./verdict.ts";
import { flowFacts, toWish } from "./wish.ts";

/** What one rung decides. */
interface RungDecision {
  readonly policy: PolicyName;
  readonly reason: string;
  readonly targets: Targets;
  readonly course: Course;
}

/**
 * One decision: from the state before and what was measured to the state after and a wish for each service. Pure: equal
 * inputs give equal outcomes. The rung that decides is the highest one whose evidence is there: hold, reactive floor,
 * queue balancing.
 */
export function decide(inputs: PolicyInputs): PolicyOutcome {
  const { application, settings, windowSet, nowMs } = inputs;
  const state = afterGap(inputs.state, windowSet);
  const context: DecisionContext = { application, settings, state, windowSet, nowMs };
  const objective = flowObjective(application.objective);
  const verdict = judge(windowSet.flows, application.entry, objective, settings);
  const observations = observe(context);
  const rung = climb(inputs, context, observations, verdict);
  const windowHash = contentHash(windowSet);
  const facts = { context, verdict, windowHash, objective, course: rung.course, ...flowFacts(verdict) };
  const wishes = observations.flatMap((observation) => {
    const target = rung.targets.get(observation.service);
    return target === undefined ? [] : [toWish(observation, target, facts)];
  });
  return {
    state: remember(context, observations, rung.targets, rung.course),
    queues: observations.flatMap(({ queue }) => (queue === undefined ? [] : [queue])),
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

function climb(
  { choice }: PolicyInputs,
  context: DecisionContext,
  observations: readonly Observation[],
  verdict: Verdict,
): RungDecision {
  const { growth, futile, patienceDoublings } = context.state;
  const unchanged: Course = {
    calmWindows: 0,
    missedWindows: 0,
    patienceDoublings,
    ...(growth && { growth }),
    ...(futile && { futile }),
  };
  if (choice === "static") {
    const reason = "the operator chose the static policy";
    return { policy: "static", reason, targets: keepPlatform(observations), course: unchanged };
  }
  const latencyGap = whyNoLatency(context, verdict);
  if (latencyGap === undefined) return { policy: "queue", ...balanceQueues(context, observations, verdict) };
  if (observations.some(({ need }) => need !== undefined)) {
    const reason = `${latencyGap}, but CPU use is known`;
    return { policy: "reactive", reason, targets: reactiveFloor(observations), course: unchanged };
  }
  const nothing =
    observations.length === 0 ? `no service has a workload in '${context.application.namespace}'` : "";
  const reason = [latencyGap, nothing || "no CPU use is known either"].join("; ");
  return { policy: "hold", reason, targets: hold(observations, "no data"), course: unchanged };
}

/** Why the latency of users' requests is not known; undefined when it is. */
function whyNoLatency({ application, windowSet }: DecisionContext, verdict: Verdict): string | undefined {
  if (verdict.flows.length > 0) return undefined;
  if (windowSet.flows.length === 0) return "no trace of a user's request";
  const entries = [...new Set(windowSet.flows.map(({ entryService }) => entryService))].sort().slice(0, 5);
  return `no flow enters through '${application.entry}' (traces enter through ${entries.join(", ")})`;
}
