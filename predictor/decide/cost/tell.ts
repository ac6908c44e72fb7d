import { periodSeconds } from "@tradewind/core/contract/error-budget.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import type { WishStep } from "@tradewind/core/contract/plan.ts";
import { MAX_WISH_STEPS } from "@tradewind/core/contract/plan.ts";
import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Prices } from "@tradewind/core/contract/prices.ts";
import { isCarriedOut, statedSize } from "../facts/container-size.ts";
import type { StatedSize } from "../facts/container-size.ts";
import { throttledShare } from "../facts/demand.ts";
import { memoryNeed } from "../facts/memory-peaks.ts";
import { isSaturated } from "../facts/need.ts";
import type { Observation } from "../facts/observation.ts";
import { cpuReason, namedServices, replicasReason } from "../facts/reasons.ts";
import type { PolicySettings } from "../facts/settings.ts";
import { bounded } from "../facts/target.ts";
import type { PlannedTarget, Target, Targets } from "../facts/target.ts";
import { budgetOf, budgetsPlanned, shareOf } from "./learn/error-budget.ts";
import type { BudgetMemory } from "./learn/error-budget.ts";
import { withRises } from "./learn/starts.ts";
import type { CostMemory, ServiceModelMemory } from "./learn/state.ts";
import type { HeldUp } from "./prepare/routes.ts";
import type { CostLevel, Problem } from "./prepare/prepare.ts";
import type { ServiceNow } from "./prepare/service-now.ts";
import type { ApplicationCost } from "./price/application-cost.ts";
import { cheapestCores } from "./price/cheapest-cores.ts";
import type { CoresBounds } from "./price/cheapest-cores.ts";
import { Sensitivities } from "./price/sensitivities.ts";
import { WhatIf } from "./price/what-if.ts";
import type { Solution } from "./solve/solve.ts";
import { isGrown, weighed, whyMissStays } from "./weigh.ts";

/** What the decision by cost comes to. */
export interface CostDecision {
  readonly level: CostLevel;
  readonly targets: Targets;
  readonly reasons: readonly Reason[];
  /** With the replicas noted that are to start. */
  readonly memory: CostMemory;
  /** What one more unit of each service is worth. */
  readonly sensitivities: Sensitivities;
  /** The models at the sizes that the decision started from. */
  readonly whatIf: WhatIf;
}

/** A target for each service, and why. */
export function tell(problem: Problem, solution: Solution): CostDecision {
  const { level, memory, window } = problem;
  const { cost } = solution;
  const stays = whyMissStays(problem, cost);
  const targets = targetsOf(problem, solution, stays);
  const started: Targets = isCarriedOut(window.application) ? targets : new Map();
  const services = withRises(memory.services, window.observations, started, window.endMs);
  const reasons = [...problem.reasons, ...stays, expectation(problem, cost), ...budgetReasons(problem)];
  cost.forgetOtherSizes();
  return {
    level,
    targets,
    reasons,
    memory: {
      ...memory,
      budgets: budgetsPlanned(memory.budgets, (objective) => expectedOver(problem, cost, objective)),
      services,
    },
    sensitivities: new Sensitivities(cost, window.application.prices),
    whatIf: new WhatIf(solution.atBase),
  };
}

/** What the decision as a whole expects. */
function expectation({ outlook }: Problem, cost: ApplicationCost): Reason {
  const { forecast, ratio, sigma } = outlook;
  const overRatio = cost.expectedOver();
  return { code: "expected-misses", overRatio, loadRatio: ratio, loadErrorRatio: sigma, forecast };
}

/** Expected share over the objective of the requests that are held to it. */
function expectedOver(
  { routes }: Problem,
  cost: ApplicationCost,
  objective: BudgetMemory["objective"],
): number {
  let [requests, missed] = [0, 0];
  for (const [number, { budget, objectiveSeconds, share }] of routes.entries()) {
    if (objectiveSeconds !== objective.seconds || budget !== 1 - objective.percentile) continue;
    requests += share;
    missed += share * cost.overOf(number);
  }
  return requests > 0 ? missed / requests : 0;
}

/** What is left of the error budget of the objective that stands worst, and what it makes of misses. */
function budgetReasons({ memory, options, routes, window }: Problem): Reason[] {
  const { objective } = window.verdict;
  const budget = budgetOf(memory.budgets, objective);
  if (budget === undefined) return [];
  const { period, use } = window.application.errorBudget;
  const allowedRatio = 1 - objective.percentile;
  const percents = routes
    .filter((route) => route.objectiveSeconds === objective.tailSeconds && route.budget === allowedRatio)
    .reduce((sum, { share, weight }) => sum + (0.01 * share * weight) / allowedRatio, 0);
  return [
    {
      code: "error-budget",
      spentRatio: shareOf(budget.period),
      recentRatio: shareOf(budget.recent),
      allowedRatio,
      useRatio: use,
      periodSeconds: periodSeconds({ period }),
      percentPerHour: percents * options.missPerHour,
    },
  ];
}

