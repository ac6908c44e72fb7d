import type { Reason } from "@tradewind/core/contract/reason.ts";
import { flowObjective } from "../queue/objective.ts";
import type { FlowObjective } from "../queue/objective.ts";
import type { Models, PolicyInputs } from "./inputs.ts";
import { missingTraffic } from "./observe/missing.ts";
import { observe } from "./observe/observation.ts";
import type { DecisionContext, Observation } from "./observe/observation.ts";
import { judge } from "./observe/verdict.ts";
import type { Verdict } from "./observe/verdict.ts";
import { trafficReasons } from "./reasons.ts";
import { afterGap } from "./remember.ts";

/** What a window shows: everything that the policy levels decide from. */
export interface Facts {
  readonly inputs: PolicyInputs;
  readonly models: Models;
  readonly context: DecisionContext;
  /** One for each service with a workload, by name. */
  readonly observations: readonly Observation[];
  readonly objective: FlowObjective;
  readonly verdict: Verdict;
}

export function factsOf(inputs: PolicyInputs, models: Models): Facts {
  const { application, nowMs, settings, windowSet } = inputs;
  const state = afterGap(inputs.state, windowSet);
  const objective = flowObjective(application.objective);
  const verdict = judge(windowSet.flows, application.entry, objective, settings, state.flows);
  const missing = missingTraffic(windowSet, verdict, application.namespace);
  const context: DecisionContext = { application, settings, state, windowSet, missing, nowMs };
  return { inputs, models, context, observations: observe(context), objective, verdict };
}

/** Why the latency of users' requests is not known; none when it is. */
export function latencyGap({ context, verdict }: Facts): readonly Reason[] {
  const { application, missing, windowSet } = context;
  if (verdict.flows.length > 0) return [];
  if (windowSet.flows.length === 0) return [{ code: "no-user-trace" }, ...trafficReasons(missing)];
  const entries = [...new Set(windowSet.flows.map(({ entryService }) => entryService))].sort().slice(0, 5);
  return [{ code: "entry-not-traced", entry: application.entry, tracedEntries: entries }];
}

/** Why the CPU demand of no service is known; none when that of one is. */
export function cpuGap({ context, observations }: Facts): readonly Reason[] {
  if (observations.some(({ need }) => need !== undefined)) return [];
  const isEmpty = observations.length === 0;
  const { namespace } = context.application;
  return isEmpty ? [{ code: "no-workloads", namespace }] : [{ code: "cpu-unknown" }];
}
