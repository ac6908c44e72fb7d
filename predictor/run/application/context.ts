import type { Application } from "@tradewind/core/contract/application.ts";
import {
  CONTEXT_SCHEMA,
  MOST_CONTEXT_CALLS,
  MOST_CONTEXT_NODES,
  MOST_CONTEXT_SERVICES,
  MOST_CONTEXT_SIGNALS,
} from "@tradewind/core/contract/context.ts";
import type { ApplicationContext, ContextService } from "@tradewind/core/contract/context.ts";
import type { LoadForecast } from "@tradewind/core/contract/forecast.ts";
import type { Pattern } from "@tradewind/core/contract/pattern.ts";
import type { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import {
  allocatedCpuCores,
  allocatedMemoryBytes,
  mainContainers,
} from "@tradewind/core/measure/main-containers.ts";
import { calendarTimes } from "@tradewind/kubernetes/application/calendar-times.ts";
import type { KeptIncident } from "../../answers/reason/incident-log.ts";
import { nearest, signsOf } from "../../answers/reason/precedents.ts";
import { sketchHash } from "../../answers/reason/sketch.ts";
import type { Sketch } from "../../answers/reason/sketch.ts";

/** What a context is put together from: all of one window. */
export interface ContextParts {
  readonly application: Application;
  readonly plan: Plan;
  readonly windowSet: WindowSet;
  /** Absent before there is one. */
  readonly sketch: Sketch | undefined;
  readonly patterns: readonly Pattern[];
  readonly forecast: LoadForecast | undefined;
  readonly incidents: readonly KeptIncident[];
}

/** All that is known of an application, for a person, a script or a model. Pure: equal parts give equal contexts. */
export function contextOf(parts: ContextParts): ApplicationContext {
  const { application, forecast, incidents, patterns, plan, sketch, windowSet } = parts;
  const all = servicesOf(parts);
  const services = all.slice(0, MOST_CONTEXT_SERVICES);
  const signs = sketch === undefined ? {} : signsOf(sketch);
  const isUnusual = Object.keys(signs).length > 0;
  const { measuredLatencySeconds: measured } = plan;
  return {
    schema: CONTEXT_SCHEMA,
    application: application.name,
    namespace: application.namespace,
    entry: application.entry,
    atMs: windowSet.endMs,
    mode: application.mode,
    objective: plan.objective,
    ...(measured !== undefined && { measuredLatencySeconds: measured }),
    policy: plan.policy,
    policyReason: plan.policyReason,
    ...startOf(plan),
    ...(plan.room && { quotas: plan.room.quotas }),
    ...(plan.cause && { cause: plan.cause }),
    ...(sketch && { sketchHash: sketchHash(sketch) }),
    services,
    moreServices: all.length - services.length,
    calls: callsBetween(services, sketch),
    patterns: [...patterns],
    ...(forecast && { forecast }),
    calendars: calendarsAt(application, windowSet.endMs),
    ...(isUnusual && { precedents: nearest(incidents, signs, plan.cause?.sinceMs ?? windowSet.endMs) }),
    missing: plan.missing ?? [],
  };
}

function startOf({ wishes }: Plan): Pick<ApplicationContext, "startSeconds"> {
  const startSeconds = wishes.find(({ evidence }) => evidence["startSeconds"] !== undefined)?.evidence[
    "startSeconds"
  ];
  return startSeconds === undefined || startSeconds <= 0 ? {} : { startSeconds };
}

function servicesOf({ application, plan, sketch, windowSet }: ContextParts): ContextService[] {
  const { namespace } = application;
  const wishes = new Map(plan.wishes.map((wish) => [wish.service, wish]));
  const windows = new Map(
    windowSet.windows.filter((each) => each.namespace === namespace).map((each) => [each.service, each]),
  );
  const unusual = new Map(sketch?.services.map((each) => [each.name, unusualOf(each.signals)]));
  const names = new Set([...windows.keys(), ...wishes.keys()]);
  return [...names]
    .map((name) => {
      const { optional, priority = application.priority } =
        application.services.find((each) => each.name === name) ?? {};
      const own = { priority, ...(optional === true && { optional }) };
      const seen = serviceOf(name, windows.get(name), wishes.get(name), unusual.get(name) ?? []);
      return Object.assign(seen, own);
    })
    .toSorted(
      (a, b) =>
        b.unusual.length - a.unusual.length ||
        (b.requestsPerSecond ?? 0) - (a.requestsPerSecond ?? 0) ||
        (a.service < b.service ? -1 : 1),
    );
}

type Unusual = ContextService["unusual"];

function unusualOf(signals: Sketch["services"][number]["signals"]): Unusual {
  return signals
    .filter(({ bin }) => bin !== "medium")
    .toSorted((a, b) => Math.abs(b.z) - Math.abs(a.z))
    .slice(0, MOST_CONTEXT_SIGNALS)
    .flatMap(({ baseline, bin, signal, value }) =>
      bin === "medium" ? [] : [{ signal, value, bin, ...(baseline !== undefined && { baseline }) }],
    );
}

/** What is known only: undefined values are left out. */
function serviceOf(
  service: string,
  window: Window | undefined,
  wish: Wish | undefined,
  unusual: Unusual,
): Omit<ContextService, "priority"> {
  const known = {
    replicasReady: wish?.observed.replicasReady,
    replicasWanted: wish?.observed.replicasWanted,
    ...(window && measuredOf(window)),
    proposed: wish?.allocation,
    reason: wish?.reason,
    bounds: wish?.bounds,
  };
  const given = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined));
  return { service, ...given, unusual };
}

