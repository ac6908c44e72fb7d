import type { Application } from "@tradewind/core/contract/application.ts";
import { MOST_ROUTE_CHARACTERS } from "@tradewind/core/contract/route-objective.ts";
import { routeRules } from "@tradewind/core/contract/route-rules.ts";
import type { RouteRule, RouteRules } from "@tradewind/core/contract/route-rules.ts";
import type { FlowWindow, Window } from "@tradewind/core/contract/window.ts";
import { flowObjective } from "./objective.ts";
import type { FlowObjective } from "./objective.ts";

/** A flow that users start, as the application names it. */
export interface UserFlow {
  readonly flow: FlowWindow;
  readonly rule: RouteRule;
}

/** One that is held to an objective; flows of one rule have the same object. */
export interface HeldFlow {
  readonly flow: FlowWindow;
  readonly objective: FlowObjective;
  /** What a miss costs over one of a flow that no rule names. */
  readonly weight: number;
}

/**
 * Services that requests of a flow wait for, in their order. A consumer of a queue takes part in the traces too, but nobody waits for it.
 * Where calls are not known all that take part count.
 */
function awaitedServices({ calls, entryService, services }: FlowWindow): string[] {
  if (calls === undefined) return services;
  const callsOf = Map.groupBy(calls, ({ caller }) => caller);
  const reached = new Set([entryService]);
  for (const service of reached) for (const { callee } of callsOf.get(service) ?? []) reached.add(callee);
  return services.filter((service) => reached.has(service));
}

/** The flows that users start: those that enter through an entry. */
export const flowsOfUsers = (
  flows: readonly FlowWindow[],
  { entries }: Pick<Application, "entries">,
): readonly FlowWindow[] => flows.filter(({ entryService }) => entries.includes(entryService));

/**
 * The flows that users start, each with the services that its requests wait for. Those of any entry but
 * the first are called `ENTRY: FLOW`; rules fit either name.
 */
export function routesOf(flows: readonly FlowWindow[], application: Application): readonly UserFlow[] {
  const rules = routeRules(application);
  return flowsOfUsers(flows, application)
    .map((flow): UserFlow => {
      const name = routeName(flow, application);
      return {
        flow: { ...flow, flow: name, services: awaitedServices(flow) },
        rule: ruleOf(flow, name, rules),
      };
    })
    .sort((a, b) => (a.flow.flow < b.flow.flow ? -1 : a.flow.flow > b.flow.flow ? 1 : 0));
}

/** The rule for a flow. @param name that it has among those of the application */
export function ruleOf({ flow }: Pick<FlowWindow, "flow">, name: string, rules: RouteRules): RouteRule {
  const own = rules.of(name);
  return own === rules.rest && name !== flow ? rules.of(flow) : own;
}

/** A flow's name among those of an application. */
export const routeName = (
  { entryService, flow }: Pick<FlowWindow, "entryService" | "flow">,
  { entry }: Pick<Application, "entry">,
): string => (entryService === entry ? flow : `${entryService}: ${flow}`.slice(0, MOST_ROUTE_CHARACTERS));

/** Flows that users start, by whether they are held to an objective. */
export interface UserFlows {
  readonly held: readonly HeldFlow[];
  readonly others: readonly FlowWindow[];
}

export function userFlows(flows: readonly FlowWindow[], application: Application): UserFlows {
  const objectives = new Map<RouteRule, FlowObjective>();
  const heldFlows: HeldFlow[] = [];
  const otherFlows: FlowWindow[] = [];
  for (const { flow, rule } of routesOf(flows, application)) {
    if (rule.use !== "objective") {
      otherFlows.push(flow);
      continue;
    }
    const objective = objectives.get(rule) ?? flowObjective(rule.objective);
    objectives.set(rule, objective);
    heldFlows.push({ flow, objective, weight: rule.weight });
  }
  return { held: heldFlows, others: otherFlows };
}

/** Requests per second that users start, whatever they are held to. */
export const usersPerSecond = (
  flows: readonly FlowWindow[],
  application: Pick<Application, "entries">,
): number =>
  flowsOfUsers(flows, application).reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);

/** Requests per second to the entries; undefined where those of none are known. */
export function entriesPerSecond(
  windows: readonly Window[],
  { entries }: Pick<Application, "entries">,
): number | undefined {
  const known = windows.flatMap(({ requestsPerSecond, service }) =>
    entries.includes(service) ? (requestsPerSecond ?? []) : [],
  );
  return known.length === 0 ? undefined : known.reduce((sum, perSecond) => sum + perSecond);
}
