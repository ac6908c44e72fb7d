import type { PolicyName } from "@tradewind/core/contract/plan.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import { serviceIndex } from "../../../models/route/call-graph.ts";
import { failureReasons } from "../../facts/reasons.ts";
import { budgetRules, budgetsNow } from "../learn/error-budget.ts";
import type { CostWindow } from "../learn/cost-window.ts";
import type { LoadOutlook } from "../learn/outlook.ts";
import type { CostMemory } from "../learn/state.ts";
import type { RouteToHold, TotalLimits } from "../price/cost-inputs.ts";
import { loadNow } from "./arrivals.ts";
import { growthAtLimit } from "./growth-at-limit.ts";
import { ownQueues } from "./own-queue.ts";
import { judgeMisses, routesToHold } from "./routes.ts";
import type { HeldUp, UnexplainedMiss } from "./routes.ts";
import { lacksModel, servicesNow } from "./service-now.ts";
import type { ServiceNow } from "./service-now.ts";
import { isTight } from "./reserve.ts";
import { sizingAt } from "./sizing.ts";
import type { Sizing } from "./sizing.ts";

/** `planner` where the latency network takes part in half or more of the time that requests spend. */
export type CostLevel = Extract<PolicyName, "planner" | "planner-prior">;

/** Which sizes of the services on users' routes cost least. */
export interface Problem extends Sizing {
  readonly window: CostWindow;
  /** With the misses of the window counted. */
  readonly memory: CostMemory;
  readonly level: CostLevel;
  readonly reasons: readonly Reason[];
  readonly outlook: LoadOutlook;
  /** Services with a workload, by the same numbers as {@link Sizing.services}. */
  readonly measured: readonly ServiceNow[];
  /** Services of which nothing is taken. */
  readonly keptServices: ReadonlySet<string>;
  /** Services that wait for something else than their CPU in a clear miss. */
  readonly heldUp: ReadonlyMap<string, HeldUp>;
  readonly unexplained: readonly UnexplainedMiss[];
  /** CPU of all containers that measured misses ask for, cores by service. */
  readonly grownCores: ReadonlyMap<string, number>;
  /** What was found of queues that no CPU ends, by service. */
  readonly queueReasons: ReadonlyMap<string, readonly Reason[]>;
  readonly routes: readonly RouteToHold[];
  readonly limits: TotalLimits;
  /** The same at the current load: without load that may come or that full services may hide. */
  readonly atCurrentLoad: () => Sizing;
}

/** Services that serve and have no calibrated model yet: then another level decides. */
export interface ModelsMissing {
  readonly withoutModel: readonly ServiceNow[];
}

/** @param memory after the window */
export function prepare(memory: CostMemory, window: CostWindow): Problem | ModelsMissing {
  const load = loadNow(window, memory);
  const services = servicesNow(window, memory, load);
  const withoutModel = services.measured.filter(lacksModel);
  if (withoutModel.length > 0) return { withoutModel };
  const misses = judgeMisses(window, memory, services, load);
  const growth = growthAtLimit(window, memory, misses.unexplained);
  const budgets = budgetsNow(memory.budgets, growth.doubted, budgetRules(window));
  const queues = ownQueues(window, growth.memory, misses.heldUp, load);
  const counted = { ...growth.memory, budgets, services: queues.services };
  const unsure = services.measured.filter(isUnsure(window, misses.keptServices));
  const keptServices = new Set(unsure.map(({ fixed }) => fixed.name));
  const rules = {
    keptServices,
    heldUp: misses.heldUp,
    grownCores: growth.grownCores,
    queueReplicas: queues.replicas,
    lostPerSecond: load.lostPerSecond,
    isTight: isTight(
      services.measured.map(({ fixed }) => fixed),
      window.platform,
      window.settings.cost.mostGrowth,
    ),
    isFull:
      window.missing === undefined &&
      services.measured.some(({ fixed: { unscheduled = 0 } }) => unscheduled > 0),
  };
  const sizing = (outlook: LoadOutlook): Sizing =>
    sizingAt(outlook, services, rules, window, memory.startSeconds);
  const planned = sizing(load.outlook);
  const index = serviceIndex(planned.services.map(({ name }) => name));
  return {
    ...planned,
    window,
    memory: counted,
    level: levelOf(services.measured),
    reasons: [...failureReasons(window.verdict), ...growth.reasons],
    outlook: load.outlook,
    measured: services.measured,
    keptServices,
    heldUp: misses.heldUp,
    unexplained: misses.unexplained,
    grownCores: growth.grownCores,
    queueReasons: queues.reasons,
    routes: routesToHold(window.routes, window, counted, index),
    limits: limitsOf(window, load.onRoute),
    atCurrentLoad: () => sizing({ ...load.outlook, ratio: 1, levelRatio: 1 }),
  };
}

/** Nothing is taken from a service of whose load or replicas a part is not known, nor where a miss is not explained. */
const isUnsure =
  ({ missing }: CostWindow, keptServices: ReadonlySet<string>) =>
  ({ observation: { service, window } }: ServiceNow): boolean =>
    missing !== undefined ||
    window?.replicasReady === undefined ||
    window.requestsPerSecond === undefined ||
    keptServices.has(service);

function levelOf(measured: readonly ServiceNow[]): CostLevel {
  let [total, ofNetwork] = [0, 0];
  for (const { hasNetwork, observation } of measured) {
    const { ownLatency, requestsPerSecond = 0 } = observation.window ?? {};
    const seconds = requestsPerSecond * (ownLatency?.meanSeconds ?? 0);
    total += seconds;
    if (hasNetwork) ofNetwork += seconds;
  }
  return total > 0 && ofNetwork >= total / 2 ? "planner" : "planner-prior";
}

function limitsOf(
  { application, observations, platform }: CostWindow,
  onRoute: ReadonlySet<string>,
): TotalLimits {
  const { allNodes, nodes } = platform;
  const { pods } = application.budget;
  // Services off every route take their pods of the budget first: no model says what they could do without.
  const otherPods = observations.reduce(
    (sum, { baseReplicas, service }) => sum + (onRoute.has(service) ? 0 : baseReplicas),
    0,
  );
  // Where no container can grow nothing competes with pods: those that wait are placed as CPU becomes free.
  const isByNode = observations.some(({ resizable }) => resizable.cpu);
  return {
    ...(pods !== undefined && { pods: Math.max(0, pods - otherPods) }),
    ...(allNodes && { cpuCores: allNodes.cpuCores }),
    ...(nodes && isByNode && { nodes }),
  };
}
