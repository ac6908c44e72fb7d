import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { Observation } from "../../facts/observation.ts";
import { bounded } from "../../facts/target.ts";
import { SURGE_RATIO } from "../../queue/load-change.ts";
import type { CostWindow } from "../learn/cost-window.ts";
import { AGAIN_MS } from "../learn/outlook.ts";
import type { CostMemory, OwnQueue, ServiceModelMemory } from "../learn/state.ts";
import type { LoadNow } from "./arrivals.ts";
import { isUnsettled } from "./routes.ts";
import type { HeldUp } from "./routes.ts";

/** Replicas that services get for what they wait for, whatever their CPU says. */
export interface OwnQueues {
  /** Least replicas by service. */
  readonly replicas: ReadonlyMap<string, number>;
  /** Why, by service. */
  readonly reasons: ReadonlyMap<string, readonly Reason[]>;
  readonly services: ServiceModelMemory[];
}

type Load = Pick<LoadNow, "outlook" | "perSecond">;

/**
 * Whether more replicas help a service that waits for something else than its CPU no telemetry tells: a lock or a pool of each process is
 * twice as wide with twice the replicas, a slow database is not. So it is tried: as many replicas as the load would take if each had a
 * queue of its own. Where they answer more, or the wait is over, what one of them answered while it queued is the most that a replica is
 * planned to answer for {@link AGAIN_MS}; where they do not, none is tried for so long.
 * @param heldUp services that wait for something else than their CPU in a clear miss
 */
export function ownQueues(
  window: CostWindow,
  memory: Pick<CostMemory, "services">,
  heldUp: ReadonlyMap<string, HeldUp>,
  load: Load,
): OwnQueues {
  const observed = new Map(window.observations.map((each) => [each.service, each]));
  const replicas = new Map<string, number>();
  const reasons = new Map<string, readonly Reason[]>();
  const services = memory.services.map((model): ServiceModelMemory => {
    const { ownQueue: before, ...rest }: ServiceModelMemory = model;
    const observation = observed.get(model.service);
    if (observation === undefined || (before === undefined && !heldUp.has(model.service))) return model;
    const isHeldUp = heldUp.has(model.service);
    const ownQueue = queueAfter(before, observation, { isHeldUp, load }, window);
    if (ownQueue === undefined) return rest;
    const least = leastReplicas(ownQueue, observation, load, window);
    if (least !== undefined) replicas.set(model.service, least);
    if (isHeldUp || least !== undefined) reasons.set(model.service, reasonsOf(ownQueue, least));
    return { ...rest, ownQueue };
  });
  return { replicas, reasons, services };
}

function queueAfter(
  queueBefore: OwnQueue | undefined,
  observation: Observation,
  { isHeldUp, load }: { readonly isHeldUp: boolean; readonly load: Load },
  window: CostWindow,
): OwnQueue | undefined {
  const { readyReplicas = 0, window: { requestsPerSecond: answeredPerSecond } = {} } = observation;
  if (answeredPerSecond === undefined || readyReplicas === 0) return queueBefore;
  const seen = { observation, isHeldUp, readyReplicas, answeredPerSecond };
  if (queueBefore === undefined || queueBefore.found === "wait")
    return trialBegun(queueBefore?.windows ?? 0, seen, load, window);
  if (queueBefore.found === "trial") return trialAfter(queueBefore, seen, window);
  if (window.endMs - queueBefore.atMs > AGAIN_MS) return undefined;
  return queueBefore.found === "own" && isHeldUp ? ownAfter(queueBefore, seen, window) : queueBefore;
}

/** What a window shows of the service. */
interface ServiceFacts {
  readonly observation: Observation;
  readonly isHeldUp: boolean;
  readonly readyReplicas: number;
  readonly answeredPerSecond: number;
}

type QueueOf<Kind extends OwnQueue["found"]> = Extract<OwnQueue, { found: Kind }>;

