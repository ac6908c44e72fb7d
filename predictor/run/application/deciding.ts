import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { MOST_PLAN_PATTERNS } from "@tradewind/core/contract/plan.ts";
import type { FixedService } from "@tradewind/core/contract/override.ts";
import type { AskedChange, Plan, Wish } from "@tradewind/core/contract/plan.ts";
import type { ProposedChange } from "@tradewind/core/contract/proposed-change.ts";
import type { PolicyChoice } from "@tradewind/core/contract/policy-choice.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { tailPredictionError } from "../../learn/predicted-tail.ts";
import type { ApplicationMetrics } from "./application-metrics.ts";
import type { LearnedCalendar } from "@tradewind/core/contract/calendar.ts";
import { LearnedCalendars } from "../../forecast/calendar/propose-calendars.ts";
import { mappingInWords, unmappedNames } from "../../decide/facts/unmapped.ts";
import { usersPerSecond } from "../../decide/facts/user-flows.ts";
import { hourlyCost, judgedRequests } from "../../decide/facts/accounts.ts";
import type { InputsArchive } from "./inputs-archive.ts";
import { coresToCome, cpuLeft, nodesLeft, podsMore } from "../../nodes/node-room.ts";
import type { NodeRoom } from "../../nodes/node-room.ts";
import { INPUTS_SCHEMA } from "../../decide/inputs.ts";
import type { PolicyInputs, PolicyOutcome } from "../../decide/inputs.ts";
import { decide } from "../../decide/ladder.ts";
import type { PolicySettings } from "../../decide/facts/settings.ts";
import { withPast } from "../../forecast/foresight.ts";
import { shiftState } from "../../decide/shift-state.ts";
import type { PolicyState } from "../../decide/state.ts";
import { PastLoads } from "./past-load.ts";
import type { PastLoad } from "./past-load.ts";
import { proposedChanges } from "./proposed-changes.ts";
import type { Published } from "./published.ts";
import type { Explaining } from "./explaining.ts";
import type { PatternWatch } from "./pattern-watch.ts";
import type { LastMeasured } from "../../answers/latest/last-measured.ts";
import type { LastRoutes } from "../../answers/routes/last-routes.ts";
import type { LastSensitivities } from "../../answers/latest/last-sensitivities.ts";
import type { NodeClasses } from "../../nodes/node-classes.ts";
import type { Placing } from "../../answers/placement/placing.ts";
import type { RouteErrors } from "../../answers/routes/route-errors.ts";
import type { Shadow } from "../../answers/shadow/shadow.ts";
import type { LastWhatIf } from "../../answers/latest/last-what-if.ts";
import type { ContainerRates } from "../../sources/container-rates.ts";
import { combineResources, combineWindows, missingParts } from "../../sources/combine-windows.ts";
import type { Gathered } from "../../sources/combine-windows.ts";
import { ofNamespace, resourceView, roomByNodeClass } from "../../sources/resources.ts";
import type { NodeFacts } from "../../sources/resources.ts";
import { disruptionsOf } from "../../nodes/disruptions.ts";
import { containerLimitsOf, quotaRoom } from "../../nodes/quota-room.ts";
import type { SpanOrigins } from "../../sources/span-origins.ts";
import { SHIPPED_HASH } from "../../learn/students/shipped.ts";
import { withWorkloads } from "../../learn/students/with-workloads.ts";
import { scaledSince } from "../../sources/scaled-since.ts";
import type { Scaling } from "../../sources/workload-source.ts";
import type { ClosedWindow } from "./window-clock.ts";
import type { Interval } from "../../window/interval.ts";
import { SilentServices } from "../../window/silent-services.ts";
import { RefusedShare } from "../../window/refused-share.ts";
import type { WindowBuilder } from "../../window/window-builder.ts";

