import type { Reason } from "@tradewind/core/contract/reason.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import type { WishStep } from "@tradewind/core/contract/plan.ts";
import { MAX_WISH_STEPS } from "@tradewind/core/contract/plan.ts";
import type { ProfileState } from "../../models/queue/tracked-profile.ts";
import type { ContainerSize, Size } from "../facts/size.ts";
import { costPerHour } from "@tradewind/core/contract/prices.ts";
import { throttledShare } from "../facts/demand.ts";
import { statedSize } from "../facts/container-size.ts";
import { memoryNeed } from "../facts/memory-peaks.ts";
import { isSaturated } from "../facts/need.ts";
import type { Observation } from "../facts/observation.ts";
import { cpuReason, namedServices, replicasReason } from "../facts/reasons.ts";
import { bounded } from "../facts/target.ts";
import type { Target, Targets } from "../facts/target.ts";
import type { ApplicationCost } from "./price/application-cost.ts";
import { cheapestCores } from "./price/cheapest-cores.ts";
import type { CoresBounds } from "./price/cheapest-cores.ts";
import type { CostRequest, Known } from "./inputs/request.ts";
import { advisedBounds } from "./inputs/services.ts";
import type { Unscheduled } from "./search/unscheduled.ts";

/** The cheapest sizes that were found. */
export interface Found {
  /** Of what serves: replicas that wait for room on a node are not in it, but where they are to have that of others. */
  readonly cost: ApplicationCost;
  readonly unscheduled: Unscheduled;
  /** Services that others give up pods for. */
  readonly roomFor?: readonly Observation[];
}

/** What a decision comes to for each service. */
export function targetsOf(
  request: CostRequest,
  known: Known,
  { cost, roomFor = [], unscheduled }: Found,
): Targets {
  const changes = changesOf(cost, request);
  const numberOf = new Map(cost.services.map(({ name }, at) => [name, at]));
  const cores = coresToAdvise(request, known, cost, numberOf);
  return new Map(
    request.observations.map((one): [string, Target] => {
      const at = numberOf.get(one.service);
      const target =
        at === undefined
          ? offRouteTarget(one, request)
          : plannedTarget(one, request, known, {
              cost,
              at,
              steps: changes.get(one.service) ?? [],
              cheapestCores: cores.get(at),
              waiting: unscheduled.get(one.service)?.waiting ?? 0,
              roomFor,
            });
      return [one.service, target];
    }),
  );
}

/** Off every user's route: as many replicas as its own CPU demand takes, once all of it is known and nothing is on its way. */
function offRouteTarget(one: Observation, { context }: CostRequest): Target {
  const { baseReplicas, draining, need = 0, settling, shrinkNeed = baseReplicas, window } = one;
  const isKnown = window?.missing === undefined && window?.requestsPerSecond !== undefined;
  const enough = isKnown && !settling && !draining ? Math.min(baseReplicas, shrinkNeed) : baseReplicas;
  const replicas = bounded(one, Math.max(need, enough));
  return {
    replicas,
    policy: "reactive",
    reasons: [{ code: "no-user-request" }, cpuReason(one, context.settings), replicasReason(one, replicas)],
  };
}

interface Planned {
  readonly cost: ApplicationCost;
  readonly at: number;
  readonly steps: readonly WishStep[];
  readonly cheapestCores: number | undefined;
  /** Replicas that stay asked for though no node has room for them. */
  readonly waiting: number;
  /** Services that others give up pods for. */
  readonly roomFor: readonly Observation[];
}

/** By number of the service, where a model knows it and nothing can move its CPU. */
function coresToAdvise(
  request: CostRequest,
  known: Known,
  cost: ApplicationCost,
  numberOf: ReadonlyMap<string, number>,
): ReadonlyMap<number, number> {
  const bounds = new Map(
    request.observations.flatMap((one): [number, CoresBounds][] => {
      const at = numberOf.get(one.service);
      if (at === undefined || one.resizable.cpu || cost.services[at]?.own === undefined) return [];
      return [[at, advisedBounds(one, cost.sizeOf(at), request, known)]];
    }),
  );
  return cheapestCores(cost, bounds);
}

function plannedTarget(
  one: Observation,
  request: CostRequest,
  known: Known,
  { at, cheapestCores: cheapest, cost, roomFor, steps, waiting }: Planned,
): Target {
  const { replicas: planned, cpuCores } = cost.sizeOf(at);
  const replicas = bounded(one, planned + waiting);
  const stated = statedSize(one, { cpuCores, memoryBytes: memoryOf(one, request) });
  const profile = known.models.get(one.service)?.profile;
  const tail = cost.slowestTailThrough(at);
  return {
    replicas,
    ...stated,
    policy: known.level,
    reasons: [
      ...roomReasons(one, replicas, waiting, roomFor),
      ...reasonsOf(one, replicas, stated, {
        ...request.settings,
        isGrown: known.grownCores.has(one.service),
      }),
    ],
    planned: {
      steps,
      confidence: isProvenGrowth(one, cpuCores) ? 1 : 1 / (1 + cost.ownSigmaOf(at) ** 2),
      modelHash: modelHash(profile, known.residuals.get(one.service)?.hash),
      ...(tail !== undefined && { latencyAfterSeconds: tail }),
      ...(cheapest !== undefined && { cheapestCores: cheapest }),
    },
  };
}

