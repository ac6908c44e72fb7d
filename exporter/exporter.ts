import { randomInt } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Counter } from "prom-client";
import type { Lookup } from "@tradewind/core/net/addresses.ts";
import { AgeClock, noSteps, SteppedClock, systemClock } from "@tradewind/core/process/clock.ts";
import type { Clock, ForwardSteps } from "@tradewind/core/process/clock.ts";
import { parseWith } from "@tradewind/core/values/config.ts";
import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import { periodSeconds } from "@tradewind/core/contract/error-budget.ts";
import type { RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { TradewindError } from "@tradewind/core/values/errors.ts";
import { HttpDoor } from "@tradewind/core/net/http-door.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { startHeartbeat } from "@tradewind/core/process/heartbeat.ts";
import { serveProbes } from "@tradewind/core/net/probe-server.ts";
import type { ProbeServer } from "@tradewind/core/net/probe-server.ts";
import { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import { registerRefused } from "@tradewind/core/net/refusals.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { SenderWork } from "@tradewind/core/net/sender-work.ts";
import { applicationSources } from "@tradewind/kubernetes/application/sources.ts";
import { recommendationHeader, recommendationList, servedNow } from "./decide/recommendation-list.ts";
import { Courses } from "./decide/course/courses.ts";
import { fleetRows } from "./decide/course/fleet.ts";
import { followCourse } from "./decide/course/follow.ts";
import { readyFacts } from "./decide/course/ready-facts.ts";
import { serveApi } from "./serve/api/server.ts";
import { DecisionTraces } from "./serve/traces/decision-traces.ts";
import type { ApiServer } from "./serve/api/server.ts";
import { AnnotatedOverrides } from "./decide/override/annotations.ts";
import { applicationsIn, knownServices } from "./decide/override/known-services.ts";
import { Overrides } from "./decide/override/overrides.ts";
import { covers } from "./decide/override/rules.ts";
import { ChangeQueue } from "./decide/approval/change-queue.ts";
import { CalendarLists } from "./decide/calendar/calendar-list.ts";
import { visible } from "./serve/api/visible.ts";
import { calendarsBy } from "./decide/calendar/calendars.ts";
import { withLearned } from "./decide/calendar/with-learned.ts";
import { startCluster } from "./controller/leader.ts";
import type { ClusterEdges } from "./controller/leader.ts";
import { sceneApplications } from "./controller/scene/scene-applications.ts";
import { limitsBy } from "./decide/limits/limits.ts";
import { SettingsLog } from "./decide/limits/settings-log.ts";
import { modeOf } from "./decide/limits/mode.ts";
import { followApplication } from "./decide/limits/own-application.ts";
import type { OwnApplication } from "./decide/limits/own-application.ts";
import { JournalKeeper } from "./keep/journal/keeper.ts";
import { ScalerThread } from "./serve/keda/scaler-thread.ts";
import { newBeats } from "./serve/keda/watchdog.ts";
import type { ScalerThreadOptions } from "./serve/keda/messages.ts";
import { ExporterOptions } from "./options.ts";
import type { ExporterInput } from "./options.ts";
import { registerConnections } from "./serve/prometheus/connections.ts";
import { ExporterMetrics } from "./serve/prometheus/metrics.ts";
import { registerProcess } from "./serve/prometheus/process.ts";
import { registerApplication, serviceSeries } from "./serve/prometheus/recommendations.ts";
import { Recommender } from "./decide/recommender.ts";
import { lookAt, Regret } from "./decide/regret.ts";
import { OtherFleets } from "./plans/other-fleets.ts";
import { OverrideExchanger } from "./plans/exchange-overrides.ts";
import type { KnownApplication } from "./plans/application-poll.ts";
import { followApplications } from "./plans/follow-applications.ts";
import { makeFetcher } from "./plans/make-fetcher.ts";
import type { FetchedPlan, PlanFetcher } from "./plans/plan-fetcher.ts";
import { PlanSource } from "./plans/plan-source.ts";
import { PlanSources } from "./plans/plan-sources.ts";
import type { ApplicationStatus } from "./plans/plan-sources.ts";
import type { AnnotatedHeader } from "./silence/alone.ts";
import { startAlone } from "./silence/start.ts";
import { StudentShelf } from "./silence/student-shelf.ts";
import { fetchStudents } from "./silence/fetch-students.ts";
import { DecisionBook } from "./keep/book.ts";
import { StateKeeper } from "./keep/keeper.ts";
import { OverrideFile } from "./keep/override-file.ts";
import { atMost, DISK_PATIENCE_MS } from "./keep/patience.ts";
import { CHANGES_FILE, StateFile } from "./keep/state-file.ts";

const LOOPBACK = /^(127\.|localhost$|::1$)/;
/** How long an exporter that knows nothing keeps KEDA with those that do, while it asks for its first plan. */
const FIRST_PLAN_PATIENCE_MS = 2_000;
/** How long the first plans wait for the configurations of their applications: a list that is refused once is read within this time. */
const FIRST_READ_PATIENCE_MS = 1_500;

/** How long the next poll waits for what the predictor measured: a predictor that gives its plan gives it at once. */
const COURSE_PATIENCE_MS = 100;

/** How often overrides are looked at whose time may be up. */
const OVERRIDE_LOOK_MS = 500;

/** A watchdog looks a few times a second, and leaves a moment for its last words. */
const WATCHDOG_LATE_MS = 500;
/** The threads, which know more, come before the supervisor. */
const SUPERVISOR_LATER_MS = 500;

/** What a test may put in place of the real thing. */
export interface ExporterEdges {
  readonly clock?: Clock;
  readonly lookup?: Lookup;
  readonly cluster?: Pick<ClusterEdges, "connection" | "election" | "watchTimings">;
  readonly log?: Logger;
}

/** What every part is made with. */
interface Setting {
  readonly options: ExporterOptions;
  readonly edges: ExporterEdges;
  /** Its monotonic time goes on while the machine is suspended: ages are true after it. */
  readonly clock: AgeClock;
  readonly forwardSteps: ForwardSteps;
  readonly log: Logger;
  readonly metrics: ExporterMetrics;
  /** Stops what has been started, the last first. */
  readonly undo: AsyncDisposableStack;
}

interface PlanTime {
  readonly plannedAtMs: number;
  readonly madeMs: number;
}

/** What decides, and what it is decided by. */
interface DecisionParts {
  readonly keeper: StateKeeper;
  /** Of the decisions that changed a size; absent where nothing is kept. */
  readonly changes: StateKeeper | undefined;
  readonly journal: JournalKeeper;
  readonly queue: ChangeQueue;
  readonly overrides: Overrides;
  readonly annotations: AnnotatedOverrides;
  readonly application: OwnApplication;
  /** Finds an application as it is configured, with the calendars that were learned and approved. */
  readonly withApproved: ReturnType<typeof withLearned>;
  readonly recommender: Recommender;
  readonly plans: PlanSources;
  readonly shelf: StudentShelf;
  readonly courses: Courses;
  readonly settings: SettingsLog;
  /** Of the plans of each application, with the mode that they are handled in. */
  readonly statuses: () => readonly ApplicationStatus[];
  /** When the newest plan of each application was made, by its own clock and on our monotonic one. Known before its changes are. */
  readonly planTimes: ReadonlyMap<string, PlanTime>;
  /** Decides on the changes that annotations of the plan's Application name. */
  readonly takeAnnotations: (header: AnnotatedHeader) => Promise<void>;
}

/**
 * Starts an exporter: reads back its last decisions, serves KEDA and HTTP from memory, and polls the predictor beside.
 * Addresses: `http` (URL) and `grpc` (`host:port`).
 * @throws TradewindError when an option is wrong, an address is taken or the certificates cannot be used
 */
export async function startExporter(input: ExporterInput, edges: ExporterEdges = {}): Promise<Running> {
  const options = parseWith(ExporterOptions, input, "scaler options");
  const forwardSteps = noSteps();
  const setting: Setting = {
    options,
    edges,
    clock: new AgeClock(edges.clock ?? systemClock, forwardSteps),
    forwardSteps,
    log: edges.log ?? createLog("exporter", options.logLevel),
    metrics: new ExporterMetrics(),
    undo: new AsyncDisposableStack(),
  };
  try {
    const addresses = await startParts(setting);
    let stopping: Promise<void> | undefined;
    return { addresses, stop: () => (stopping ??= setting.undo.disposeAsync()) };
  } catch (error) {
    await setting.undo.disposeAsync();
    throw error;
  }
}

/** @returns the addresses listened on, by role */
async function startParts(setting: Setting): Promise<Record<string, string>> {
  const { clock, edges, forwardSteps, log, metrics, options, undo } = setting;
  let endHeartbeat: (() => void) | undefined;
  undo.defer(() => endHeartbeat?.());
  const scaler = await ScalerThread.start(threadOptions(options, forwardSteps), {
    observer: metrics.tls("grpc"),
    onDeath: (error) => endWith(error, log),
  });
  undo.defer(() => scaler.stop());
  const deciding = await prepareDecisions(setting, scaler);
  const { annotations, application, journal, overrides, plans, recommender, settings, statuses } = deciding;
  const restored = await recommender.restore();
  await overrides.restore();
  const looking = setInterval(() => {
    void overrides.look();
    const now = { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
    for (const place of applicationsIn(recommender.book)) {
      const { editor, override } = application.annotated(place.namespace, place.application);
      const configured = application.find(place.namespace, place.application);
      const changed = configured === undefined ? [] : settings.look(configured, editor, clock.nowMs());
      if (changed.length > 0) void journal.append(changed);
      void annotations.take(place, override, now);
    }
  }, OVERRIDE_LOOK_MS).unref();
  undo.defer(() => clearInterval(looking));
  const { api, probes } = await openPorts(setting, scaler, deciding);
  const poll = followApplications(options, plans, {
    clock,
    log,
    lookup: edges.lookup,
    onApplications: (applications) => {
      scaler.setApplications(applications);
      scaler.setPredictorProblem(undefined);
    },
  });
  const firstPoll = Promise.all([plans.start(), poll.start()]);
  undo.defer(() => plans.stop());
  undo.defer(() => poll.stop());
  // Before the polling is, which waits for the plan in hand, which waits for a thread that may be stuck.
  undo.defer(() => scaler.stop());
  undo.defer(
    startAlone({ options, ...deciding, registry: metrics.registry, clock, log, lookup: edges.lookup }),
  );
  if (restored === 0) {
    await Promise.race([firstPoll, delay(FIRST_PLAN_PATIENCE_MS, undefined, { ref: false })]);
  }
  const grpc = await scaler.listen();
  if (options.watchdog > 0) endHeartbeat = startHeartbeat(options.watchdog * 1e3 + SUPERVISOR_LATER_MS);
  if (options.tls === undefined && !LOOPBACK.test(options.grpcListen.host)) {
    log.warn({ grpc }, "the scaler port is open to the network without TLS; see docs/keda.md");
  }
  const sources = await applicationSources(options.application);
  const places = sources.filter((source) => source.kind === "resource");
  const cluster = await startCluster(options.cluster, {
    clock,
    log,
    rng: seededRng(randomInt(2 ** 31)),
    registry: metrics.registry,
    list: () => recommendationList(recommender, statuses(), clock, plans.hasAnswer),
    auditHead: () => journal.head(),
    applications: () =>
      sceneApplications(recommender, statuses(), clock, {
        places,
        application: (namespace, name) => application.find(namespace, name),
        reading: (namespace, name) => application.reading(namespace, name),
      }),
    ...edges.cluster,
  });
  undo.defer(() => cluster?.stop());
  undo.defer(() => api.drain());
  log.info({ restored, http: api.address, grpc }, "scaler started");
  return { http: api.address, grpc, ...(probes && { probe: probes.address }) };
}

async function prepareDecisions(setting: Setting, scaler: ScalerThread): Promise<DecisionParts> {
  const { clock, edges, log, metrics, options, undo } = setting;
  const { state } = options;
  const keeping = { clock, log, counter: metrics };
  const keeper = new StateKeeper(state === undefined ? undefined : new StateFile(state), keeping);
  undo.defer(() => keeper.flush());
  const changes =
    state === undefined ? undefined : new StateKeeper(new StateFile(state, CHANGES_FILE), keeping);
  undo.defer(() => changes?.flush());
  const journal = new JournalKeeper(state, keeping);
  undo.defer(() => journal.close());
  const application = await followApplication({
    from: options.application,
    kubeconfig: options.cluster.kubeconfig,
    connection: edges.cluster?.connection,
    clock,
    log,
  });
  undo.defer(() => application.stop());
  const firstRead = atMost(FIRST_READ_PATIENCE_MS, application.first());
  const queue = new ChangeQueue(
    journal.changes(),
    async (events, written) => journal.append(events, written),
    (namespace, name) => application.find(namespace, name),
  );
  const withApproved = withLearned(
    (namespace, name) => application.find(namespace, name),
    (namespace, name) => queue.calendarsOf(namespace, name),
  );
  const book = new DecisionBook();
  const overrides: Overrides = new Overrides({
    file: state === undefined ? undefined : new OverrideFile(state),
    clock,
    log,
    services: () => knownServices(book),
    onChange: async () => recommender.reconsider(),
    onEvents: (events) => void journal.append(events),
    onOrder: ({ ended, kind }) => metrics.overrideChanged(kind, ended?.how ?? "begun"),
  });
  const annotations = new AnnotatedOverrides(overrides, log);
  const { tracesEndpoint: endpoint } = options;
  const recordOf = (id: string): string | undefined => book.json(id);
  const traces = endpoint && new DecisionTraces({ endpoint, recordOf, nowMs: () => clock.nowMs(), log });
  if (traces) undo.defer(async () => traces.stop());
  const recommender: Recommender = new Recommender(
    book,
    {
      overrideOf: (place) => overrides.of(place),
      modeOf: (plan, namespace) => modeOf(plan, namespace, application.find(namespace, plan.application)),
      applicationOf: (namespace, name) => application.find(namespace, name),
      isUnread: (namespace, name) => application.isUnread(namespace, name),
      calendarsOf: calendarsBy(withApproved),
      limitsOf: limitsBy(options.limits, (namespace, name) => application.find(namespace, name)),
      exporterStartedAtMs: clock.nowMs(),
      staleAfterSeconds: options.staleAfter,
      restartGraceSeconds: options.restartGrace,
      clockToleranceMs: options.clockTolerance * 1e3,
    },
    {
      keeper,
      ...(changes && { changes }),
      journal: traces ? traces.before(journal) : journal,
      queue,
      clock,
      counter: metrics,
      serve: (rows) => scaler.serve(rows),
    },
  );
  const regret = new Regret(metrics.registry);
  const courses = new Courses();
  const settings = new SettingsLog();
  const shelf = new StudentShelf(state, log);
  await shelf.restore();
  const ownOf = ({ application: name, namespace }: FetchedPlan["header"]): Application | undefined =>
    application.find(namespace, name);
  const takeAnnotations: DecisionParts["takeAnnotations"] = async (header) => {
    const annotated = application.annotated(header.namespace, header.application);
    await queue.takeAnnotations(header, annotated, header.plannedAtMs);
  };
  const planTimes = new Map<string, PlanTime>();
  const plans: PlanSources = new PlanSources({
    open: (place) =>
      planSource({ setting, scaler, place, overrides, annotations }, async (plan, fetcher) => {
        const { header, madeMs } = plan;
        const { application: name, namespace, plannedAtMs } = header;
        const key = applicationKey({ name, namespace });
        planTimes.set(key, { plannedAtMs, madeMs });
        await firstRead;
        const takes = [takeAnnotations(header), queue.takeLearned(header), queue.takeAsked(header)];
        await atMost(DISK_PATIENCE_MS, Promise.all(takes));
        await recommender.takePlan(plan, place);
        await fetchStudents(header, { fetcher, shelf, log });
        const look = lookAt(header, recommender.book, ownOf(header), place === undefined);
        regret.look(look);
        const objectiveSeconds = header.objective.seconds;
        await atMost(
          COURSE_PATIENCE_MS,
          followCourse(
            { ...look, objectiveSeconds },
            { fetcher, courses, isPlanned: () => planTimes.has(key), log },
          ),
        );
      }),
    onGone: async ({ name, namespace }) => {
      log.info({ name, namespace }, "the application is not planned any more; nothing is served of it");
      planTimes.delete(applicationKey({ name, namespace }));
      await recommender.drop({ name, namespace });
      for (const kept of [regret, courses, settings]) kept.forget({ application: name, namespace });
    },
    lapsed: (others) => recommender.lapsed(others),
  });
  const statuses = (): readonly ApplicationStatus[] =>
    plans.statuses().map(({ plan, ...rest }) => withMode(rest, plan, plan && ownOf(plan), regret));
  const deciding = {
    keeper,
    changes,
    journal,
    queue,
    overrides,
    annotations,
    application,
    recommender,
    plans,
    shelf,
    courses,
    settings,
  };
  return { ...deciding, withApproved, planTimes, statuses, takeAnnotations };
}

function withMode(
  rest: Omit<ApplicationStatus, "plan">,
  plan: ApplicationStatus["plan"],
  own: Application | undefined,
  regret: Regret,
): ApplicationStatus {
  if (plan === undefined) return rest;
  const { application, namespace } = plan;
  const report = regret.report({ application, namespace });
  return {
    ...rest,
    plan: { ...plan, mode: modeOf(plan, namespace, own) },
    ...(report && { regret: report }),
  };
}

interface PlanSourceParts {
  readonly setting: Setting;
  readonly scaler: ScalerThread;
  readonly place: KnownApplication | undefined;
  readonly overrides: Overrides;
  readonly annotations: AnnotatedOverrides;
}

function planSource(
  { annotations, overrides, place, scaler, setting }: PlanSourceParts,
  onPlan: (plan: FetchedPlan, fetcher: PlanFetcher) => Promise<void>,
): PlanSource {
  const { clock, edges, log, metrics, options } = setting;
  const onRefused = (code: string): void => metrics.planRefused(code);
  const fetcher = makeFetcher(options, { clock, log, lookup: edges.lookup, onRefused }, place);
  const wallClock = new SteppedClock(edges.clock ?? systemClock, 0);
  const exchanger = new OverrideExchanger({
    fetcher,
    said: () => {
      const { application, namespace } = plans.status.plan ?? {};
      return application === undefined || namespace === undefined
        ? undefined
        : overrides.saidOf({ application, namespace });
    },
    onHeard: async ({ annotated = [], overrides: heard }) => {
      await overrides.adopt(heard);
      const { application, namespace } = plans.status.plan ?? {};
      if (application === undefined || namespace === undefined) return;
      const now = { nowMs: clock.nowMs(), monotonicMs: clock.monotonicMs() };
      for (const { service, text } of annotated)
        await annotations.take({ namespace, application, service }, text, now);
    },
    clock,
    log,
  });
  const plans: PlanSource = new PlanSource(
    fetcher,
    {
      onPlan: async (plan) => onPlan(plan, fetcher),
      onPoll: (result) => {
        metrics.polled(result);
        void exchanger.look();
        metrics.clockStepped(wallClock.look());
        if (place === undefined) scaler.setPredictorProblem(plans.status.problem);
      },
    },
    { clock, log, rng: seededRng(randomInt(2 ** 31)), pollMs: options.pollMs },
  );
  if (place === undefined) scaler.setPredictorProblem(plans.status.problem);
  return plans;
}

/** The ports for people, Prometheus and the kubelet. */
async function openPorts(
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
  registerRefused(metrics.registry, { Counter }, "tradewind_exporter_refused_total", {
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

function threadOptions(options: ExporterOptions, forwardSteps: ForwardSteps): ScalerThreadOptions {
  const { grpcListen, logLevel, maxSenderWork, scaler, tls, watchdog } = options;
  const { streamLifetimeMs, ...limits } = scaler;
  return {
    listen: grpcListen,
    limits: { ...limits, maxSenderWork },
    streamLifetimeMs,
    logLevel,
    forwardSteps,
    ...(tls === undefined ? {} : { tls }),
    ...(watchdog === 0
      ? {}
      : { watchdog: { beats: newBeats(), limitMs: watchdog * 1e3 - WATCHDOG_LATE_MS } }),
  };
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

/** An exporter that nobody answers for must not look alive: its process ends, and is started again with its state. */
function endWith(error: TradewindError, log: Logger): void {
  log.fatal({ problem: describeError(error) }, "ending, to be started again");
  process.nextTick(() => {
    throw error;
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