export interface DecidingOptions {
  /** The application as of now; undefined once it is gone, and then nothing is planned. */
  readonly application: () => Application | undefined;
  readonly options: { readonly choice: PolicyChoice; readonly settings: PolicySettings };
  readonly state: PolicyState;
  readonly builder: WindowBuilder;
  readonly origins: SpanOrigins;
  readonly rates: Pick<ContainerRates, "over">;
  readonly workloads: () => WorkloadList | undefined;
  /** All that takes room on the nodes; absent: the same. */
  readonly onNodes?: (() => WorkloadList | undefined) | undefined;
  /** How large a container may be; absent where nothing is known of the nodes. */
  readonly nodes?: NodeRoom;
  readonly published: Published;
  /** Told every decision that is published; absent where nobody asks what one more unit is worth. */
  readonly sensitivities?: LastSensitivities;
  /** Told the same; absent where nobody asks what would be. */
  readonly whatIf?: LastWhatIf;
  /** Told the same; absent where nobody asks what services would gain on other nodes. */
  readonly placing?: Placing;
  /** Told every window that is decided on; absent where nobody asks what was measured. */
  readonly measured?: LastMeasured;
  /** Told the same; absent where nobody asks what the HPA before would have done. */
  readonly shadow?: Pick<Shadow, "adopt">;
  /** Told the same; absent where nobody asks which routes there are. */
  readonly routes?: LastRoutes;
  /** Told the same; absent where nobody asks how far off predictions of routes are. */
  readonly routeErrors?: Pick<RouteErrors, "adopt">;
  /** Told every window that is decided on; absent where nobody asks why objectives are missed. */
  readonly explaining?: Explaining;
  /** Told the same; absent where nobody asks what windows show. */
  readonly patterns?: PatternWatch;
  readonly archive: Pick<InputsArchive, "add">;
  readonly metrics: ApplicationMetrics;
  /** What was asked for beside the plan of late; absent: nothing. */
  readonly asked?: (nowMs: number) => readonly AskedChange[];
  /** What people keep of services; absent: nothing. */
  readonly overrides?: () => readonly FixedService[];
  /** What has come since a window over what came in it, where that is more; absent where nobody counts what comes. */
  readonly surgeSince?: (window: Interval) => number | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onState: (state: PolicyState) => void;
  /** Called with every window set that is decided on, but for those of a time that had windows before the clock was set back. */
  readonly onWindows?: (set: WindowSet) => void;
  /** Called with the wishes of each published plan that change a size. */
  readonly onChanges?: (changes: readonly ProposedChange[]) => void;
  /** Told how far the tail was off that the plan before had predicted; undefined when that cannot be told. */
  readonly onTailError?: (ratio: number | undefined) => void;
}

/** Names without a workload that a plan carries. */
const MOST_UNMAPPED = 10;

/** What the last window was decided from. */
interface LastDecision {
  readonly inputs: PolicyInputs;
  readonly missing: readonly string[];
  readonly window: ClosedWindow;
}

/** Turns each closed window into a plan and carries the policies' state from one to the next. */
export class Deciding {
  private readonly parts: DecidingOptions;
  private readonly silent = new SilentServices();
  private readonly refused = new RefusedShare();
  private state: PolicyState;
  private last: LastDecision | undefined;
  private readonly past = new PastLoads();
  private readonly calendars = new LearnedCalendars();

  constructor(parts: DecidingOptions) {
    this.parts = parts;
    this.state = parts.state;
  }

  /**
   * Never throws: a window that cannot be turned into a plan is logged and counted, the last plan stays and ages, and the
   * state is as before.
   * @param gathered what the sources that are asked said about it
   * @param missing what is known to be missing of its spans, in words
   */
  close(window: ClosedWindow, gathered: Gathered, missing: readonly string[]): void {
    try {
      this.plan(window, gathered, missing);
    } catch (error) {
      const { endMs, startMs } = window;
      this.parts.metrics.planFailed();
      this.parts.log.error({ startMs, endMs, problem: describeError(error) }, "no plan for this window");
    }
  }

  /** The last window decided on that arrivals can be compared with: none before the first, and none of which a part is missing. */
  get lastWindow(): Interval | undefined {
    return this.last?.missing.length === 0 ? this.last.inputs.windowSet : undefined;
  }

  /**
   * The load of a time before, for the seasons: taken up once live windows show how many of its requests are users'. What was measured
   * live is not replaced.
   * @param past by rising start, without overlap
   */
  learnPast(past: readonly PastLoad[]): void {
    this.past.learn(past);
  }

  private takePast(): void {
    const { cost } = this.state;
    const past = cost === undefined ? [] : this.past.take();
    if (cost === undefined || past.length === 0) return;
    const outlook = { ...cost.outlook, foresight: withPast(cost.outlook.foresight, past) };
    this.state = { ...this.state, cost: { ...cost, outlook } };
  }