/** A trial begins in the second window in a row, or at once where more requests come than are answered. */
function trialBegun(
  windowsBefore: number,
  { answeredPerSecond, isHeldUp, observation, readyReplicas }: ServiceFacts,
  load: Load,
  window: CostWindow,
): OwnQueue | undefined {
  if (!isHeldUp) return undefined;
  const windows = windowsBefore + 1;
  const wait: OwnQueue = { found: "wait", windows };
  const isSure = windows >= window.settings.settleWindows || (window.arrivalRatio ?? 1) >= SURGE_RATIO;
  if (!isSure || answeredPerSecond === 0) return wait;
  const forLoad = replicasAt(answeredPerSecond / readyReplicas, observation, load, window);
  const asked = Math.min(2 * readyReplicas + 1, Math.max(readyReplicas + 1, forLoad));
  const replicas = bounded(observation, asked);
  if (replicas <= Math.max(readyReplicas, observation.baseReplicas)) return wait;
  const sinceMs = window.endMs;
  return { found: "trial", sinceMs, fromReplicas: readyReplicas, replicas, answeredPerSecond, windows: 0 };
}

/** Undefined where nothing can be said of it: the load has gone, or the replicas have not come. */
function trialAfter(
  trial: QueueOf<"trial">,
  { answeredPerSecond, isHeldUp, observation, readyReplicas }: ServiceFacts,
  { endMs, settings }: CostWindow,
): OwnQueue | undefined {
  const { fromReplicas, replicas, sinceMs } = trial;
  if (readyReplicas < replicas) {
    if (endMs - sinceMs > 1e3 * settings.cost.standSeconds) return undefined;
    const isBefore = readyReplicas === fromReplicas && answeredPerSecond > trial.answeredPerSecond;
    return isBefore ? { ...trial, answeredPerSecond } : trial;
  }
  if (SURGE_RATIO * answeredPerSecond < trial.answeredPerSecond) return undefined;
  const isSettled = !isUnsettled(observation);
  const isMoreAnswered = answeredPerSecond >= SURGE_RATIO * trial.answeredPerSecond;
  if (isMoreAnswered || (isSettled && !isHeldUp))
    return { found: "own", atMs: endMs, perReplica: trial.answeredPerSecond / fromReplicas };
  const windows = trial.windows + (isSettled ? 1 : 0);
  return windows < 2 * settings.settleWindows ? { ...trial, windows } : { found: "none", atMs: endMs };
}

/** It waits although each replica answers less than it can: for something that is not its own. */
function ownAfter(
  own: QueueOf<"own">,
  { answeredPerSecond, readyReplicas }: ServiceFacts,
  { endMs, settings }: CostWindow,
): OwnQueue {
  const isRoomy = answeredPerSecond / readyReplicas <= settings.targetUtilisation * own.perReplica;
  return isRoomy ? { found: "none", atMs: endMs } : { ...own, atMs: endMs };
}

/** Replicas that answer the load to come where each answers so much at most. */
function replicasAt(
  perReplica: number,
  { service }: Observation,
  { outlook, perSecond }: Load,
  { settings }: CostWindow,
): number {
  return Math.ceil(
    ((perSecond.get(service) ?? 0) * outlook.ratio) / (settings.targetUtilisation * perReplica),
  );
}

function leastReplicas(
  ownQueue: OwnQueue,
  observation: Observation,
  load: Load,
  window: CostWindow,
): number | undefined {
  if (ownQueue.found === "trial") return ownQueue.replicas;
  if (ownQueue.found !== "own") return undefined;
  const replicas = replicasAt(ownQueue.perReplica, observation, load, window);
  // What is answered while a queue is worked off is more than what comes.
  return observation.draining ? Math.min(replicas, observation.baseReplicas) : replicas;
}

function reasonsOf(ownQueue: OwnQueue, replicas = 0): Reason[] {
  if (ownQueue.found === "trial") {
    const { answeredPerSecond, fromReplicas } = ownQueue;
    return [{ code: "replicas-tried", replicas, fromReplicas, requestsPerSecond: answeredPerSecond }];
  }
  if (ownQueue.found === "own")
    return [{ code: "queue-per-replica", replicas, requestsPerSecond: ownQueue.perReplica }];
  return ownQueue.found === "none" ? [{ code: "replicas-no-help" }] : [];
}