function targetsOf(problem: Problem, solution: Solution, stays: readonly Reason[]): Targets {
  const { measured, window } = problem;
  const steps = stepsOf(solution.cost, window.application.prices);
  const cores = cheapestCores(solution.cost, coresBounds(problem, solution.cost));
  const planned = new Map(
    measured.map(({ fixed: { name } }, number): [string, Target] => {
      const changes = { steps: steps.get(name) ?? [], cheapestCores: cores.get(number), stays };
      return [name, plannedTarget(number, changes, problem, solution)];
    }),
  );
  return new Map(
    window.observations.map((observation): [string, Target] => [
      observation.service,
      planned.get(observation.service) ?? offRouteTarget(observation, window.settings),
    ]),
  );
}

/** Off every user's route: as many replicas as its own CPU demand takes, once all of it is known and nothing is on its way. */
function offRouteTarget(observation: Observation, settings: PolicySettings): Target {
  const { baseReplicas, draining, need = 0, settling, shrinkNeed = baseReplicas, window } = observation;
  const isKnown = window?.missing === undefined && window?.requestsPerSecond !== undefined;
  const enough = isKnown && !settling && !draining ? Math.min(baseReplicas, shrinkNeed) : baseReplicas;
  const replicas = bounded(observation, Math.max(need, enough));
  const reasons: Reason[] = [cpuReason(observation, settings), replicasReason(observation, replicas)];
  return { replicas, policy: "reactive", reasons: [{ code: "no-user-request" }, ...reasons] };
}

/** CPU of a container that may be advised where nothing moves it: what the load takes and, of a service to keep, no less than it has. */
function coresBounds(
  { keptServices, measured, services, window }: Problem,
  cost: ApplicationCost,
): ReadonlyMap<number, CoresBounds> {
  const largestCores = window.platform.largestContainer?.cpuCores ?? Number.POSITIVE_INFINITY;
  return new Map(
    measured.flatMap(({ fixed, observation: { resizable, spec } }, number): [number, CoresBounds][] => {
      if (resizable.cpu || fixed.own === undefined) return [];
      const { cpuCores, replicas } = cost.sizeOf(number);
      const most = Math.min(spec.cpu.maxCores, largestCores);
      const demandCores = services[number]?.demand?.cores ?? 0;
      const needed = demandCores / window.settings.cost.mostUtilisation / Math.max(1, replicas);
      const least = Math.max(spec.cpu.minCores, needed, keptServices.has(fixed.name) ? cpuCores : 0);
      return [[number, { least: Math.min(most, least), most }]];
    }),
  );
}

/** @param number of the service */
function plannedTarget(
  number: number,
  changes: Pick<PlannedTarget, "steps"> & {
    readonly cheapestCores: number | undefined;
    /** Why a miss is not ended. */
    readonly stays: readonly Reason[];
  },
  { grownCores, heldUp, level, measured, queueReasons, window }: Problem,
  { cost, tradedFor, waiting }: Solution,
): Target {
  const { fixed, model, observation } = measured[number] as ServiceNow;
  const { memoryRatio } = window.settings.cost;
  const { cpuCores, replicas: serving } = cost.sizeOf(number);
  const waitingReplicas = waiting.get(fixed.name)?.waiting ?? 0;
  const replicas = bounded(observation, serving + waitingReplicas);
  const memoryBytes = memoryOf(observation, memoryRatio, window.missing !== undefined);
  const statedSizes = statedSize(observation, { cpuCores, memoryBytes });
  const isProven = isProvenGrowth(observation, cpuCores);
  const latencyAfterSeconds = cost.slowestTailThrough(number);
  return {
    replicas,
    ...statedSizes,
    policy: level,
    reasons: [
      ...placementReasons(observation, replicas, waitingReplicas, tradedFor),
      ...(isGrown(cost, number) ? [] : changes.stays),
      ...whyOf(heldUp.get(fixed.name), grownCores.has(fixed.name), observation),
      ...(queueReasons.get(fixed.name) ?? []),
      replicasReason(observation, replicas),
      ...sizeReasons(observation, statedSizes, memoryRatio),
      ...weighed(number, cost, window.application.prices, window.verdict.objective.percentile),
    ],
    planned: {
      steps: changes.steps,
      confidence: isProven ? 1 : 1 / (1 + cost.ownSigmaOf(number) ** 2),
      modelHash: modelHash(model),
      ...(latencyAfterSeconds !== undefined && { latencyAfterSeconds }),
      ...(changes.cheapestCores !== undefined && { cheapestCores: changes.cheapestCores }),
    },
  };
}

