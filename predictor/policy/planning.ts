import { planApplication } from "../plan/application-plan.ts";
import type {
  ApplicationPlan,
  ContainerSize,
  KnownService,
  ServiceLimits,
} from "../plan/application-plan.ts";
import { learntCorrection } from "../plan/correction.ts";
import type { UsableResidual } from "./flow-residuals.ts";
import { hasAmpleCpu, isIdle, lacksNodeCpu } from "./bottleneck.ts";
import { loadAhead } from "./load-ahead.ts";
import { boundedByNode } from "./node-bounds.ts";
import type { DecisionContext, Observation } from "./observation.ts";
import { plannedTargets } from "./planned-target.ts";
import { balanceQueues } from "./queue-balancing.ts";
import type { Balancing } from "./queue-balancing.ts";
import type { Readiness, UsableProfile } from "./readiness.ts";
import type { Course } from "./remember.ts";
import { courseAfterShrinking } from "./standing.ts";
import type { Standing } from "./standing.ts";
import { startSize } from "./start-size.ts";
import type { StartSize } from "./start-size.ts";
import type { PlannerMemory } from "./state.ts";
import { percent } from "./target.ts";
import type { Targets } from "./target.ts";
import type { Verdict } from "./verdict.ts";

/** Tail over objective from which a miss is urgent. */
const URGENT_SEVERITY = 2;

/** Calls of a flow in a window below which nothing is taken back on its word. */
const LEAST_CALLS = 5;

/** Period over which the kernel counts a CPU limit, seconds (Linux, Documentation/scheduler/sched-bwc.rst). */
const CFS_PERIOD_SECONDS = 0.1;

/** CPU of a request of the tail over that of a mean one: it, too, should be served within one period. */
const TAIL_OVER_MEAN_CPU = 2;

/**
 * Patience over that of a step back before replicas are merged: those that stay grow at once, those that go do so after
 * grace and stabilisation, and until then both are paid for.
 */
const MERGE_PATIENCE = 4;

interface Preparation {
  readonly context: DecisionContext;
  readonly observations: readonly Observation[];
  readonly verdict: Verdict;
  readonly standing: Standing;
  readonly ready: Readiness;
  readonly memory: PlannerMemory;
  readonly residuals: readonly UsableResidual[];
  /** What the largest node has room for; undefined where that is not known. */
  readonly largestContainer: ContainerSize | undefined;
  /** What all nodes have together; undefined where that is not known. */
  readonly allNodes: ContainerSize | undefined;
}

export interface Planned extends Balancing {
  readonly planner: PlannerMemory;
}

/**
 * Rungs `planner-prior` and `planner`: one plan for the whole application from the services' latency profiles (Grad's
 * Prepare). It starts from the last wish, raised to what CPU demand needs; gives steps while the objective is missed, and at
 * least as much as queue balancing would to what has no profile, or once plans did not end the miss; takes steps back after as much calm as queue balancing demands; and otherwise
 * changes nothing. It never does two of these at once.
 * @returns undefined when what it comes to does not fit into the budget of pods
 */
export function planWithProfiles(preparation: Preparation): Planned | undefined {
  const { context, observations, standing } = preparation;
  const budget = context.application.budget.pods;
  const starts = new Map(
    observations.map((one) => [
      one.service,
      startSize(
        context,
        boundedByNode(one, preparation.largestContainer),
        preparation.ready.profiles.get(one.service)?.memoryPeakBytes,
        preparation.ready.profiles.has(one.service)
          ? context.settings.planner.raiseUtilisation
          : context.settings.targetUtilisation,
      ),
    ]),
  );
  const raised = observations.some(({ service }) => starts.get(service)?.raised === true);
  const mayTakeBack = !raised && standing.calm && standing.course.calmWindows >= standing.patience;
  const mayRaise = standing.clearlyMissed || !standing.missed;
  const plan = mayRaise ? makePlan(preparation, starts, mayTakeBack) : undefined;
  const growth = growthByQueues(preparation, plan);
  const { largestContainer, ready } = preparation;
  const facts = { ready, standing, settings: context.settings, plan, growth, largestContainer };
  const targets = plannedTargets(observations, starts, facts);
  const pods = [...targets.values()].reduce((sum, { replicas }) => sum + replicas, 0);
  if (budget !== undefined && pods > budget) return undefined;
  const took = plan?.steps.some(({ direction }) => direction === "down") === true;
  const course = took
    ? courseAfterShrinking(context, standing, withLess(observations, targets))
    : { ...standing.course, ...effectOf(growth), ...grownBy(preparation, targets) };
  const planner = {
    ...preparation.memory,
    ...learntFlows(preparation, plan),
    cures: standing.clearlyMissed && plan !== undefined,
  };
  return { planner, reason: reasonOf(preparation, { plan, growth, raised, mayTakeBack }), targets, course };
}

