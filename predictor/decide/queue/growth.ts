import type { Reason } from "@tradewind/core/contract/reason.ts";
import { shareProportionally } from "./share.ts";
import { isIdle } from "./idle.ts";
import type { DecisionContext, Observation } from "../facts/observation.ts";
import type { Verdict } from "../facts/verdict.ts";
import type { GrowthCheckpoint, RememberedState } from "../facts/state.ts";
import type { PolicySettings } from "../facts/settings.ts";
import { namedServices } from "../facts/reasons.ts";
import { bounded, floorReplicas } from "../facts/target.ts";

/** What growth for a missed objective comes to. */
export interface Growth {
  /** Replicas of the services that grow, reactive need included. */
  readonly replicas: ReadonlyMap<string, number>;
  /** Why so many, or why none. */
  readonly reasons: readonly Reason[];
  /** Why a service on a slow flow gets none, where it is not for the reason of all. */
  readonly keptBecause: ReadonlyMap<string, Reason>;
  readonly checkpoint?: GrowthCheckpoint;
  readonly futile?: NonNullable<RememberedState["futile"]>;
}

/** Growth has helped when the tail, or what of it is over the objective, fell or more requests got through by these factors. */
const HELPED = { severity: 0.9, excess: 0.8, rate: 1.05 };
/** Pods that must have been added before their effect is judged: so many, or this share of the congested ones. */
const JUDGED = { pods: 3, share: 0.5 };

/** What growth may go to, and the measure of the miss. */
interface Congestion {
  readonly severity: number;
  readonly hot: boolean;
  readonly candidates: readonly Observation[];
  /** Mean replicas over the candidates, weighted by their share of the queue. */
  readonly replicas: number;
}

/**
 * Pods to add while the objective is missed. With the tail at s times the objective, `⌈min(1, s − 1)·x̄⌉` pods, at least 1
 * and so at most double, where x̄ is the mean number of replicas weighted by the share of the queue. They go by
 * `q̂_n/x_n` to the services that are over their target utilisation, else to all that are not idle; what those get for
 * their reactive need counts. Pods that do not serve yet hold growth back, and growth that shows no effect ends.
 * @param severity tail over objective, above 1
 * @param missedWindows windows in a row with a miss, this one included
 */
export function growForLatency(
  context: DecisionContext,
  observations: readonly Observation[],
  verdict: Verdict,
  severity: number,
  missedWindows: number,
): Growth {
  const { settings, state } = context;
  const keptState = {
    ...(state.growth && { checkpoint: state.growth }),
    ...(state.futile && { futile: state.futile }),
  };
  const noGrowth = (...reasons: Reason[]): Growth => ({
    replicas: new Map(),
    reasons,
    keptBecause: new Map(),
    ...keptState,
  });
  if (severity < settings.clearMissRatio && missedWindows < 2) return noGrowth({ code: "slight-violation" });
  const congestion = congested(context, observations, verdict, severity);
  if (congestion.candidates.length === 0) return noGrowth({ code: "idle" });
  const ready = congestion.candidates.filter((observation) => mayGrow(context, observation, severity));
  if (ready.length === 0) return noGrowth(...waitsFor(congestion.candidates));
  const effect = judgeEffect(context, observations, verdict, congestion);
  if (effect.futile !== undefined) {
    return {
      replicas: new Map(),
      reasons: [{ code: "growth-without-effect" }],
      keptBecause: new Map(),
      ...effect,
    };
  }
  const grown = distribute(congestion, ready, effect.checkpoint);
  const keptBecause = new Map(observations.map((one) => [one.service, whyKept(settings, one, congestion)]));
  return { ...grown, keptBecause, ...(state.futile && { futile: state.futile }) };
}

/** Why a service on a slow flow gets no pods while another does. */
function whyKept(settings: PolicySettings, observation: Observation, { hot }: Congestion): Reason {
  const { spec, baseReplicas, utilisation = 0 } = observation;
  if (isIdle(observation, settings)) return { code: "idle", cpuRatio: utilisation };
  const [waits] = waitsFor([observation]);
  if (waits !== undefined) return waits;
  if (baseReplicas >= spec.maxReplicas) return { code: "max-replicas", maxReplicas: spec.maxReplicas };
  const targetRatio = settings.targetUtilisation;
  return { code: "others-first", ...(hot && utilisation <= targetRatio && { targetRatio }) };
}

/** What growth waits for. */
function waitsFor(observations: readonly Observation[]): Reason[] {
  const starting = observations.filter(({ settling, unproven }) => settling || unproven);
  const draining = observations.filter((one) => one.draining);
  return [
    ...(starting.length > 0 ? [{ code: "replicas-starting", ...namedServices(starting) } as const] : []),
    ...(draining.length > 0 ? [{ code: "queue-draining", ...namedServices(draining) } as const] : []),
  ];
}