function measuredOf(window: Window) {
  const [container] = mainContainers(window);
  const { errorRatio, newestRevisionShare, ownLatency, podsUnscheduled, replicasReady, replicasWanted } =
    window;
  return {
    ...(replicasReady !== undefined && { replicasReady }),
    ...(replicasWanted !== undefined && { replicasWanted }),
    cpuCores: container && allocatedCpuCores(container),
    memoryBytes: container && allocatedMemoryBytes(container),
    requestsPerSecond: window.requestsPerSecond,
    selfTimeP95Seconds: ownLatency?.p95Seconds,
    responseP95Seconds: window.responseLatency?.p95Seconds,
    errorRatio,
    nodes: nodesOf(window),
    podsUnscheduled,
    revision: window.revision,
    newestRevisionShare,
  };
}

function nodesOf(window: Window): ContextService["nodes"] {
  const nodes = mainContainers(window).flatMap(({ node }) => node ?? []);
  if (nodes.length === 0) return undefined;
  return [...Map.groupBy(nodes, (node) => node)]
    .map(([node, pods]) => ({ node, pods: pods.length }))
    .toSorted((a, b) => b.pods - a.pods || (a.node < b.node ? -1 : 1))
    .slice(0, MOST_CONTEXT_NODES);
}

function callsBetween(
  services: readonly ContextService[],
  sketch: Sketch | undefined,
): ApplicationContext["calls"] {
  const listed = new Set(services.map(({ service }) => service));
  const nameOf = new Map(sketch?.services.map(({ id, name }) => [id, name]));
  return (sketch?.calls ?? [])
    .flatMap(({ from, perRequest, to }) => {
      const [caller, callee] = [nameOf.get(from) ?? "", nameOf.get(to) ?? ""];
      if (!listed.has(caller) || !listed.has(callee)) return [];
      return [{ from: caller, to: callee, ...(perRequest !== undefined && { perRequest }) }];
    })
    .slice(0, MOST_CONTEXT_CALLS);
}

function calendarsAt({ calendars }: Application, atMs: number): ApplicationContext["calendars"] {
  return calendars.map((calendar) => {
    const window = calendarTimes(calendar).windowAt(atMs);
    return { calendar, holds: window !== undefined && window.fromMs <= atMs, ...window };
  });
}
