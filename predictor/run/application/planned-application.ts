import { setImmediate as nextTurn } from "node:timers/promises";
import type { Application } from "@tradewind/core/contract/application.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { MOST_ANNOTATED_SERVICES } from "@tradewind/core/contract/override.ts";
import type { OverrideAnswer, OverrideExchange } from "@tradewind/core/contract/override.ts";
import type { ApplicationContext } from "@tradewind/core/contract/context.ts";
import { AskedChanges } from "./asked-changes.ts";
import type { Freshness } from "@tradewind/core/contract/freshness.ts";
import type { SamplingRequest } from "@tradewind/core/contract/proposal.ts";
import type { Asking } from "./asked-changes.ts";
import type { AskedChange } from "@tradewind/core/contract/plan.ts";
import { ApplicationMetrics } from "./application-metrics.ts";
import { contextOf } from "./context.ts";
import { ExplanationMetrics } from "../../answers/language-model/metrics.ts";
import { Explaining } from "./explaining.ts";
import { Deciding } from "./deciding.ts";
import { FinerSampling } from "./finer-sampling.ts";
import { Gathering, NOTHING_GATHERED } from "./gathering.ts";
import { History } from "./history.ts";
import { InputsArchive } from "./inputs-archive.ts";
import { ProfileAccuracy } from "../../learn/profile-accuracy.ts";
import { LastMeasured } from "../../answers/latest/last-measured.ts";
import { LastRoutes } from "../../answers/routes/last-routes.ts";
import { KnownOverrides } from "./overrides.ts";
import { LoadForecasts, registerForecastMetrics } from "./load-forecasts.ts";
import { firstState, openIncidents, openMemory, openShadow } from "./memory.ts";
import type { KeptState, Memory } from "./memory.ts";
import { RouteErrors } from "../../answers/routes/route-errors.ts";
import { Shadow } from "../../answers/shadow/shadow.ts";
import { registerShadow } from "../../answers/shadow/metrics.ts";
import type { ShadowState } from "../../answers/shadow/state.ts";
import type { IncidentState } from "../../answers/reason/incident-log.ts";
import { PatternWatch, registerPatternMetrics } from "./pattern-watch.ts";
import { Proposing } from "./proposing.ts";
import { registerNodeClassMetrics } from "../../answers/placement/metrics.ts";
import { Placing } from "../../answers/placement/placing.ts";
import { makeBuilder, probePaths, SHARE_OF_SEVERAL } from "./make-builder.ts";
import { priced } from "./parts.ts";
import type { OwnParts, SharedParts } from "./parts.ts";
import { Published } from "./published.ts";
import { LastSensitivities } from "../../answers/latest/last-sensitivities.ts";
import { registerSensitivityMetrics } from "../../answers/latest/sensitivity-metrics.ts";
import type { Gathered } from "../../sources/combine-windows.ts";
import type { DurationPoint } from "../../sources/otlp/pushed-metrics/durations.ts";
import type { OnDurations } from "../../sources/otlp/pushed-metrics/metric-intake.ts";
import { MAX_SERIES, PushedMetrics } from "../../sources/otlp/pushed-metrics/pushed-metrics.ts";
import { registerEndpointMetrics } from "../../sources/endpoint-metrics.ts";
import { PUSHED, SpanOrigins } from "../../sources/span-origins.ts";
import { traceOptions } from "../../sources/trace-sources.ts";
import { countArrivals, SurgeWatch } from "./surge-watch.ts";
import { LastWhatIf } from "../../answers/latest/last-what-if.ts";
import type { ClosedWindow } from "./window-clock.ts";
import type { ArrivalCounter } from "../../window/arrival-counter.ts";
import type { AddResult } from "../../window/drops.ts";
import type { Scaling } from "../../sources/workload-source.ts";
import type { Interval } from "../../window/interval.ts";
import type { SpanBatch } from "../../window/span.ts";
import type { WindowBuilder } from "../../window/window-builder.ts";

