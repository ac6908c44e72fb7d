import { planApplication } from "../../plan/application-plan.ts";
import type { ApplicationPlan, KnownService } from "../../plan/application-plan.ts";
import { boundedByNode } from "../observe/node-bounds.ts";
import type { Observation } from "../observe/observation.ts";
import { tellingSeverity } from "../observe/verdict.ts";
import type { PlannerMemory } from "../state.ts";
import { correctionsLearnt } from "./flow-corrections.ts";
import type { Preparation } from "./preparation.ts";
import { limitsOf, whatCannotHelp } from "./service-limits.ts";
import type { StartSize } from "./start-size.ts";

/** Tail over objective from which a miss is urgent. */
const URGENT_SEVERITY = 2;

/** Calls of a flow in a window below which nothing is taken back on its word. */
const LEAST_CALLS = 5;

/**
 * Patience over that of a step back before replicas are merged: those that stay grow at once, those that go do so after
 * grace and stabilisation, and until then both are paid for.
 */
const MERGE_PATIENCE = 4;

/** Where a plan begins. */
export interface PlanStart {
  /** Requests per second that services have to be ready for, where that is more than they served. */
  readonly ahead: ReadonlyMap<string, number>;
  /** Sizes it starts from, by service. */
  readonly starts: ReadonlyMap<string, StartSize>;
  readonly mayTakeBack: boolean;
}

/**
 * The plan for a window.
 * @returns undefined with too few requests to plan with
 */
export function makePlan(
  preparation: Preparation,
  { ahead, mayTakeBack, starts }: PlanStart,
): ApplicationPlan | undefined {
  const { allNodes, context, largestContainer } = preparation;
  const { observations, residuals, standing, verdict } = preparation;
  const { application, settings, windowSet } = context;
  const flows = verdict.flows
    .filter(({ flow, telling }) => (mayTakeBack ? flow.latency.count >= LEAST_CALLS : telling))
    .map(({ flow }) => flow);
  if (flows.length === 0) return undefined;
  const told = new Set(flows.flatMap(({ services }) => services));
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
      slackRatio: planner.slackRatio / overLucky(preparation),
      freeRatio: planner.freeRatio,
      aimRatio: isUrgent ? planner.urgentAimRatio : planner.aimRatio,
      cures: standing.clearlyMissed,
      mayGive: standing.clearlyMissed || ahead.size > 0,
      leastGainRatio: planner.leastGainRatio,
      ranking: "chain",
      maxSteps: 5_000,
    },
  });
}

/**
 * Mean tail of as many windows as must be calm over the tail of this one, at least 1: one lucky window shall not set the
 * slack, nor shall one unlucky one keep it.
 */
function overLucky({ memory, standing, verdict }: Preparation): number {
  const now = tellingSeverity(verdict) ?? 0;
  const recent = memory.recentSeverities.slice(-Math.max(1, standing.patience));
  if (!(now > 0) || recent.length === 0) return 1;
  const mean = recent.reduce((sum, severity) => sum + severity, 0) / recent.length;
  return Math.max(1, mean / now);
}

/** Misses among the last windows from which on what seemed not to help is tried. */
const CHRONIC_MISSES = 5;

/** The objective goes on being missed, if not in every window: what is measured does not tell what is short. */
function isChronic({ recentSeverities }: PlannerMemory): boolean {
  return recentSeverities.filter((severity) => severity > 1).length >= CHRONIC_MISSES;
}

interface Told {
  readonly ahead: number | undefined;
  /** The service takes part in a flow with enough calls. */
  readonly isTold: boolean;
}

function knownService(
  { context, largestContainer, memory, ready, standing }: Preparation,
  observation: Observation,
  start: StartSize | undefined,
  { ahead, isTold }: Told,
): KnownService {
  const { settling, resizing, draining, demand, memory: before, resizable } = observation;
  const usable = ready.profiles.get(observation.service);
  return {
    baseReplicas: start?.replicas ?? observation.baseReplicas,
    ...(start?.container && { container: start.container }),
    ...(usable && { profile: usable.profile, state: usable.state }),
    ...(ahead !== undefined && { requestsPerSecondAhead: ahead }),
    ...(demand && { demandCores: Math.max(demand.cores, ...(before?.recentDemandCores ?? [])) }),
    resizable,
    ...(before?.correction !== undefined && { correction: before.correction }),
    steady:
      !settling && !resizing && !draining && ahead === undefined && observation.window?.missing === undefined,
    limits: {
      ...limitsOf(context, boundedByNode(observation, largestContainer), usable, isTold),
      ...(ahead === undefined && !isChronic(memory) && whatCannotHelp(context, observation)),
      mayMerge: standing.course.calmWindows >= MERGE_PATIENCE * standing.patience,
    },
  };
}