  /** The wall clock was set: what is remembered keeps its age, and the last window has nothing to do with what arrives now. */
  clockStepped(stepMs: number): void {
    this.state = shiftState(this.state, stepMs);
    this.last = undefined;
    this.parts.explaining?.clockStepped();
    this.parts.patterns?.clockStepped();
  }

  /**
   * Decides on the last window once more, knowing that load has risen since. The plan is published, and takes the place of the
   * one before in the policies' state, only if it gives more to some service. Never throws, as {@link close}.
   * @param surgeRatio see {@link PolicyInputs}
   */
  surge(surgeRatio: number): void {
    try {
      this.planAgain(surgeRatio);
    } catch (error) {
      this.parts.metrics.planFailed();
      this.parts.log.error({ surgeRatio, problem: describeError(error) }, "no plan for a surge");
    }
  }

  /**
   * Decides on the last window once more where somebody has scaled a service that is not acted on, or holds one still: what KEDA is answered
   * would else set it back. Never throws, as {@link close}.
   */
  scaled(scalings: readonly Scaling[]): void {
    const application = this.parts.application();
    const { last } = this;
    if (application === undefined || last === undefined) return;
    const overrides = this.parts.overrides?.() ?? [];
    const paused = new Set(overrides.filter(({ kind }) => kind === "pause").map(({ service }) => service));
    const windowSet = scaledSince(last.inputs.windowSet, scalings, application, paused);
    if (windowSet === undefined) return;
    try {
      const inputs = {
        ...last.inputs,
        ...this.ordered(),
        application,
        windowSet,
        nowMs: this.nowMs(last.window),
      };
      const plan = this.adopt(decide(inputs), inputs, last.missing);
      this.last = { ...last, inputs };
      this.parts.log.info({ sequence: plan.sequence }, "planned again: somebody scales what runs");
    } catch (error) {
      this.parts.metrics.planFailed();
      this.parts.log.error({ problem: describeError(error) }, "no plan for what was scaled");
    }
  }

  private planAgain(surgeRatio: number): void {
    const application = this.parts.application();
    if (application === undefined || this.last === undefined) return;
    const { clock, metrics, published } = this.parts;
    const beganMs = clock.monotonicMs();
    const inputs = {
      ...this.last.inputs,
      ...this.ordered(),
      application,
      surgeRatio,
      nowMs: this.nowMs(this.last.window),
    };
    const outcome = decide(inputs);
    if (!givesMore(outcome.plan.wishes, published.plan()?.wishes ?? [])) return;
    const plan = this.adopt(outcome, inputs, this.last.missing);
    metrics.plannedAgain(plan, (clock.monotonicMs() - beganMs) / 1e3);
  }

  /** The time since the window by the monotonic clock, called as the window's own time is. */
  private nowMs({ endMs, toMs }: ClosedWindow): number {
    return Math.round(endMs + this.parts.clock.monotonicMs() - toMs);
  }