function whyOf(heldUp: HeldUp | undefined, isAtLimit: boolean, { window }: Observation): Reason[] {
  if (isAtLimit) return [{ code: "at-cpu-limit", throttledRatio: throttledShare(window) }];
  return heldUp === undefined ? [] : [{ code: "held-up", ...heldUp }];
}

/** Which of its pods wait for a node, and for which services it gives up its own. */
function placementReasons(
  { baseReplicas, readyReplicas = 0, service, unscheduled }: Observation,
  replicas: number,
  waitingReplicas: number,
  tradedFor: readonly string[],
): Reason[] {
  const unscheduledPods = tradedFor.includes(service) ? unscheduled : waitingReplicas;
  if (unscheduledPods > 0) return [{ code: "pods-unscheduled", unscheduledPods }];
  if (tradedFor.length === 0 || replicas >= Math.max(baseReplicas, readyReplicas)) return [];
  return [{ code: "room-traded", ...namedServices(tradedFor.map((name) => ({ service: name }))) }];
}

/** Memory follows from use. */
function sizeReasons(
  { container }: Observation,
  { cpuCores, memoryBytes }: StatedSize,
  peakRatio: number,
): Reason[] {
  if (container === undefined) return [];
  const { cpuCores: fromCores, memoryBytes: fromBytes } = container;
  const reasons: Reason[] = [];
  if (cpuCores !== undefined && cpuCores !== fromCores)
    reasons.push({ code: "cpu-cores", fromCores, toCores: cpuCores });
  if (memoryBytes !== undefined && memoryBytes !== fromBytes)
    reasons.push({ code: "memory-peak", fromBytes, toBytes: memoryBytes, peakRatio });
  return reasons;
}

/** Full containers are made larger: their use proves that, however unsure the models are of the time under overload. */
const isProvenGrowth = ({ demand, runningContainer }: Observation, cpuCores: number): boolean =>
  demand !== undefined &&
  runningContainer !== undefined &&
  isSaturated(demand) &&
  cpuCores > runningContainer.cpuCores;

/** Names what a profile has learnt by when and what: its text as a whole takes five times as long to hash. */
const modelHash = (model: ServiceModelMemory | undefined): string =>
  contentHash(
    model === undefined
      ? null
      : [
          model.profile.atMs ?? null,
          model.profile.windows,
          model.profile.means,
          model.network?.state,
          model.level?.points,
        ],
  );

/** Memory of a container, bytes: what it needs by its peaks, and no less than it has while traffic is missing. */
function memoryOf(
  { container, memoryPeaks, resizable, spec }: Observation,
  memoryRatio: number,
  isTrafficMissing: boolean,
): number {
  const bytes = container?.memoryBytes ?? 0;
  const needed = memoryNeed(memoryPeaks, bytes, memoryRatio);
  if (needed === undefined || !resizable.memory || bytes === 0) return bytes;
  return Math.max(spec.memory.minBytes, needed, isTrafficMissing ? bytes : 0);
}

/** The change of each resource of a service by itself: what it buys and costs while all others are as decided. */
function stepsOf(cost: ApplicationCost, prices: Prices): ReadonlyMap<string, WishStep[]> {
  const tailAfterSeconds = cost.worstTailSeconds();
  const tails = Array.from({ length: cost.routeCount }, (_, route) => cost.comparableTail(route));
  const stepsByService = new Map<string, WishStep[]>();
  let order = 0;
  for (const [number, { base, name }] of cost.services.entries()) {
    const size = cost.sizeOf(number);
    const resources = (["replicas", "cpuCores"] as const).filter(
      (resource) => base[resource] !== size[resource],
    );
    const steps = resources.map((resource): WishStep => {
      const without = { ...size, [resource]: base[resource] };
      const isMore = size[resource] > base[resource];
      order += 1;
      return {
        order,
        resource: resource === "cpuCores" ? "cpu" : resource,
        direction: isMore ? "up" : "down",
        from: base[resource],
        to: size[resource],
        why: isMore ? "expected misses cost more than it does" : "expected misses cost less than it saves",
        tailBeforeSeconds: cost.worstTailIf(number, without, tails),
        tailAfterSeconds,
        costPerHour: costPerHour(size, prices) - costPerHour(without, prices),
      };
    });
    if (steps.length > 0) stepsByService.set(name, steps.slice(0, MAX_WISH_STEPS));
  }
  return stepsByService;
}