/**
 * What queue balancing gives while the objective is clearly missed: to services without a profile, and to all when the plan
 * knows no cure or plans that were carried out did not end the miss.
 */
function growthByQueues(preparation: Preparation, plan: ApplicationPlan | undefined): Balancing | undefined {
  const { context, memory, observations, ready, standing, verdict } = preparation;
  if (!standing.clearlyMissed || context.application.budget.pods !== undefined) return undefined;
  const isCured = plan?.feasible === true && memory.missedInSpite === 0;
  const growing = observations.filter(
    (one) => !(isCured && ready.profiles.has(one.service)) && !isCrowdedOut(preparation, one),
  );
  return growing.length === 0 ? undefined : balanceQueues(context, growing, verdict);
}

/** The only node has its CPU taken by others: replicas of what waits for it would run there too. */
function isCrowdedOut(
  { allNodes, context, largestContainer }: Preparation,
  observation: Observation,
): boolean {
  if (allNodes === undefined || largestContainer === undefined) return false;
  return allNodes.cpuCores <= largestContainer.cpuCores && lacksNodeCpu(observation, context.settings);
}

/** What growth by queues remembers of its own effect. */
function effectOf(growth: Balancing | undefined): Pick<Course, "growth" | "futile"> {
  if (growth === undefined) return {};
  const { growth: checkpoint, futile } = growth.course;
  return { ...(checkpoint && { growth: checkpoint }), ...(futile && { futile }) };
}

function makePlan(
  preparation: Preparation,
  starts: ReadonlyMap<string, StartSize>,
  mayTakeBack: boolean,
): ApplicationPlan | undefined {
  const { allNodes, context, largestContainer, observations, residuals, standing, verdict } = preparation;
  const { application, settings, windowSet } = context;
  const flows = verdict.flows
    .filter(({ flow, telling }) => (mayTakeBack ? flow.latency.count >= LEAST_CALLS : telling))
    .map(({ flow }) => flow);
  if (flows.length === 0) return undefined;
  const told = new Set(flows.flatMap(({ services }) => services));
  const ahead = loadAhead(observations, settings.needGrowthLimit, standing.rise);
  const isUrgent = ahead.size > 0 && (verdict.severity ?? 0) >= URGENT_SEVERITY;
  const known = new Map(
    observations.map((one): [string, KnownService] => [
      one.service,
      knownService(preparation, one, starts.get(one.service), {
        ahead: ahead.get(one.service),
        isTold: told.has(one.service),
      }),
    ]),
  );
  const windows = [...windowSet.windows].sort((a, b) => (a.service < b.service ? -1 : 1));
  const { planner } = settings;
  return planApplication({
    application,
    windowSet: { ...windowSet, windows, flows },
    known,
    residuals: residuals.map(({ model }) => model),
    flowCorrections: correctionsLearnt(preparation),
    ...(largestContainer && { largestContainer }),
    ...(allNodes && { capacity: allNodes }),
    mayTakeBack,
    settings: {
      targetUtilisation: planner.takeBackUtilisation,
      memoryHeadroomRatio: planner.memoryHeadroomRatio,
      stepsBack: planner.stepsBack,
      slackRatio: planner.slackRatio / worstOfCalm(preparation),
      freeRatio: planner.freeRatio,
      aimRatio: isUrgent ? planner.urgentAimRatio : planner.aimRatio,
      cures: standing.clearlyMissed,
      leastGainRatio: planner.leastGainRatio,
      ranking: "chain",
      maxSteps: 5_000,
    },
  });
}

/** Worst tail of the calm windows over the tail of this one, at least 1: one lucky window shall not set the slack. */
function worstOfCalm({ memory, standing, verdict }: Preparation): number {
  const now = verdict.worstSeverity ?? 0;
  const recent = memory.recentSeverities.slice(-Math.max(1, standing.patience));
  return now > 0 ? Math.max(1, ...recent.map((severity) => severity / now)) : 1;
}

