import type { ApplicationPlan } from "../../plan/application-plan.ts";
import { balanceQueues } from "../balance/queue-balancing.ts";
import type { Balancing } from "../balance/queue-balancing.ts";
import { isCrowdedOut, isThrottled } from "../observe/bottleneck.ts";
import { isEnlarging } from "../observe/container-size.ts";
import { loadAhead } from "../observe/load-ahead.ts";
import { boundedByNode } from "../observe/node-bounds.ts";
import type { Observation } from "../observe/observation.ts";
import { courseAfterShrinking } from "../regret.ts";
import type { Course } from "../remember.ts";
import type { PlannerMemory } from "../state.ts";
import type { Targets } from "../target.ts";
import { isEnding } from "./commit.ts";
import { learntFlows } from "./flow-corrections.ts";
import { makePlan } from "./plan-request.ts";
import { plannedTargets } from "./planned-target.ts";
import { reasonOf } from "./planning-reason.ts";
import type { Preparation } from "./preparation.ts";
import { coresWithinPeriod } from "./service-limits.ts";
import { startSize, withContainers } from "./start-size.ts";
import type { StartSize } from "./start-size.ts";

export interface Planned extends Balancing {
  readonly planner: PlannerMemory;
}

/**
 * Rungs `planner-prior` and `planner`: one plan for the whole application from the services' latency profiles (Grad's
 * Prepare). It starts from the last wish, raised to what CPU demand needs; gives steps while the objective is missed, and at
 * least as much as queue balancing would to what has no profile, or once plans did not end the miss; takes steps back after
 * as much calm as queue balancing demands; and otherwise changes nothing. It never does two of these at once.
 * @returns undefined when what it comes to does not fit into the budget of pods
 */
export function planWithProfiles(preparation: Preparation): Planned | undefined {
  const { context, observations, standing } = preparation;
  const budget = context.application.budget.pods;
  const ahead = loadToCome(preparation);
  const starts = new Map(observations.map((one) => [one.service, startOf(preparation, ahead, one)]));
  const raised = observations.some(({ service }) => starts.get(service)?.raised === true);
  const mayTakeBack = !raised && standing.surgeRatio === undefined && isProven(preparation);
  const mayRaise = standing.clearlyMissed || !standing.missed || standing.surgeRatio !== undefined;
  const plan = mayRaise ? makePlan(preparation, { ahead, starts, mayTakeBack }) : undefined;
  const growth = growthByQueues(preparation, plan);
  const { largestContainer, ready } = preparation;
  const facts = { ready, standing, settings: context.settings, plan, growth, largestContainer };
  const targets = plannedTargets(observations, starts, facts);
  const pods = [...targets.values()].reduce((sum, { replicas }) => sum + replicas, 0);
  if (budget !== undefined && pods > budget) return undefined;
  const took = plan?.steps.some(({ direction }) => direction === "down") === true;
  const course = took
    ? courseAfterShrinking(context, observations, standing, withLess(observations, targets))
    : { ...standing.course, ...effectOf(growth), ...grownBy(preparation, targets) };
  const planner = {
    ...preparation.memory,
    ...learntFlows(preparation, plan),
    cures: standing.clearlyMissed && plan !== undefined,
  };
  return { planner, reason: reasonOf(preparation, { plan, growth, raised, mayTakeBack }), targets, course };
}

/** It has been calm for long enough, and windows enough have been seen to tell what a request takes. */
function isProven({ context, memory, standing }: Preparation): boolean {
  return (
    standing.calm &&
    standing.course.calmWindows >= standing.patience &&
    memory.recentSeverities.length >= context.settings.planner.windowsBeforeTakingBack
  );
}

/** Requests per second that each service has to be ready for, see {@link loadAhead}. A surge was counted: no trend adds to it. */
function loadToCome({
  context,
  countedRatio,
  observations,
  standing,
}: Preparation): ReadonlyMap<string, number> {
  const { application, settings } = context;
  return loadAhead(observations, {
    mostGrowth: settings.needGrowthLimit,
    rise: standing.surgeRatio === undefined ? standing.rise : 1,
    counted: countedRatio === undefined ? undefined : { service: application.entry, ratio: countedRatio },
  });
}

/**
 * The last wish, raised to what CPU demand needs, that of a surge included. While the objective is missed a throttled
 * container also gets what one request needs within a period, below which no queueing prior knows how slow it is.
 */
function startOf(
  { context, largestContainer, ready, standing }: Preparation,
  ahead: ReadonlyMap<string, number>,
  one: Observation,
): StartSize {
  const { planner, targetUtilisation } = context.settings;
  const usable = ready.profiles.get(one.service);
  const loaded = standing.surgeRatio === undefined ? one : withDemandOf(one, ahead.get(one.service));
  const observation = boundedByNode(loaded, largestContainer);
  const utilisation = usable === undefined ? targetUtilisation : planner.raiseUtilisation;
  const start = startSize(context, observation, usable?.memoryPeakBytes, utilisation);
  return standing.clearlyMissed && isThrottled(one, context.settings)
    ? withContainers(start, coresWithinPeriod(usable), observation)
    : start;
}

function withDemandOf(observation: Observation, requestsPerSecond = 0): Observation {
  const { demand } = observation;
  if (demand?.secondsPerRequest === undefined) return observation;
  const cores = Math.max(demand.cores, requestsPerSecond * demand.secondsPerRequest);
  return { ...observation, demand: { ...demand, cores } };
}

/**
 * What queue balancing gives while the objective is clearly missed and the miss is not ending: to services without a profile,
 * and to all when the plan knows no cure or plans that were carried out did not end the miss; to none whose containers are
 * about to become larger, as to none whose pods start.
 */
function growthByQueues(preparation: Preparation, plan: ApplicationPlan | undefined): Balancing | undefined {
  const { context, memory, observations, ready, standing, verdict } = preparation;
  if (!standing.clearlyMissed || context.application.budget.pods !== undefined) return undefined;
  if (isEnding(memory.recentSeverities)) return undefined;
  const isCured = plan?.feasible === true && memory.missedInSpite === 0;
  const growing = observations.filter(
    (one) =>
      !(isCured && ready.profiles.has(one.service)) &&
      !isCrowdedOut(one, context.settings, preparation) &&
      !isEnlarging(one),
  );
  return growing.length === 0 ? undefined : balanceQueues(context, growing, verdict);
}

/** What growth by queues remembers of its own effect. */
function effectOf(growth: Balancing | undefined): Pick<Course, "growth" | "futile"> {
  if (growth === undefined) return {};
  const { growth: checkpoint, futile } = growth.course;
  return { ...(checkpoint && { growth: checkpoint }), ...(futile && { futile }) };
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
