import { randomInt } from "node:crypto";
import type { Lookup } from "@tradewind/core/net/addresses.ts";
import { SteppedClock, systemClock } from "@tradewind/core/process/clock.ts";
import type { AgeClock, Clock, ForwardSteps } from "@tradewind/core/process/clock.ts";
import { applicationKey } from "@tradewind/core/contract/application-list.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { Courses } from "./decide/course/courses.ts";
import { followCourse } from "./decide/course/follow.ts";
import { DecisionTraces } from "./serve/traces/decision-traces.ts";
import { knownServices } from "./decide/override/known-services.ts";
import { AnnotatedOverrides } from "./decide/override/annotations.ts";
import { Overrides } from "./decide/override/overrides.ts";
import { ChangeQueue } from "./decide/approval/change-queue.ts";
import { calendarsBy } from "./decide/calendar/calendars.ts";
import { withLearned } from "./decide/calendar/with-learned.ts";
import type { ClusterEdges } from "./controller/leader.ts";
import { limitsBy } from "./decide/limits/limits.ts";
import { SettingsLog } from "./decide/limits/settings-log.ts";
import { modeOf } from "./decide/limits/mode.ts";
import { followApplication } from "./decide/limits/own-application.ts";
import type { OwnApplication } from "./decide/limits/own-application.ts";
import { JournalKeeper } from "./keep/journal/keeper.ts";
import type { ScalerThread } from "./serve/keda/scaler-thread.ts";
import type { ExporterOptions } from "./options.ts";
import type { ExporterMetrics } from "./serve/prometheus/metrics.ts";
import { Recommender } from "./decide/recommender.ts";
import { lookAt, Regret } from "./decide/regret.ts";
import { OverrideExchanger } from "./plans/exchange-overrides.ts";
import type { KnownApplication } from "./plans/application-poll.ts";
import { makeFetcher } from "./plans/make-fetcher.ts";
import type { FetchedPlan, PlanFetcher } from "./plans/plan-fetcher.ts";
import { PlanSource } from "./plans/plan-source.ts";
import { PlanSources } from "./plans/plan-sources.ts";
import type { ApplicationStatus } from "./plans/plan-sources.ts";
import type { AnnotatedHeader } from "./silence/alone.ts";
import { StudentShelf } from "./silence/student-shelf.ts";
import { fetchStudents } from "./silence/fetch-students.ts";
import { DecisionBook } from "./keep/book.ts";
import { StateKeeper } from "./keep/keeper.ts";
import { OverrideFile } from "./keep/override-file.ts";
import { atMost, DISK_PATIENCE_MS } from "./keep/patience.ts";
import { CHANGES_FILE, StateFile } from "./keep/state-file.ts";

/** How long the first plans wait for the configurations of their applications: a list that is refused once is read within this time. */
const FIRST_READ_PATIENCE_MS = 1_500;
/** How long the next poll waits for what the predictor measured: a predictor that gives its plan gives it at once. */
const COURSE_PATIENCE_MS = 100;

/** What a test may put in place of the real thing. */
export interface ExporterEdges {
  readonly clock?: Clock;
  readonly lookup?: Lookup;
  readonly cluster?: Pick<ClusterEdges, "connection" | "election" | "watchTimings">;
  readonly log?: Logger;
}

/** What every part is made with. */
export interface Setting {
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
export interface DecisionParts {
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

/** Makes what decides, and what reads plans for it. */
export async function prepareDecisions(setting: Setting, scaler: ScalerThread): Promise<DecisionParts> {
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
    lapsed: (planned) => recommender.lapsed(planned),
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