/** Flows whose correction is remembered: those of the last plan, and others as long as there is room. */
const MOST_FLOWS = 200;

/** What steady windows have shown of each flow, with the residual that it is predicted with now. */
function correctionsLearnt({ memory, residuals }: Preparation): Map<string, number> {
  const hashOf = new Map(residuals.map(({ flow, hash }) => [flow, hash]));
  return new Map(
    (memory.flowCorrections ?? []).flatMap(({ flow, correction, modelHash }): [string, number][] =>
      modelHash === hashOf.get(flow) ? [[flow, correction]] : [],
    ),
  );
}

function learntFlows(
  preparation: Preparation,
  plan: ApplicationPlan | undefined,
): Pick<PlannerMemory, "flowCorrections"> {
  if (plan === undefined) {
    const { flowCorrections } = preparation.memory;
    return flowCorrections === undefined ? {} : { flowCorrections };
  }
  const known = correctionsLearnt(preparation);
  const hashOf = new Map(preparation.residuals.map(({ flow, hash }) => [flow, hash]));
  for (const [flow, shown] of plan.shown.flows) {
    const before = known.get(flow);
    known.delete(flow);
    known.set(flow, learntCorrection(before, shown));
  }
  if (known.size === 0) return {};
  const kept = [...known].slice(-MOST_FLOWS);
  return {
    flowCorrections: kept.map(([flow, correction]) => {
      const modelHash = hashOf.get(flow);
      return modelHash === undefined ? { flow, correction } : { flow, correction, modelHash };
    }),
  };
}

interface Outlook {
  readonly ahead: number | undefined;
  /** The service takes part in a flow with enough calls. */
  readonly isTold: boolean;
}

function knownService(
  { context, largestContainer, ready, standing }: Preparation,
  observation: Observation,
  start: StartSize | undefined,
  { ahead, isTold }: Outlook,
): KnownService {
  const { settling, resizing, draining, demand, memory, resizable } = observation;
  const usable = ready.profiles.get(observation.service);
  return {
    baseReplicas: start?.replicas ?? observation.baseReplicas,
    ...(start?.container && { container: start.container }),
    ...(usable && { profile: usable.profile, state: usable.state }),
    ...(ahead !== undefined && { requestsPerSecondAhead: ahead }),
    ...(demand && { demandCores: Math.max(demand.cores, ...(memory?.recentDemandCores ?? [])) }),
    resizable,
    ...(memory?.correction !== undefined && { correction: memory.correction }),
    steady: !settling && !resizing && !draining && ahead === undefined,
    limits: {
      ...limitsOf(context, boundedByNode(observation, largestContainer), usable, isTold),
      ...(ahead === undefined && whatCannotHelp(context, observation)),
      mayMerge: standing.course.calmWindows >= MERGE_PATIENCE * standing.patience,
    },
  };
}

/** Keeps a plan from giving to a service what is known not to be short there, whatever its profile expects of it. */
function whatCannotHelp(
  { settings }: DecisionContext,
  observation: Observation,
): Pick<ServiceLimits, "mostReplicas" | "mostContainerCores"> {
  if (!hasAmpleCpu(observation)) return {};
  const mostContainerCores = observation.runningContainer?.cpuCores;
  return {
    ...(mostContainerCores !== undefined && { mostContainerCores }),
    ...(isIdle(observation, settings) && { mostReplicas: observation.baseReplicas }),
  };
}

function limitsOf(
  { settings }: DecisionContext,
  observation: Observation,
  usable: UsableProfile | undefined,
  isTold: boolean,
): ServiceLimits {
  const { baseReplicas, readyReplicas, runningContainer, demand, spec } = observation;
  const { planner } = settings;
  const cores = runningContainer?.cpuCores ?? 0;
  const running = (readyReplicas ?? baseReplicas) * cores;
  const oneReplica = (readyReplicas ?? 0) >= 2 ? cores : 0;
  const withinPeriod =
    usable?.rung === "planner-prior"
      ? (TAIL_OVER_MEAN_CPU * usable.state.cpuSecondsPerRequest) / CFS_PERIOD_SECONDS
      : 0;
  const isThrottled = (demand?.throttledRatio ?? 0) > planner.throttledRatioLimit;
  return {
    mostReplicas: Math.max(baseReplicas + 1, Math.floor(settings.needGrowthLimit * baseReplicas)),
    mostContainerCores: Math.min(settings.needGrowthLimit * cores, spec.cpu.maxCores),
    ...(running > 0 && { mostCpuCores: settings.needGrowthLimit * running }),
    leastCpuCores: running - Math.max(planner.shrinkShare * running, oneReplica),
    leastContainerCores: withinPeriod,
    ...(usable?.memoryPeakBytes !== undefined && { memoryPeakBytes: usable.memoryPeakBytes }),
    mayTakeBack: isTold && !isThrottled && isFullyMeasured(observation),
  };
}