  private plan(window: ClosedWindow, gathered: Gathered, missing: readonly string[]): void {
    const application = this.parts.application();
    if (application === undefined) return;
    const { endMs, repeated, startMs, toMs } = window;
    const { builder, clock, metrics, options, published, rates, workloads } = this.parts;
    const beganMs = clock.monotonicMs();
    const nowMs = clock.nowMs();
    const doubts = [...missing, ...this.refused.lookAt(builder.totals()), ...builder.doubts()];
    const running = workloads();
    const classes = this.nodeClasses(running);
    const nodes = { classes, rooms: this.roomOnNodes() };
    const ours = ofNamespace(running, application.namespace);
    const own = resourceView(ours, rates.over(startMs, endMs), { startMs, endMs }, nowMs, nodes);
    const resources = combineResources(own, gathered.resources);
    const built = builder.build(startMs, endMs, resources, nowMs);
    const failed = gathered.failed.filter(({ kind }) => kind === "spans").map(({ name }) => name);
    const told = this.parts.origins.since(window.fromMs, failed);
    const windowSet = this.silent.vouch(combineWindows(built, gathered, { missing: doubts, told }));
    const parts = missingParts(windowSet, gathered, doubts, built);
    if (parts.length === 0 && !repeated) this.past.observe(windowSet, gathered.sets, application);
    this.takePast();
    if (!repeated) this.parts.onWindows?.(windowSet);
    const ofNodes = this.nodeFacts(application, running, nodes, { windowSet, nowMs });
    const inputs: PolicyInputs = {
      schema: INPUTS_SCHEMA,
      choice: options.choice,
      application,
      settings: options.settings,
      state: this.state,
      windowSet,
      ...ofNodes,
      ...this.surgeAfter(windowSet, parts),
      ...this.ordered(),
      nowMs: this.nowMs(window),
    };
    const before = published.plan()?.wishes ?? [];
    const outcome = decide(inputs);
    this.parts.onTailError?.(tailPredictionError(before, windowSet, outcome.plan.measuredLatencySeconds));
    const plan = this.adopt(outcome, inputs, parts);
    this.last = { inputs, missing: parts, window };
    const planSeconds = (clock.monotonicMs() - beganMs) / 1e3;
    metrics.planned(plan, toMs, planSeconds);
    this.show(application, windowSet, outcome);
    if (!repeated) {
      const cost = hourlyCost(windowSet, plan, application);
      const requests = judgedRequests(windowSet, application);
      metrics.accounts(plan, requests, cost);
      this.parts.measured?.adopt({ application, windowSet, plan, requests, cost, models: outcome.whatIf });
      this.parts.routeErrors?.adopt({ application, windowSet, models: outcome.whatIf });
      this.parts.shadow?.adopt({
        application,
        windowSet,
        models: outcome.whatIf,
        startSeconds: outcome.state.cost?.startSeconds,
        isResized: application.mode === "act" && (application.resize ?? "off") !== "off",
      });
      this.parts.placing?.adopt({
        application,
        windowSet,
        decidedAtMs: plan.plannedAtMs,
        models: outcome.whatIf,
        speeds: outcome.state.cost?.classSpeeds,
        workloads: running,
        classes,
        rooms: ofNodes.roomByNodeClass ?? {},
        hardware: this.parts.nodes?.hardware(classes),
      });
    }
    metrics.queues(windowSet.windows, outcome.queues);
  }

  /** Tells those who answer people. */
  private show(application: Application, windowSet: WindowSet, outcome: PolicyOutcome): void {
    const { builder, explaining, patterns, routes } = this.parts;
    patterns?.window({ application, windowSet, outcome });
    explaining?.window({ application, windowSet, outcome });
    routes?.adopt({ application, windowSet, setAside: builder.setAside });
  }

  /** What people keep of services now. */
  private ordered(): Pick<PolicyInputs, "overrides"> {
    const overrides = this.parts.overrides?.() ?? [];
    return { overrides: overrides.length > 0 ? [...overrides] : undefined };
  }

  /** Half of a window may be from before a surge that a plan has answered already. */
  private surgeAfter(windowSet: WindowSet, missing: readonly string[]): Pick<PolicyInputs, "surgeRatio"> {
    const surgeRatio = missing.length === 0 ? this.parts.surgeSince?.(windowSet) : undefined;
    return surgeRatio === undefined ? {} : { surgeRatio };
  }

  private roomOnNodes(): ReadonlyMap<string, number> {
    const { onNodes, workloads } = this.parts;
    return cpuLeft((onNodes ?? workloads)());
  }

  private nodeClasses(running: WorkloadList | undefined): NodeClasses {
    return this.parts.nodes?.classes(running, this.state.cost?.classSpeeds !== undefined) ?? new Map();
  }

  /** What is known of the nodes; each part absent where it is not. */
  private nodeFacts(
    { namespace, prices, resize = "off" }: Application,
    running: WorkloadList | undefined,
    known: NodeFacts,
    { nowMs, windowSet: { windows } }: Pick<PolicyInputs, "nowMs" | "windowSet">,
  ): Pick<
    PolicyInputs,
    | "allNodes"
    | "comingCores"
    | "containerLimits"
    | "largestContainer"
    | "nodes"
    | "podsMore"
    | "roomByNodeClass"
  > {
    const largestContainer = this.parts.nodes?.largest(running, prices, nowMs, namespace);
    const allNodes = this.parts.nodes?.total(running, known.rooms, namespace, nowMs);
    const comingCores = coresToCome(running, namespace);
    const containerLimits = containerLimitsOf(running, namespace);
    const more = podsMore(running, namespace);
    const ofClasses = roomByNodeClass(running, known, namespace);
    // Containers that grow share the room of their node, and pods that wait may be given that of others.
    const isRoomShared =
      resize !== "off" ||
      comingCores !== undefined ||
      windows.some(({ podsUnscheduled = 0 }) => podsUnscheduled > 0);
    const nodes = isRoomShared ? nodesLeft(running, namespace, known.rooms) : undefined;
    return {
      ...(largestContainer && { largestContainer }),
      ...(allNodes && { allNodes }),
      ...(containerLimits && { containerLimits }),
      ...(ofClasses && { roomByNodeClass: ofClasses }),
      ...(nodes && { nodes }),
      ...(comingCores !== undefined && { comingCores }),
      ...(more.size > 0 && { podsMore: Object.fromEntries(more) }),
    };
  }