const ARCHIVED_INPUTS = 64;
const ARCHIVED_BYTES = 64 * 1024 * 1024;
/** Explanations of missed objectives. */
const EXPLAINED_BYTES = 32 * 1024 * 1024;

/** What was kept of an application before the start. */
interface Kept {
  readonly memory: Memory;
  readonly incidents: KeptState<IncidentState>;
  readonly shadow: KeptState<ShadowState>;
}

/**
 * One application that is planned: its windows, its models, its history, what the policies remember of it, and its plan. Nothing
 * of it is shared with another one, and nothing that goes wrong with it shows in another one.
 */
export class PlannedApplication {
  readonly application: Application;
  readonly published: Published;
  readonly archive: InputsArchive;
  readonly sensitivities: LastSensitivities;
  readonly whatIf = new LastWhatIf();
  readonly proposing: Proposing;
  readonly placing = new Placing();
  private readonly asked = new AskedChanges();
  private readonly finer = new FinerSampling();
  readonly measured = new LastMeasured();
  readonly shadow: Shadow;
  readonly routeErrors = new RouteErrors();
  readonly routes = new LastRoutes();
  readonly forecasts: LoadForecasts;
  readonly patterns: PatternWatch;
  readonly explaining: Explaining;
  readonly metrics: ApplicationMetrics;
  readonly history: History;
  readonly profiles: ProfileAccuracy;
  private readonly shared: SharedParts;
  private readonly own: OwnParts;
  private readonly memory: Memory;
  private readonly origins = new SpanOrigins();
  private readonly overrides = new KnownOverrides();
  private readonly pushed: PushedMetrics;
  private readonly builder: WindowBuilder;
  private readonly arrivals: ArrivalCounter;
  private readonly gathering: Gathering | undefined;
  private readonly ends: (() => Promise<void> | void)[];
  private deciding: Deciding | undefined;

  private constructor(
    shared: SharedParts,
    own: OwnParts,
    { incidents, memory, shadow }: Kept,
    ends: PlannedApplication["ends"],
  ) {
    const { clock, log, options, sections, several } = shared;
    this.shared = shared;
    this.own = own;
    this.memory = memory;
    this.ends = ends;
    this.application = own.application;
    this.published = new Published(clock);
    this.archive = new InputsArchive(ARCHIVED_INPUTS, ARCHIVED_BYTES * (several ? SHARE_OF_SEVERAL : 1));
    this.metrics = new ApplicationMetrics(clock, options.policy);
    const { registry } = this.metrics;
    const { name, namespace } = own.application;
    if (several) this.metrics.labelWith({ namespace, application: name });
    this.profiles = new ProfileAccuracy(registry, namespace);
    this.sensitivities = new LastSensitivities(() => clock.monotonicMs());
    registerSensitivityMetrics(registry, { last: this.sensitivities, log });
    this.forecasts = new LoadForecasts(options.settings.cost);
    registerForecastMetrics(registry, { forecasts: this.forecasts, log });
    this.patterns = new PatternWatch(log);
    registerPatternMetrics(registry, this.patterns);
    registerNodeClassMetrics(registry, this.placing);
    this.shadow = new Shadow(shadow.restored, shadow.keep);
    registerShadow(registry, name, this.shadow);
    ends.push(() => this.shadow.keep());
    this.explaining = this.makeExplaining(incidents);
    this.proposing = this.makeProposing();
    const { maxGraceSeconds, windowSeconds } = options;
    this.builder = makeBuilder(shared, own);
    this.pushed = new PushedMetrics(several ? MAX_SERIES * SHARE_OF_SEVERAL : MAX_SERIES);
    this.metrics.follow(
      () => this.builder.totals(),
      () => this.builder.graceSeconds,
    );
    this.arrivals = countArrivals(() => own.current()?.entries ?? [], {
      graceMs: 1e3 * maxGraceSeconds,
      windowMs: 1e3 * windowSeconds,
    });
    this.gathering = this.makeGathering();
    const { store } = sections;
    const { directory: state, sharers } = own;
    this.history = new History({ state, store, sharers, windowSeconds, clock, log, registry });
    ends.push(async () => this.history.stop());
  }

