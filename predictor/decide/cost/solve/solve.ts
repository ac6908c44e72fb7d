import type { Size } from "../../facts/size.ts";
import type { Problem } from "../prepare/prepare.ts";
import type { Sizing } from "../prepare/sizing.ts";
import { ApplicationCost } from "../price/application-cost.ts";
import { atLoad, podCores, SLACK } from "../price/cost-inputs.ts";
import type { ServiceToSize, TotalLimits } from "../price/cost-inputs.ts";
import { OwnTails } from "../price/own-tails.ts";
import { cheapest } from "./cheapest.ts";
import { LARGE } from "./descend-together.ts";
import { meetProvenNeed } from "./proven-need.ts";
import { dropUselessGrowth } from "./useless-growth.ts";
import {
  isCpuShort,
  lacksNodes,
  stillWaiting,
  tradeable,
  waitingIn,
  withCalls,
  withoutWaiting,
} from "./waiting-pods.ts";
import type { WaitingPods } from "./waiting-pods.ts";

/** The cheapest sizes that were found. */
export interface Solution {
  /** Of the pods that can run now; pods that wait for a node are not among them, unless others give up pods for them. */
  readonly cost: ApplicationCost;
  readonly waiting: WaitingPods;
  /** Services that others give up pods for. */
  readonly tradedFor: readonly string[];
  /** The models at the sizes that the decision started from, and at a multiple of the load that it planned for. */
  readonly atBase: (loadRatio?: number) => ApplicationCost;
}

const MOST_STEPS = 2_000;

/**
 * The cheapest sizes. If nodes cannot hold every size worth its price it is searched twice: for the pods that can run now, and as if
 * more nodes existed. The replicas between the two wait for nodes. Where none can come and some wait, pods are traded for them.
 */
export function solve(problem: Problem): Solution {
  const { services } = problem;
  const limits = limitsOf(problem);
  const search = searchOf(problem, problem);
  const { comingCores = 0, nodes } = problem.window.platform;
  const canCome = comingCores > 0;
  const isWaiting = services.some(({ unscheduled = 0 }) => unscheduled > 0);
  const fitting = withinNodes(services, limits);
  const servingAtOnce = isWaiting ? undefined : search.within(fitting, limits, true);
  if (
    servingAtOnce?.isEnough === true &&
    !lacksNodes(servingAtOnce.cost, limits, canCome) &&
    (!canCome || servingAtOnce.cost.isMet())
  )
    return { cost: servingAtOnce.cost, waiting: new Map(), tradedFor: [], atBase: search.atBase(services) };
  const stuck =
    isWaiting && !canCome ? waitingIn(services, search.within(services, onAnyNodes(limits)).cost) : undefined;
  if (stuck !== undefined && isCpuShort(services, stuck, nodes)) return traded(problem, stuck);
  const { cost: whole } = search.within(canCome ? services : fitting, withNodes(limits, comingCores));
  const waiting = stuck ?? waitingIn(services, whole, canCome);
  const serving = fitting.map((service) => withoutWaiting(service, waiting));
  const { cost } = servingAtOnce ?? search.within(serving, limits, canCome);
  const within = canCome && nodes !== undefined ? { ...limits, nodes } : limits;
  return {
    cost,
    waiting: withCalls(waiting, cost, whole, within),
    tradedFor: [],
    atBase: search.atBase(serving),
  };
}

/** Least replicas that today's nodes cannot hold together leave it to the scheduler which of them run: then each pod's worth decides. */
function withinNodes(
  services: readonly ServiceToSize[],
  { cpuCores = Infinity }: TotalLimits,
): readonly ServiceToSize[] {
  const least = services.reduce(
    (sum, { base, floor, pods }) =>
      sum + Math.max(floor.replicas, pods?.taken ?? 0) * podCores(pods, base.cpuCores),
    0,
  );
  if (least <= cpuCores * (1 + SLACK)) return services;
  return services.map((service) => {
    const { base, floor } = service;
    return { ...service, floor: { ...floor, replicas: Math.min(floor.replicas, base.replicas) } };
  });
}

/** The same where nodes with so many cores come for what waits. */
const withNodes = ({ cpuCores, ...limits }: TotalLimits, comingCores: number): TotalLimits => ({
  ...limits,
  ...(cpuCores !== undefined && { cpuCores: cpuCores + comingCores }),
  mayWait: true,
});

/** The same where nodes are as large as they have to be: what pods that wait are worth, whatever is still to stop. */
const onAnyNodes = ({ cpuCores: _cpuCores, nodes: _nodes, ...limits }: TotalLimits): TotalLimits => limits;

/**
 * Pods wait for CPU that no node has: the CPU of all services goes to what lowers the cost most at the current load. For load that may
 * come or that full services may hide every service would ask for more, and none would give up a pod.
 */
function traded(problem: Problem, waiting: WaitingPods): Solution {
  const sizing = problem.atCurrentLoad();
  const search = searchOf(problem, sizing);
  const serving = sizing.services.map((service) => tradeable(service, waiting));
  const { cost } = search.within(serving, { ...limitsOf(problem), isTraded: true });
  return {
    cost,
    waiting: stillWaiting(waiting, cost),
    tradedFor: sizing.services.flatMap(({ name }) => (waiting.has(name) ? [name] : [])),
    atBase: search.atBase(serving),
  };
}

const limitsOf = ({ limits, services }: Problem): TotalLimits =>
  limits.nodes !== undefined && services.length >= LARGE ? { ...limits, mayWait: true } : limits;

interface Search {
  readonly atBase: (services: readonly ServiceToSize[]) => Solution["atBase"];
  /** The cheapest sizes; `isEnough` where nodes have CPU left for all that use proves necessary. */
  readonly within: (
    services: readonly ServiceToSize[],
    limits: TotalLimits,
    isBound?: boolean,
  ) => { readonly cost: ApplicationCost; readonly isEnough: boolean };
}

/** Searches of the same services at the same loads share their self times. */
function searchOf({ routes }: Problem, { options, services: planned }: Sizing): Search {
  const selfTimes = new OwnTails(planned, options.loads);
  const atBase =
    (services: readonly ServiceToSize[]) =>
    (loadRatio = 1): ApplicationCost =>
      loadRatio === 1
        ? new ApplicationCost(services, routes, options, selfTimes)
        : new ApplicationCost(services, routes, atLoad(options, loadRatio));
  return {
    atBase,
    within: (services, limits, isBound) => {
      const make = atBase(services);
      const cost = cheapest(make, services.map(roomySize), limits, MOST_STEPS);
      dropUselessGrowth(cost, make);
      return { cost, isEnough: meetProvenNeed(cost, limits, isBound) };
    },
  };
}

/** The service with headroom for the load to come, within its bounds. */
function roomySize({ base, ceiling, demand, floor }: ServiceToSize): Size {
  const replicas = Math.max(base.replicas, floor.replicas, demand?.roomyReplicas ?? 0);
  return { ...base, replicas: Math.min(ceiling.replicas, replicas) };
}