/** Which of its pods wait for room, and whom it gives its own. */
function roomReasons(
  one: Observation,
  replicas: number,
  waiting: number,
  roomFor: readonly Observation[],
): Reason[] {
  const unscheduledPods = roomFor.includes(one) ? one.unscheduled : waiting;
  if (unscheduledPods > 0) return [{ code: "pods-unscheduled", unscheduledPods }];
  const isGivingUp = roomFor.length > 0 && replicas < Math.max(one.baseReplicas, one.readyReplicas ?? 0);
  return isGivingUp ? [{ code: "room-traded", ...namedServices(roomFor) }] : [];
}

/** Containers that are full are made larger: their use proves that, however unsure the models are of the time under overload. */
const isProvenGrowth = ({ demand, runningContainer }: Observation, cpuCores: number): boolean =>
  demand !== undefined &&
  runningContainer !== undefined &&
  isSaturated(demand) &&
  cpuCores > runningContainer.cpuCores;

/** Names what a profile has learnt by when and what: its text as a whole takes five times as long to hash. */
const modelHash = (profile: ProfileState | undefined, residual = ""): string =>
  contentHash(
    profile === undefined ? null : [profile.atMs ?? null, profile.windows, profile.means, residual],
  );

/** Replicas and CPU are of what costs least, memory follows from use. */
function reasonsOf(
  one: Observation,
  replicas: number,
  { cpuCores, memoryBytes }: Partial<ContainerSize>,
  { isGrown, memoryRatio }: { readonly memoryRatio: number; readonly isGrown: boolean },
): Reason[] {
  const { container } = one;
  const why: Reason = isGrown
    ? { code: "at-cpu-limit", throttledRatio: throttledShare(one.window) }
    : { code: "cheapest" };
  const reasons: Reason[] = [why, replicasReason(one, replicas)];
  if (cpuCores !== undefined && container !== undefined && cpuCores !== container.cpuCores)
    reasons.push({ code: "cpu-cores", fromCores: container.cpuCores, toCores: cpuCores });
  if (memoryBytes !== undefined && container !== undefined && memoryBytes !== container.memoryBytes) {
    const fromBytes = container.memoryBytes;
    reasons.push({ code: "memory-peak", fromBytes, toBytes: memoryBytes, peakRatio: memoryRatio });
  }
  return reasons;
}

/** The last change of each service by itself: what it buys and costs while all others are as decided. */
function changesOf(cost: ApplicationCost, { context }: CostRequest): ReadonlyMap<string, WishStep[]> {
  const { prices } = context.application;
  const after = cost.worstTailSeconds();
  const tails = Array.from({ length: cost.routeCount }, (_, route) => cost.tailOf(route));
  const steps = new Map<string, WishStep[]>();
  let order = 0;
  for (const [at, { base, name }] of cost.services.entries()) {
    const size = cost.sizeOf(at);
    const made = (["replicas", "cpu"] as const).flatMap((resource) => {
      const [from, to] =
        resource === "replicas" ? [base.replicas, size.replicas] : [base.cpuCores, size.cpuCores];
      if (from === to) return [];
      const without: Size =
        resource === "replicas" ? { ...size, replicas: from } : { ...size, cpuCores: from };
      order += 1;
      const step: WishStep = {
        order,
        resource,
        direction: to > from ? "up" : "down",
        from,
        to,
        why: to > from ? "expected misses cost more than it does" : "expected misses cost less than it saves",
        tailBeforeSeconds: cost.worstTailIf(at, without, tails),
        tailAfterSeconds: after,
        costPerHour: costPerHour(size, prices) - costPerHour(without, prices),
      };
      return [step];
    });
    if (made.length > 0) steps.set(name, made.slice(0, MAX_WISH_STEPS));
  }
  return steps;
}

/** Memory of a container: what it needs by its peaks, and only more while traffic is missing. */
function memoryOf(
  { container, memoryPeaks, resizable, spec }: Observation,
  { context, settings }: CostRequest,
): number {
  const now = container?.memoryBytes ?? 0;
  const needed = memoryNeed(memoryPeaks, now, settings.memoryRatio);
  if (needed === undefined || !resizable.memory || now === 0) return now;
  const bytes = Math.max(spec.memory.minBytes, needed);
  return context.missing === undefined ? bytes : Math.max(now, bytes);
}

/** What the decision as a whole expects. */
export function expectation(cost: ApplicationCost, { outlook }: Known): Reason {
  const { forecast, ratio, sigma } = outlook;
  const overRatio = cost.expectedOver();
  return { code: "expected-misses", overRatio, loadRatio: ratio, loadErrorRatio: sigma, forecast };
}
