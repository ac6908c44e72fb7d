import type { Application } from "@tradewind/core/contract/application.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { compileFlow, serviceIndex } from "../../../models/route/call-graph.ts";
import type { FlowGraph, ServiceIndex } from "../../../models/route/call-graph.ts";
import type { NodeLeft } from "../../../nodes/node-room.ts";
import { DEFAULT_WINDOW_LIMITS } from "../../../window/limits.ts";
import { withThrottledWaits } from "../../facts/arrival-wait.ts";
import type { DecisionContext, Observation } from "../../facts/observation.ts";
import type { PolicySettings } from "../../facts/settings.ts";
import type { FlowVerdict, Verdict } from "../../facts/verdict.ts";
import type { OutlookState } from "./outlook.ts";

/** What is known of nodes, and of what came since the window; see `PolicyInputs`. */
export interface Platform {
  readonly surgeRatio?: number | undefined;
  readonly largestContainer?: { readonly cpuCores: number } | undefined;
  readonly allNodes?: { readonly cpuCores: number } | undefined;
  readonly comingCores?: number | undefined;
  readonly nodes?: readonly NodeLeft[] | undefined;
  readonly roomByNodeClass?: Readonly<Record<string, number>> | undefined;
}

/** A route as measured, with its calls compiled. */
export interface MeasuredRoute extends FlowVerdict {
  /** Services by their numbers in {@link CostWindow.index}; undefined where its entry is none of them. */
  readonly graph: FlowGraph | undefined;
}

/** One window as the decision by cost reads it. */
export interface CostWindow {
  readonly application: Application;
  readonly settings: PolicySettings;
  readonly startMs: number;
  readonly endMs: number;
  /** See `DecisionContext`. */
  readonly missing: string | undefined;
  /** Of the services in the application's namespace; waits for throttled services are their self time. */
  readonly windows: readonly Window[];
  readonly observations: readonly Observation[];
  readonly verdict: Verdict;
  /** All services: those with an observation, then the others with a window. */
  readonly index: ServiceIndex;
  /** Those that are held to an objective. */
  readonly routes: readonly MeasuredRoute[];
  /** The others: load of services, and nothing else. */
  readonly otherRoutes: readonly Pick<MeasuredRoute, "flow" | "graph">[];
  /** Requests that arrived over those answered; undefined where arrivals were not counted. */
  readonly arrivalRatio: number | undefined;
  readonly platform: Platform;
}

const withoutNetwork = (settings: PolicySettings): PolicySettings => ({
  ...settings,
  cost: { ...settings.cost, network: false },
});

/** Of more services a decision with the latency network takes longer than a tenth of a second for each hundred; the curves alone decide. */
const MOST_NETWORK_SERVICES = 300;

export function costWindow(
  { application, missing, settings, windowSet }: DecisionContext,
  observations: readonly Observation[],
  verdict: Verdict,
  platform: Platform = {},
): CostWindow {
  const measured = windowSet.windows.filter(({ namespace }) => namespace === application.namespace);
  const windows = withThrottledWaits(measured, 1 - application.objective.percentile);
  const withWait = new Map(measured.map((window, number) => [window, windows[number] ?? window]));
  const index = serviceIndex([...new Set([...observations, ...windows].map(({ service }) => service))]);
  return {
    application,
    settings: observations.length > MOST_NETWORK_SERVICES ? withoutNetwork(settings) : settings,
    startMs: windowSet.startMs,
    endMs: windowSet.endMs,
    missing,
    windows,
    observations: observations.map((observation) => {
      const window = observation.window && withWait.get(observation.window);
      return window === undefined || window === observation.window ? observation : { ...observation, window };
    }),
    verdict,
    index,
    routes: verdict.flows.map((route) =>
      Object.assign({}, route, { graph: compileFlow(route.flow, { windows }, index) }),
    ),
    otherRoutes: verdict.others.map((flow) => ({ flow, graph: compileFlow(flow, { windows }, index) })),
    arrivalRatio: countedArrivalRatio(
      beganPerSecond(observations, application),
      verdict.requestsPerSecond,
      windowSet.flows.length,
    ),
    platform,
  };
}

/** Requests per second that arrived at the application. */
export const arrivalsPerSecond = ({
  arrivalRatio = 1,
  otherRoutes,
  routes,
}: Pick<CostWindow, "arrivalRatio" | "otherRoutes" | "routes">): number =>
  [...routes, ...otherRoutes].reduce((sum, { flow }) => sum + arrivalRatio * flow.requestsPerSecond, 0);

/** The load of the application as it was measured; undefined without a part of the traffic or without any. */
export function measuredLoad(window: CostWindow): OutlookState["points"][number] | undefined {
  const { endMs, missing, verdict } = window;
  const perSecond = arrivalsPerSecond(window);
  if (missing !== undefined || !(perSecond > 0)) return undefined;
  const count = verdict.flows.reduce((sum, { calls }) => sum + calls, 0);
  const isFailing = verdict.flows.some((route) => route.isFailing);
  return { endMs, perSecond, count, ...(isFailing && { isFailing }) };
}

/** Requests to the entries that began, per second; undefined where those of one that serves were not counted. */
function beganPerSecond(observations: readonly Observation[], { entries }: Application): number | undefined {
  let sum: number | undefined;
  for (const { service, window } of observations) {
    if (!entries.includes(service)) continue;
    if (window?.beganPerSecond !== undefined) sum = (sum ?? 0) + window.beganPerSecond;
    else if (window?.requestsPerSecond !== 0) return undefined;
  }
  return sum;
}

/** Counts of beginning requests miss those that run longest. Below this share of the answered requests they are not used. */
const COUNTED_SHARE = 0.7;

/**
 * Requests that arrived at the application over those that it answered: above 1 while a queue builds up, below 1 while one is
 * worked off. Undefined where arrivals were not counted, or too few of them in time.
 * @param arrivedPerSecond requests to the entries that began, where they were counted
 * @param answeredPerSecond of all routes
 * @param routes measured; at their limit, requests of further routes are counted as arrivals and not as answered
 */
export function countedArrivalRatio(
  arrivedPerSecond: number | undefined,
  answeredPerSecond: number,
  routes = 0,
): number | undefined {
  const areAllAnswered = routes < DEFAULT_WINDOW_LIMITS.maxFlows && answeredPerSecond > 0;
  if (arrivedPerSecond === undefined || !areAllAnswered) return undefined;
  const ratio = arrivedPerSecond / answeredPerSecond;
  return ratio >= COUNTED_SHARE ? ratio : undefined;
}
