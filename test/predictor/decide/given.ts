import type { FlowMemory } from "@tradewind/predictor/decide/facts/state.ts";
import type { FlowWindow, WindowSet } from "@tradewind/core/contract/window.ts";
import { costWindow } from "@tradewind/predictor/decide/cost/learn/cost-window.ts";
import type { CostWindow } from "@tradewind/predictor/decide/cost/learn/cost-window.ts";
import { CostSettings } from "@tradewind/predictor/decide/facts/cost-settings.ts";
import { compileFlow, serviceIndex } from "@tradewind/predictor/models/route/call-graph.ts";
import type { FlowGraph } from "@tradewind/predictor/models/route/call-graph.ts";
import { observe } from "@tradewind/predictor/decide/facts/observation.ts";
import type { DecisionContext, Observation } from "@tradewind/predictor/decide/facts/observation.ts";
import { judge } from "@tradewind/predictor/decide/facts/verdict.ts";
import type { Verdict } from "@tradewind/predictor/decide/facts/verdict.ts";
import { flow, inputs, windowSet } from "../measurements.ts";

export const SETTINGS = CostSettings.parse({});

export type CallsOf = readonly (readonly [caller: string, callee: string, callsPerRequest: number])[];

/** A flow through these calls, one after the other; its first caller is the entry. */
export function flowOf(calls: CallsOf, tailSeconds = 0.1, overrides: Partial<FlowWindow> = {}): FlowWindow {
  return flow([...new Set(calls.flatMap(([caller, callee]) => [caller, callee]))], tailSeconds, {
    calls: calls.map(([caller, callee, callsPerRequest]) => ({
      caller,
      callee,
      callsPerRequest,
      parallelRatio: 0,
    })),
    ...overrides,
  });
}

/** The call graph of a flow that enters at the first of these services. */
export function graphOf(names: readonly string[], calls: CallsOf): FlowGraph {
  const graph = compileFlow(
    flowOf(calls, 0.1, { entryService: names[0]! }),
    windowSet([]),
    serviceIndex(names),
  );
  if (graph === undefined) throw new Error("the flow has no entry");
  return graph;
}

export interface Seen {
  readonly context: DecisionContext;
  readonly observations: readonly Observation[];
  readonly verdict: Verdict;
}

/** What a window shows of an application of which nothing was known before. */
/** @param earlier what is remembered of routes of few calls */
export function seen(set: WindowSet, earlier: readonly FlowMemory[] = []): Seen {
  const { application, nowMs, settings, state } = inputs(set);
  const context: DecisionContext = { application, settings, state, windowSet: set, nowMs };
  const verdict = judge(set.flows, application, settings, earlier);
  return { context, observations: observe(context), verdict };
}

/** One window as the decision by cost reads it. */
export function costWindowOf(
  set: WindowSet,
  overrides: Partial<CostWindow> = {},
  earlier: readonly FlowMemory[] = [],
): CostWindow {
  const { context, observations, verdict } = seen(set, earlier);
  return { ...costWindow(context, observations, verdict), ...overrides };
}