/** Nothing is missing and nothing is on its way: what was measured belongs to what was wished. */
function isFullyMeasured(observation: Observation): boolean {
  const { demand, queue, readyReplicas, resizing, settling, window } = observation;
  return (
    !settling &&
    !resizing &&
    queue?.complete === true &&
    window?.replicasWanted !== undefined &&
    window.requestsPerSecond !== undefined &&
    window.ownLatency !== undefined &&
    readyReplicas !== undefined &&
    demand !== undefined &&
    demand.podsMeasured >= readyReplicas
  );
}

/** Services that get less CPU or fewer replicas than they had. Less memory slows nothing down. */
function withLess(observations: readonly Observation[], targets: Targets): string[] {
  return observations
    .filter(({ baseReplicas, container, service }) => {
      const target = targets.get(service);
      if (target === undefined) return false;
      const cores = target.cpuCores ?? container?.cpuCores ?? 0;
      return target.replicas < baseReplicas || cores < (container?.cpuCores ?? 0);
    })
    .map(({ service }) => service);
}

/** Services that got more replicas, as growth is remembered: pods that started a moment ago were not there all the time. */
function grownBy({ observations, verdict }: Preparation, targets: Targets): Pick<Course, "grown"> {
  const services = observations
    .filter((one) => (targets.get(one.service)?.replicas ?? 0) > one.baseReplicas)
    .map(({ service }) => service);
  if (services.length === 0) return {};
  return { grown: { severity: verdict.severity ?? 1, services } };
}

interface Made {
  readonly plan: ApplicationPlan | undefined;
  readonly growth: Balancing | undefined;
  readonly raised: boolean;
  readonly mayTakeBack: boolean;
}

function reasonOf(preparation: Preparation, made: Made): string {
  const { context, observations, ready, residuals, standing } = preparation;
  const waiting = standing.clearlyMissed
    ? observations.filter((observation) => isCrowdedOut(preparation, observation)).length
    : 0;
  const crowded =
    waiting === 0
      ? ""
      : `; ${waiting} ${waiting === 1 ? "service waits" : "services wait"} for CPU that others take on the only node`;
  const outcome = outcomeOf(standing, made, context.application.objective.milliseconds / 1e3);
  const growth =
    made.growth === undefined ? "" : `; by queues: ${made.growth.reason.split(": ").at(-1) ?? ""}`;
  const learnt =
    residuals.length === 0
      ? ""
      : `; ${residuals.length} ${residuals.length === 1 ? "flow has" : "flows have"} a learnt tail`;
  return `${standing.words}: ${outcome}${growth}${crowded}; ${ready.reason}${learnt}`;
}

function outcomeOf(
  standing: Standing,
  { plan, raised, mayTakeBack }: Made,
  objectiveSeconds: number,
): string {
  if (plan === undefined) {
    return standing.missed && !standing.clearlyMissed
      ? "a slight miss: waits for a second window"
      : "too few requests to plan with";
  }
  const count = `${plan.steps.length} ${plan.steps.length === 1 ? "step" : "steps"}`;
  const after = `tail predicted at ${percent(plan.tailAfterSeconds / objectiveSeconds)}`;
  const reach = plan.feasible ? after : `out of reach within the bounds, best ${after}`;
  const need = raised ? "gives what CPU demand needs, " : "";
  if (plan.steps[0]?.direction === "up") return `${need}gives ${count}, ${reach}`;
  if (plan.steps[0]?.direction === "down") return `takes back ${count}, ${reach}`;
  if (!plan.feasible) return `${need}nothing more helps: ${reach}`;
  if (raised) return `gives what CPU demand needs, ${after}`;
  if (standing.missed || mayTakeBack) return `keeps all sizes, ${after}`;
  return `calm for ${standing.course.calmWindows} of ${standing.patience} windows, ${after}`;
}
