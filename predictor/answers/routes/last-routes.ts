import type { Application } from "@tradewind/core/contract/application.ts";
import { MOST_LISTED_ROUTES, ROUTE_LIST_SCHEMA } from "@tradewind/core/contract/route-list.ts";
import type { ListedRoute, RouteList, RouteSurprise } from "@tradewind/core/contract/route-list.ts";
import { routeRules } from "@tradewind/core/contract/route-rules.ts";
import type { RouteRule } from "@tradewind/core/contract/route-rules.ts";
import type { FlowWindow, WindowSet } from "@tradewind/core/contract/window.ts";
import { shareOverOrFailed } from "../../decide/facts/objective.ts";
import { routesOf, ruleOf, routeName } from "../../decide/facts/user-flows.ts";
import type { AsideClass, SetAside } from "../../window/set-aside.ts";
import { missSurprises, silentSurprise, unmatchedSurprise } from "./surprises.ts";

/** A window that was decided on. */
export interface RoutedWindow {
  readonly application: Application;
  readonly windowSet: WindowSet;
  readonly setAside: readonly SetAside[];
}

/** The routes of the last window, listed when somebody asks, and which rules and entries have ever had one. */
export class LastRoutes {
  #last: RoutedWindow | undefined;
  /** What the application says of routes: what was seen with other words says nothing of these. */
  #said = "";
  readonly #fitted = new Set<string>();
  readonly #entered = new Set<string>();

  adopt(window: RoutedWindow): void {
    const { entries, objectives } = window.application;
    const said = JSON.stringify([entries, objectives]);
    if (said !== this.#said) {
      this.#said = said;
      this.#fitted.clear();
      this.#entered.clear();
    }
    this.#last = window;
    for (const { flow, rule } of routesOf(window.windowSet.flows, window.application)) {
      this.#entered.add(flow.entryService);
      if (rule.glob !== undefined) this.#fitted.add(rule.glob);
    }
    const rules = routeRules(window.application);
    for (const { operation, service } of window.setAside) {
      if (!entries.includes(service)) continue;
      const { glob } = ruleOf({ flow: operation }, operation, rules);
      this.#entered.add(service);
      if (glob !== undefined) this.#fitted.add(glob);
    }
  }

  /** Undefined before the first window. */
  list(): RouteList | undefined {
    if (this.#last === undefined) return undefined;
    const { application, setAside, windowSet } = this.#last;
    const { milliseconds, percentile } = application.objective;
    const users = routesOf(windowSet.flows, application).map(({ flow, rule }) => ofUsers(flow, rule));
    const others = windowSet.flows.filter(({ entryService }) => !application.entries.includes(entryService));
    const known = new Set(windowSet.flows.map(({ entryService, flow }) => `${entryService} ${flow}`));
    const aside = setAside.filter(({ operation, service }) => !known.has(`${service} ${operation}`));
    const routes = [
      ...users,
      ...aside.map((each) => ofAside(each, application)),
      ...others.map(ofOther),
    ].toSorted((a, b) => Number(b.counts) - Number(a.counts) || b.requestsPerSecond - a.requestsPerSecond);
    return {
      schema: ROUTE_LIST_SCHEMA,
      application: application.name,
      namespace: application.namespace,
      entries: application.entries,
      startMs: windowSet.startMs,
      endMs: windowSet.endMs,
      objective: { percentile, seconds: milliseconds / 1e3 },
      routes: routes.slice(0, MOST_LISTED_ROUTES),
      moreRoutes: Math.max(0, routes.length - MOST_LISTED_ROUTES),
      surprises: this.#surprises(application, routes).slice(0, MOST_LISTED_ROUTES),
    };
  }

  #surprises(application: Application, routes: readonly ListedRoute[]): RouteSurprise[] {
    const { named } = routeRules(application);
    return [
      ...missSurprises(routes),
      ...named
        .filter(({ glob }) => !this.#fitted.has(glob))
        .map(({ glob }) => unmatchedSurprise(glob, routes)),
      ...application.entries.filter((entry) => !this.#entered.has(entry)).map(silentSurprise),
    ];
  }
}

function ofUsers(flow: FlowWindow, rule: RouteRule): ListedRoute {
  const { glob, objective, use, weight } = rule;
  const by = glob === undefined ? "" : ` by ${JSON.stringify(glob)} of objectives`;
  const told = { ...measured(flow), route: flow.flow, service: flow.entryService };
  if (use === "exclude")
    return { ...told, class: "request", counts: false, why: `excluded${by}: load, and nothing else` };
  if (use === "stream")
    return { ...told, class: "stream", counts: false, why: `a stream${by}: its length is no latency` };
  const seconds = objective.milliseconds / 1e3;
  return {
    ...told,
    class: "request",
    counts: true,
    why:
      glob === undefined
        ? "users wait for it: the application's objective"
        : `users wait for it: an objective of its own${by}`,
    objective: { percentile: objective.percentile, seconds },
    weight,
    overRatio: Math.min(1, shareOverOrFailed(flow, seconds)),
  };
}

const WHY: Readonly<Record<AsideClass, string>> = {
  probe: "a probe of the kubelet: nobody waits for it",
  stream: "a stream by its attributes, or since it never answered soon: its length is no latency",
  work: "work of the service, begun by no request: its calls count",
};

function ofAside(
  { latency, operation, perSecond, service, ...aside }: SetAside,
  application: Application,
): ListedRoute {
  const name = routeName({ entryService: service, flow: operation }, application);
  const { glob, use } = ruleOf({ flow: operation }, name, routeRules(application));
  const isSaid = aside.class === "stream" && use === "stream";
  return {
    route: application.entries.includes(service) ? name : operation,
    service,
    class: aside.class,
    counts: false,
    why: isSaid
      ? `a stream by ${JSON.stringify(glob)} of objectives: its length is no latency`
      : WHY[aside.class],
    requestsPerSecond: perSecond,
    ...(latency && { p50Seconds: latency.p50Seconds, p95Seconds: latency.p95Seconds }),
  };
}

const ofOther = (flow: FlowWindow): ListedRoute => ({
  ...measured(flow),
  route: flow.flow,
  service: flow.entryService,
  class: "other",
  counts: false,
  why: `begins at '${flow.entryService}', which is no entry: name it in entries if users call it`,
});

const measured = ({ latency, requestsPerSecond }: FlowWindow) => ({
  requestsPerSecond,
  p50Seconds: latency.p50Seconds,
  p95Seconds: latency.p95Seconds,
});