  /** Reads back what is kept of it. From now on it takes spans. */
  static async open(shared: SharedParts, own: OwnParts): Promise<PlannedApplication> {
    const { clock, log, metrics } = shared;
    const ends: PlannedApplication["ends"] = [];
    const { application, directory } = own;
    const parts = { application, directory, metrics, clock, log, ends };
    const kept = {
      memory: await openMemory(parts),
      incidents: await openIncidents(parts),
      shadow: await openShadow(parts),
    };
    return new PlannedApplication(shared, priced(own, shared), kept, ends);
  }

  /** What its policies remember, as JSON; undefined before the first decision. */
  remembered(): string | undefined {
    return this.memory.text();
  }

  /** Begins to learn and to decide. @param askPeers gives what the peers remember, see {@link firstState} */
  async begin(askPeers: () => Promise<readonly string[]>): Promise<void> {
    const { clock, log, nodes, options, rates } = this.shared;
    const { application, current, onNodes, workloads } = this.own;
    const state = this.memory.restored ?? firstState({ application, clock, log }, await askPeers());
    const surges: SurgeWatch = new SurgeWatch({
      arrivals: this.arrivals,
      lastWindow: () => deciding.lastWindow,
      onSurge: (ratio) => deciding.surge(ratio),
      graceMs: 1e3 * options.graceSeconds,
      clock,
    });
    const deciding: Deciding = new Deciding({
      application: current,
      options: { choice: options.policy, settings: options.settings },
      state,
      builder: this.builder,
      origins: this.origins,
      rates,
      workloads,
      onNodes,
      nodes,
      published: this.published,
      sensitivities: this.sensitivities,
      whatIf: this.whatIf,
      placing: this.placing,
      measured: this.measured,
      shadow: this.shadow,
      routes: this.routes,
      routeErrors: this.routeErrors,
      explaining: this.explaining,
      patterns: this.patterns,
      archive: this.archive,
      metrics: this.metrics,
      asked: (nowMs) => this.asked.named(nowMs),
      overrides: () => this.overrides.fixed(clock.monotonicMs()),
      surgeSince: (window) => surges.since(window),
      clock,
      log,
      onState: (now) => {
        this.memory.keep(now);
        this.forecasts.adopt(now);
        this.profiles.adopt(now.cost?.services ?? []);
      },
      onWindows: (set) => this.history.store.append(set),
      onChanges: (changes) => {
        for (const change of changes) this.history.store.appendDecision(change);
      },
      onTailError: (ratio) => this.profiles.tailPredicted(ratio),
    });
    this.deciding = deciding;
    this.ends.push(() => surges.stop());
    surges.start();
    const learnPast = (): void => void this.learnPast(deciding);
    learnPast();
    this.history.backfill(this.gathering?.sources.prometheus ?? [], learnPast);
  }

  /** Gives the decision the load of the past that is in the store. Never throws: it is decided without. */
  private async learnPast(deciding: Deciding): Promise<void> {
    const { entry, name, namespace } = this.own.current() ?? this.application;
    try {
      deciding.learnPast(await this.history.loadOf(entry, namespace));
    } catch (error) {
      const problem = describeError(error);
      this.shared.log.warn({ name, namespace, problem }, "seasons are learnt without the load of the past");
    }
  }

  /** All that is known of it now; undefined before the first plan. */
  context(): ApplicationContext | undefined {
    const [plan, windowSet] = [this.published.plan(), this.published.windows()];
    if (plan === undefined || windowSet === undefined) return undefined;
    return contextOf({
      application: this.own.current() ?? this.application,
      plan,
      windowSet,
      sketch: this.explaining.sketch(),
      patterns: this.patterns.patterns(),
      forecast: this.forecasts.latest(),
      incidents: this.explaining.incidents(),
    });
  }

