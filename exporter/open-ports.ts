import { Counter, Gauge } from "prom-client";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import { periodSeconds } from "@tradewind/core/contract/error-budget.ts";
import type { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { HttpDoor } from "@tradewind/core/net/http-door.ts";
import { serveProbes } from "@tradewind/core/net/probe-server.ts";
import type { ProbeServer } from "@tradewind/core/net/probe-server.ts";
import { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import { registerRefused } from "@tradewind/core/net/refusals.ts";
import { SenderWork } from "@tradewind/core/net/sender-work.ts";
import { recommendationHeader, recommendationList, servedNow } from "./decide/recommendation-list.ts";
import { fleetRows } from "./decide/course/fleet.ts";
import { readyFacts } from "./decide/course/ready-facts.ts";
import { serveApi } from "./serve/api/server.ts";
import type { ApiServer } from "./serve/api/server.ts";
import { applicationsIn, knownServices } from "./decide/override/known-services.ts";
import { covers } from "./decide/override/rules.ts";
import { CalendarLists } from "./decide/calendar/calendar-list.ts";
import { visible } from "./serve/api/visible.ts";
import type { ScalerThread } from "./serve/keda/scaler-thread.ts";
import type { ExporterOptions } from "./options.ts";
import { registerConnections } from "./serve/prometheus/connections.ts";
import { registerProcess } from "./serve/prometheus/process.ts";
import { registerApplication, serviceSeries } from "./serve/prometheus/recommendations.ts";
import { OtherFleets } from "./plans/other-fleets.ts";
import type { DecisionParts, Setting } from "./decision-parts.ts";

/** The ports for people, Prometheus and the kubelet. */
export async function openPorts(
  { clock, log, metrics, options, undo }: Setting,
  scaler: ScalerThread,
  deciding: DecisionParts,
): Promise<{ api: ApiServer; probes: ProbeServer | undefined }> {
  const { application, courses, journal, overrides, plans, queue, recommender, statuses } = deciding;
  const monotonicMs = (): number => clock.monotonicMs();
  registerApplication(
    metrics.registry,
    () => recommendationHeader(statuses(), clock, plans.hasAnswer),
    options.staleAfter,
  );
  undo.defer(registerProcess(metrics.registry, () => metrics.scaler));
  const { allowedHosts, httpTls, httpTokenFile: tokenFile, maxSenderWork } = options;
  const observer = metrics.tls("http");
  const tls = httpTls && (await ReloadingTls.open(httpTls, { everyMs: httpTls.refreshMs, log, observer }));
  undo.defer(() => tls?.stop());
  const door = new HttpDoor({ allowedHosts, tokenFile, monotonicMs, log });
  if (door.hasDefaultToken()) {
    log.warn(
      { tokenFile },
      "a token without a name reads, approves and overrides, whoever shows it; see docs/kubernetes.md#tokens-with-names",
    );
  }
  const calendars = new CalendarLists();
  const work = new SenderWork({ maxSenderWork, byToken: tokenFile !== undefined, monotonicMs, log });
  const list = (): RecommendationList => recommendationList(recommender, statuses(), clock, plans.hasAnswer);
  const { fleet = [], fleetTokenFile } = options;
  const otherFleets = new OtherFleets({ urls: fleet, tokenFile: fleetTokenFile, monotonicMs });
  undo.defer(() => otherFleets.stop());
  const api = await serveApi(options.listen, {
    list,
    decisionJson: (id) => recommender.book.json(id),
    historyJson: (namespace, service) => recommender.book.historyJson(namespace, service),
    changes: {
      hasToken: tokenFile !== undefined,
      list: () => queue.list(),
      decide: async (id, verdict) => queue.decide(id, verdict, nowOfChange(id, deciding, clock)),
    },
    overrides: {
      hasToken: tokenFile !== undefined,
      overrides,
      notesOf: (target) =>
        notCarriedOut(knownServices(recommender.book).filter((each) => covers(target, each))),
    },
    occasions: {
      events: () => journal.recent(),
      calendarsJson: (caller) =>
        calendars.json(visible(plannedApplications(deciding), caller), clock.nowMs()),
      backtestReport: options.backtestReport,
    },
    courses: {
      courses,
      fleet: () =>
        fleetRows(list(), {
          courses,
          nowMs: clock.nowMs(),
          periodMs: (namespace, name) =>
            1e3 * periodSeconds(application.find(namespace, name)?.errorBudget ?? { period: "1d" }),
        }),
      others: async () => otherFleets.read(),
    },
    ready: {
      places: () => [...applicationsIn(recommender.book)],
      facts: async (place) =>
        readyFacts(place, {
          list,
          statuses,
          events: () => journal.recent(),
          courses,
          configured: ({ application: name, namespace }) => application.find(namespace, name),
          ask: async (of, question) => plans.ask(of, question),
          nowMs: () => clock.nowMs(),
        }),
    },
    watched: {
      header: () => recommendationHeader(statuses(), clock, plans.hasAnswer),
      revision: () => recommender.book.changesRevision + overrides.revision,
      expired: () => recommender.expired(monotonicMs()),
    },
    ask: async (place, question) => plans.ask(place, question),
    missing: () => missing(deciding),
    isAlive: () => scaler.isResponsive(),
    door,
    work,
    onAnswer: () => scaler.progress(),
    tls,
    metrics: async function* () {
      metrics.scaler = await scaler.report();
      yield await metrics.registry.metrics();
      yield* serviceSeries(servedNow(recommender, monotonicMs()));
    },
    log,
  });
  undo.defer(() => api.stop());
  const probes = await startProbes(options.probeListen, scaler, api);
  undo.defer(() => probes?.stop());
  registerConnections(metrics.registry, {
    grpc: () => metrics.scaler.connections,
    http: () => api.connections(),
    probe: () => probes?.counts(),
  });
  registerRefused(metrics.registry, { Counter, Gauge }, "tradewind_exporter_refused_total", {
    grpc: () => metrics.scaler.refused,
    http: () => work.refused,
  });
  return { api, probes };
}

/** An override of what is only observed or recommended moves nothing. */
function notCarriedOut(services: ReturnType<typeof knownServices>): string[] {
  const modes = new Map(
    services.map(({ application, mode, namespace }) => [`${namespace}/${application}`, mode]),
  );
  return [...modes]
    .filter(([, mode]) => mode !== "act")
    .slice(0, 20)
    .map(
      ([name, mode]) => `application ${name} is in mode ${mode}: KEDA is answered the current replica count`,
    );
}

/** By the clock of the plans, which say when a change was proposed and when it expires; by our own while there is no plan. */
function nowOfChange(id: string, { planTimes, queue }: DecisionParts, clock: Clock): number {
  const change = queue.list().find((each) => each.id === id);
  const { application: name, namespace } = change ?? {};
  const time = name && namespace ? planTimes.get(applicationKey({ name, namespace })) : undefined;
  return time === undefined
    ? clock.nowMs()
    : Math.round(time.plannedAtMs + clock.monotonicMs() - time.madeMs);
}

/** Applications that plans are for, as far as their configuration is known here. */
function plannedApplications({ statuses, withApproved }: DecisionParts): Application[] {
  return statuses().flatMap(({ plan }) => (plan && withApproved(plan.namespace, plan.application)) ?? []);
}

async function startProbes(
  listen: ExporterOptions["probeListen"],
  scaler: ScalerThread,
  api: ApiServer,
): Promise<ProbeServer | undefined> {
  if (listen === undefined) return undefined;
  return serveProbes(listen, {
    dead: async () =>
      (await scaler.isResponsive()) ? undefined : "the thread that answers KEDA does not answer",
    notReady: () => (api.isDraining() ? "the scaler is stopping" : undefined),
  });
}

/** What a person should know who wonders why there are no numbers. */
function missing({
  application,
  changes,
  journal,
  keeper,
  overrides,
  plans,
  recommender,
}: DecisionParts): string[] {
  const problems = plans.statuses().flatMap(({ application: place, problem }) => {
    if (problem === undefined) return [];
    return [place === undefined ? problem : `application '${applicationKey(place)}': ${problem}`];
  });
  const withoutBounds = application.problem();
  return [
    ...(withoutBounds === undefined ? [] : [`the guard knows no bounds of services: ${withoutBounds}`]),
    ...problems,
    ...(keeper.problem === undefined ? [] : [`state is kept in memory only: ${keeper.problem}`]),
    ...(changes?.problem === undefined
      ? []
      : [`who changed what is kept in memory only: ${changes.problem}`]),
    ...(overrides.problem === undefined ? [] : [`overrides are not kept: ${overrides.problem}`]),
    ...(journal.problem === undefined ? [] : [`the audit trail is not written: ${journal.problem}`]),
    ...(recommender.book.size > 0
      ? []
      : ["no decision yet: GetMetrics answers UNAVAILABLE, GetMetricSpec works"]),
  ];
}