function congested(
  { settings }: DecisionContext,
  observations: readonly Observation[],
  verdict: Verdict,
  severity: number,
): Congestion {
  const slow = new Set(
    verdict.flows.filter((flow) => flow.telling && flow.severity > 1).flatMap(({ flow }) => flow.services),
  );
  const onFlow = observations.filter(({ service, window }) => slow.has(service) && window !== undefined);
  const hot = onFlow.filter(({ utilisation }) => (utilisation ?? 0) > settings.targetUtilisation);
  const busy = onFlow.filter((observation) => !isIdle(observation, settings));
  const candidates = hot.length > 0 ? hot : busy;
  const weight = candidates.reduce((sum, { queue }) => sum + (queue?.virtualQueue ?? 0), 0);
  const replicas = candidates.reduce((sum, { queue, baseReplicas }) => {
    const share = weight > 0 ? (queue?.virtualQueue ?? 0) / weight : 1 / candidates.length;
    return sum + share * baseReplicas;
  }, 0);
  return { severity, hot: hot.length > 0, candidates, replicas };
}

/**
 * Pods on their way, or that have not served for a whole window, hold growth back: the miss may be that of the time before
 * them. Where CPU demand is known it has already counted them, elsewhere the miss must get worse. So does a queue that is
 * being worked off.
 */
function mayGrow({ settings }: DecisionContext, observation: Observation, severity: number): boolean {
  const { settling, draining, need, memory, unproven } = observation;
  if (draining) return false;
  if (!settling && !unproven) return true;
  return need === undefined && severity >= settings.worseRatio * (memory?.grownAtSeverity ?? 1);
}

interface Effect {
  readonly checkpoint: GrowthCheckpoint;
  readonly futile?: NonNullable<RememberedState["futile"]>;
}

/**
 * Compares with where the run of growth began. Growth without effect pauses, twice as long each time. CPU over target is
 * proof enough that more pods help. While pods start nothing is judged, unless so many were added that some never will.
 */
function judgeEffect(
  { settings, state, windowSet }: DecisionContext,
  observations: readonly Observation[],
  verdict: Verdict,
  { severity, hot, replicas }: Congestion,
): Effect {
  const { futile, growth: checkpointBefore } = state;
  const { requestsPerSecond } = verdict;
  const fresh = { severity, requestsPerSecond, congestedReplicas: replicas, podsAdded: 0 };
  if (hot) return { checkpoint: fresh };
  const paused = futile !== undefined && windowSet.endMs < futile.untilMs;
  if (paused && severity < settings.worseRatio * futile.severity)
    return { checkpoint: checkpointBefore ?? fresh, futile };
  if (checkpointBefore === undefined || hasHelped(checkpointBefore, fresh)) return { checkpoint: fresh };
  const enough = Math.max(JUDGED.pods, JUDGED.share * checkpointBefore.congestedReplicas);
  const starting = observations.some(({ settling }) => settling) && checkpointBefore.podsAdded < 2 * enough;
  if (checkpointBefore.podsAdded < enough || starting) return { checkpoint: checkpointBefore };
  const times = Math.min((futile?.times ?? 0) + 1, settings.futileDoublings + 1);
  const pauseMs = settings.futileWindows * 2 ** (times - 1) * (windowSet.endMs - windowSet.startMs);
  return { checkpoint: fresh, futile: { untilMs: windowSet.endMs + pauseMs, severity, times } };
}

function hasHelped(before: GrowthCheckpoint, now: GrowthCheckpoint): boolean {
  return (
    now.severity < HELPED.severity * before.severity ||
    now.severity - 1 < HELPED.excess * (before.severity - 1) ||
    now.requestsPerSecond > HELPED.rate * before.requestsPerSecond
  );
}

function distribute(
  congestion: Congestion,
  ready: readonly Observation[],
  checkpoint: GrowthCheckpoint,
): Omit<Growth, "keptBecause"> {
  const wantedReplicas = Math.max(
    1,
    Math.ceil(Math.min(1, congestion.severity - 1) * congestion.replicas - 1e-9),
  );
  const claims = ready.map((observation) => {
    const { service, queue, baseReplicas, spec } = observation;
    const min = floorReplicas(observation);
    const most = Math.max(min, 2 * baseReplicas, baseReplicas + 1);
    return {
      name: service,
      weight: queue?.virtualQueue ?? 0,
      min,
      max: Math.max(min, Math.min(spec.maxReplicas, most)),
      base: bounded(observation, baseReplicas),
    };
  });
  const byNeed = claims.reduce((sum, { min, base }) => sum + min - base, 0);
  const floors = claims.reduce((sum, { min }) => sum + min, 0);
  const replicas = shareProportionally(claims, floors + Math.max(0, wantedReplicas - byNeed));
  const added = claims.reduce((sum, { name, base }) => sum + (replicas.get(name) ?? base) - base, 0);
  return {
    replicas,
    reasons: [added > 0 ? { code: "adds-replicas", replicas: added } : { code: "max-replicas" }],
    checkpoint: { ...checkpoint, podsAdded: checkpoint.podsAdded + added },
  };
}