  /** Takes spans that were pushed. */
  take(batch: SpanBatch): AddResult {
    const { clock } = this.shared;
    const nowMs = clock.nowMs();
    const result = this.builder.add(batch, nowMs);
    this.origins.note(PUSHED, batch, clock.monotonicMs());
    // After the builder, which puts the weights of the spans right.
    this.arrivals.add(batch, nowMs);
    return result;
  }

  /** Takes histograms of durations that its processes pushed. Those of another namespace are not its own. */
  takeDurations(points: readonly DurationPoint[]): ReturnType<OnDurations> {
    const { namespace } = this.application;
    const own = points.filter(({ resource }) => (resource.namespace ?? namespace) === namespace);
    const probes = probePaths(this.own.workloads());
    const taken = this.pushed.add(own, this.shared.clock.nowMs(), probes);
    const foreign = points.length - own.length;
    if (foreign === 0) return taken;
    const reasons = { ...taken.reasons, "no-application": foreign };
    return { ...taken, rejected: taken.rejected + foreign, reasons };
  }

  /** How long its windows wait for late spans, seconds. */
  get graceSeconds(): number {
    return this.builder.graceSeconds;
  }

  /** Asks its sources about a window. Never throws. */
  async gather(interval: Interval): Promise<Gathered> {
    const gathered = (await this.gathering?.gather(interval)) ?? NOTHING_GATHERED;
    const pushed = this.pushed.windows(
      interval,
      this.application.namespace,
      this.own.current()?.entries ?? [],
    );
    return pushed.windows.length === 0 ? gathered : { ...gathered, sets: [pushed, ...gathered.sets] };
  }

  /** Whether its sources have to be asked. */
  get isGathering(): boolean {
    return this.gathering !== undefined;
  }

  /**
   * Decides on a window that is over. Never throws, so that the next application has its turn.
   * @param isCurrent whether the window still counts: the clock may be set meanwhile
   */
  async decide(
    window: ClosedWindow,
    gathered: Gathered,
    missing: readonly string[],
    isCurrent: () => boolean,
  ): Promise<void> {
    const { clock, log } = this.shared;
    try {
      // Requests and other traffic are served between two steps.
      for (const _ of this.builder.prepare(window.endMs, () => clock.nowMs())) await nextTurn();
      if (isCurrent()) this.deciding?.close(window, gathered, [...missing, ...(this.own.missing?.() ?? [])]);
    } catch (error) {
      const { name, namespace } = this.application;
      this.metrics.planFailed();
      log.error({ name, namespace, problem: describeError(error) }, "no plan for this window");
    }
  }

  /** Takes what a scaler says that people ordered. @returns what all of them have said, and what annotations of its workloads order */
  takeOverrides(said: OverrideExchange): OverrideAnswer {
    const overrides = this.overrides.exchange(said, this.shared.clock.monotonicMs());
    const own = new Set(this.published.plan()?.wishes.map(({ service }) => service));
    const { workloads = [] } = this.own.workloads() ?? {};
    const annotated = workloads.flatMap(({ override, service }) =>
      override !== undefined && own.has(service) ? [{ service, text: override }] : [],
    );
    return {
      overrides: [...overrides],
      ...(annotated.length > 0 && { annotated: annotated.slice(0, MOST_ANNOTATED_SERVICES) }),
    };
  }

  /** Takes changes that somebody asks for beside the plan, as far as the models of now expect them to help. @returns those */
  ask(supposed: Parameters<AskedChanges["take"]>[0], asking: Omit<Asking, "nowMs">): readonly AskedChange[] {
    const { models, plan } = this.whatIf.last ?? {};
    if (plan === undefined) return [];
    const now = { ...asking, nowMs: plan.plannedAtMs };
    return this.asked.take(supposed, plan.objective.seconds, models, now);
  }