  private asked({ plan }: PolicyOutcome): Pick<Plan, "askedChanges"> {
    const askedChanges = this.parts.asked?.(plan.plannedAtMs) ?? [];
    return askedChanges.length === 0 ? {} : { askedChanges: [...askedChanges] };
  }

  private adopt(outcome: PolicyOutcome, inputs: PolicyInputs, missing: readonly string[]): Plan {
    const { application, windowSet } = inputs;
    const workloads = this.parts.workloads();
    const cause = this.parts.explaining?.cause();
    const patterns = this.parts.patterns?.patterns() ?? [];
    const room = quotaRoom(workloads, application.namespace);
    const learnedCalendars = this.learnCalendars(outcome, inputs);
    const disruptions = disruptionsOf(workloads, application.namespace);
    const wishes = withWorkloads(outcome.plan.wishes, workloads);
    const unmapped = unmappedNames(windowSet.windows, application.entries)
      .slice(0, MOST_UNMAPPED)
      .map(mappingInWords);
    const plan = this.parts.published.publish({ ...outcome.plan, wishes }, windowSet, {
      students: { hash: SHIPPED_HASH },
      complete: missing.length === 0,
      ...(missing.length > 0 && { missing: [...missing] }),
      mode: application.mode,
      ...(room && { room }),
      ...this.asked(outcome),
      ...(learnedCalendars && { learnedCalendars }),
      ...(disruptions.length > 0 && { disruptions }),
      ...(cause && { cause }),
      ...(unmapped.length > 0 && { unmapped }),
      ...(patterns.length > 0 && { patterns: patterns.slice(0, MOST_PLAN_PATTERNS) }),
    });
    this.parts.sensitivities?.adopt(plan, outcome.sensitivities);
    const services = outcome.state.cost?.services ?? [];
    this.parts.whatIf?.adopt({ plan, models: outcome.whatIf, windowSet, services });
    this.parts.onChanges?.(proposedChanges(plan, this.state));
    this.state = outcome.state;
    this.parts.onState(outcome.state);
    this.parts.archive.add(plan.wishes[0]?.inputs.windowHash ?? contentHash(windowSet), inputs);
    this.report(plan);
    return plan;
  }

  /** Calendars that the load of the past speaks for. */
  private learnCalendars(
    { plan, state }: PolicyOutcome,
    { application, windowSet }: PolicyInputs,
  ): LearnedCalendar[] | undefined {
    const longest = state.cost?.outlook.foresight.at(-1)?.series;
    if (longest === undefined) return undefined;
    return this.calendars.propose({
      series: longest,
      perSecond: usersPerSecond(windowSet.flows, application),
      targetUtilisation: this.parts.options.settings.targetUtilisation,
      wishes: plan.wishes,
    });
  }

  private report({ policy, policyReason, sequence, wishes }: Plan): void {
    const moves = wishes
      .filter(
        ({ allocation, evidence, steps = [] }) =>
          allocation.replicas !== evidence["baseReplicas"] || steps.length > 0,
      )
      .map(({ service, allocation, evidence, reason }) => ({
        service,
        from: evidence["baseReplicas"],
        to: allocation.replicas,
        cpuCores: allocation.cpuCores,
        reason,
      }));
    const facts = { sequence, policy, why: policyReason, moves: moves.slice(0, 20) };
    if (moves.length > 0) this.parts.log.info(facts, "the plan changes");
    else this.parts.log.debug(facts, "the plan stays");
  }
}

function givesMore(wishes: readonly Wish[], before: readonly Wish[]): boolean {
  const last = new Map(before.map(({ allocation, service }) => [service, allocation]));
  return wishes.some(({ allocation: { cpuCores = 0, memoryBytes = 0, replicas }, service }) => {
    const had = last.get(service);
    if (had === undefined) return false;
    return replicas > had.replicas || cpuCores > (had.cpuCores ?? 0) || memoryBytes > (had.memoryBytes ?? 0);
  });
}
