import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { PolicyInputs } from "./inputs.ts";
import { missingTraffic } from "./facts/missing.ts";
import { observe } from "./facts/observation.ts";
import type { DecisionContext, Observation } from "./facts/observation.ts";
import { judge, sloStanding } from "./facts/verdict.ts";
import type { SloStanding, Verdict } from "./facts/verdict.ts";
import { MOST_CHARACTERS, trafficReasons } from "./facts/reasons.ts";
import { afterGap } from "./state.ts";

/** What a window shows: everything that the policy levels decide from. */
export interface Facts {
  readonly inputs: PolicyInputs;
  readonly context: DecisionContext;
  /** One for each service with a workload, by name. */
  readonly observations: readonly Observation[];
  readonly verdict: Verdict;
  /** Absent without traffic. */
  readonly slo: SloStanding | undefined;
}

export function factsOf(inputs: PolicyInputs): Facts {
  const { application, containerLimits, nowMs, overrides, podsMore, settings, windowSet } = inputs;
  const state = afterGap(inputs.state, windowSet);
  const verdict = judge(windowSet.flows, application, settings, state.flows);
  const slo = sloStanding(verdict);
  const missing = missingTraffic(windowSet, verdict, application.namespace);
  const context: DecisionContext = {
    application,
    settings,
    state,
    windowSet,
    missing,
    podsMore,
    overrides,
    containerLimits,
    nowMs,
  };
  return { inputs, context, observations: observe(context), verdict, slo };
}

/** Why the latency of users' requests is not known; none when it is. */
export function latencyGap({ context, verdict }: Facts): readonly Reason[] {
  const { application, missing, windowSet } = context;
  if (verdict.flows.length > 0) return [];
  if (verdict.others.length > 0) {
    const route = verdict.others[0]?.flow.slice(0, MOST_CHARACTERS) ?? "";
    return [{ code: "no-route-held", route, routes: verdict.others.length }];
  }
  if (windowSet.flows.length === 0) return [{ code: "no-user-trace" }, ...trafficReasons(missing)];
  const entries = [...new Set(windowSet.flows.map(({ entryService }) => entryService))].sort().slice(0, 5);
  return [
    { code: "entry-not-traced", entry: application.entries.slice(0, 5).join(", "), tracedEntries: entries },
  ];
}

/** Why the CPU demand of no service is known; none when that of one is. */
export function cpuGap({ context, observations }: Facts): readonly Reason[] {
  if (observations.some(({ need }) => need !== undefined)) return [];
  const isEmpty = observations.length === 0;
  const { namespace } = context.application;
  return isEmpty ? [{ code: "no-workloads", namespace }] : [{ code: "cpu-unknown" }];
}