  /** Has agents read a service more often for a time. @returns false where as many others are read so as may be */
  sampleFiner(service: string, request: SamplingRequest): boolean {
    const isTaken = this.finer.ask(service, request, this.shared.clock.nowMs());
    const { name, namespace } = this.application;
    this.shared.log.info({ name, namespace, service, ...request, isTaken }, "finer sampling is asked for");
    return isTaken;
  }

  /** Pods that agents are to read more often now. */
  fresh(): Freshness {
    return this.finer.pods(this.own.workloads(), this.application.namespace, this.shared.clock.nowMs());
  }

  /** Takes how workloads are scaled now. Never throws. */
  scaled(scalings: readonly Scaling[]): void {
    this.deciding?.scaled(scalings);
  }

  clockStepped(stepMs: number): void {
    this.builder.restart();
    this.arrivals.clear();
    this.pushed.clear();
    this.deciding?.clockStepped(stepMs);
    this.published.doubt("the wall clock was set, and no window has closed since");
  }

  async stop(): Promise<void> {
    for (const end of this.ends.splice(0).reverse()) await end();
  }

  private makeExplaining(incidents: Kept["incidents"]): Explaining {
    const { clock, log, reasoner, several, webhook } = this.shared;
    const { name, namespace } = this.application;
    const explaining: Explaining = new Explaining({
      monotonicMs: () => clock.monotonicMs(),
      log,
      maxKeptBytes: EXPLAINED_BYTES * (several ? SHARE_OF_SEVERAL : 1),
      patterns: () => this.patterns.patterns(),
      incidents,
      model: reasoner,
      told: async () => ({
        context: this.context(),
        sensitivities: (await this.sensitivities.list())?.services,
      }),
      peakPerSecond: () => {
        const points = this.forecasts.latest()?.points ?? [];
        return points.length === 0 ? undefined : Math.max(...points.map(({ middle }) => middle));
      },
      onOpinion: (opinion) => {
        metrics.answered(opinion);
        this.ask(opinion.counterfactuals, { by: opinion.model, isOfModel: true });
      },
      onJudged: (judgement) => metrics.judged(judgement),
      onExecuted: (agreed) => metrics.executed(agreed),
      onExplained: (explanation) => {
        const { causes, isMissed, summary } = explanation;
        metrics.explained(explanation);
        webhook?.tell(explanation);
        const cause = causes[0] && { service: causes[0].service, type: causes[0].type };
        const what = isMissed ? "the objective is missed" : "a resource is far from usual";
        log.info({ application: name, namespace, ...cause, summary }, what);
      },
    });
    const metrics = new ExplanationMetrics(this.metrics.registry, () => explaining.current());
    return explaining;
  }

  private makeProposing(): Proposing {
    const { name, namespace } = this.application;
    return new Proposing({
      application: () => this.own.current() ?? this.application,
      last: () => this.whatIf.last,
      isMissed: () => this.explaining.current() !== undefined,
      classes: () => this.placing.classes(),
      similarities: () => {
        const { nearest = [] } = this.explaining.current()?.precedents ?? {};
        return nearest.map(({ similarity }) => similarity);
      },
      course: (sinceMs) => this.measured.course({ application: name, namespace }, sinceMs).points,
      nowMs: () => this.shared.clock.nowMs(),
      registry: this.metrics.registry,
    });
  }

  /** The sources that have to be asked; undefined when there are none. */
  private makeGathering(): Gathering | undefined {
    const { clock, log, options, sections } = this.shared;
    const { sources } = sections;
    if (sources.prometheus.length + traceOptions(sources).length === 0) return undefined;
    const gathering = new Gathering({
      config: sources,
      application: this.application,
      current: this.own.current,
      windowSeconds: options.windowSeconds,
      builder: this.builder,
      origins: this.origins,
      clock,
      log,
    });
    registerEndpointMetrics(this.metrics.registry, () => gathering.health());
    this.ends.push(async () => gathering.stop());
    return gathering;
  }
}
