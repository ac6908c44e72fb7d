import type { Candidate, PlanState } from "./plan-state.ts";
import { RESOURCES } from "./plan-service.ts";
import type { PlanOptions } from "./prepare.ts";

/** Steps of one round together are meant to close this share of the gap, by the linear estimate. */
const GAP_SHARE_PER_ROUND = 0.5;

/** The best few by estimate are compared by full evaluation. */
const FINALISTS = 8;

/** A step that buys less than this share of the gap is not worth a plan's while. */
const DEFAULT_LEAST_GAIN_RATIO = 1e-4;

interface Scored {
  readonly candidate: Candidate;
  /** Estimated decrease of the excess over all flows, seconds. */
  readonly gainSeconds: number;
  readonly score: number;
}

/**
 * Gives steps until every flow is predicted within the objective, or within the aim when there was anything to cure.
 * @returns why it stopped
 */
export function raise(state: PlanState, options: PlanOptions): string {
  const { objectiveSeconds, aimRatio = 1, cures = false } = options;
  const limit = aimRatio * objectiveSeconds;
  if (state.worstTailSeconds() <= (cures ? limit : objectiveSeconds)) return "objective met";
  const sensitivity = new Float64Array(state.services.length);
  while (state.worstTailSeconds() > limit) {
    if (state.steps.length >= options.maxSteps) return `stopped after ${options.maxSteps} steps`;
    const excess = state.excess(limit);
    sensitivity.fill(0);
    for (let flow = 0; flow < state.flowCount; flow += 1) {
      if (state.tailOf(flow) > limit) state.addGradient(flow, 1, sensitivity);
    }
    const ranked = rank(state, sensitivity, excess, options);
    if (takeRound(state, chooseRound(ranked, excess), limit, options)) continue;
    const best = finalist(state, ranked, { excess, limit }, options);
    if (best === undefined) {
      return state.worstTailSeconds() <= objectiveSeconds
        ? "objective met"
        : "no further step brings the tail down: best reachable";
    }
    state.take(best);
  }
  return "objective met";
}

/** Services are looked at in groups of this many, the most promising first. */
const GROUP = 48;

/**
 * Candidates by score, best first. A step cannot buy more than all of a service's own time, so services are looked at in
 * the order of that bound and only until none that is left could still be among those a round needs.
 */
function rank(state: PlanState, sensitivity: Float64Array, excess: number, options: PlanOptions): Scored[] {
  const promising = promisingServices(state, sensitivity, options);
  const scored: Scored[] = [];
  for (let from = 0; from < promising.length; from += GROUP) {
    for (const { service } of promising.slice(from, from + GROUP)) {
      addCandidates(state, service, sensitivity[service] ?? 0, options, scored);
    }
    scored.sort((a, b) => b.score - a.score);
    const needed = Math.max(FINALISTS, chooseRound(scored, excess).length + 1);
    const least = scored[needed - 1]?.score ?? 0;
    if ((promising[from + GROUP]?.bound ?? 0) <= least) break;
  }
  return scored;
}

interface Promising {
  readonly service: number;
  /** Most that any step for this service can score. */
  readonly bound: number;
}

function promisingServices(state: PlanState, sensitivity: Float64Array, options: PlanOptions): Promising[] {
  const promising: Promising[] = [];
  for (let service = 0; service < state.services.length; service += 1) {
    const worth = sensitivity[service] ?? 0;
    if (!(worth > 0)) continue;
    const cost = state.leastStepCost(service);
    if (cost === Number.POSITIVE_INFINITY) continue;
    const most = state.ownTailOf(service) * (options.ranking === "own" ? 1 : worth);
    promising.push({ service, bound: most / Math.max(cost, 1e-12) });
  }
  return promising.sort((a, b) => b.bound - a.bound);
}

function addCandidates(
  state: PlanState,
  service: number,
  worth: number,
  options: PlanOptions,
  scored: Scored[],
): void {
  for (const resource of RESOURCES) {
    const candidate = state.candidate(service, resource, "up");
    if (candidate === undefined) continue;
    const ownGain = state.ownTailOf(service) - candidate.ownTailSeconds;
    if (!(ownGain > 0)) continue;
    const gainSeconds = worth * ownGain;
    const gain = options.ranking === "own" ? ownGain : gainSeconds;
    scored.push({ candidate, gainSeconds, score: gain / Math.max(candidate.costPerHour, 1e-12) });
  }
}

/** The best candidates, one a service, that together are estimated to close half of the gap. */
function chooseRound(ranked: readonly Scored[], excess: number): Scored[] {
  const round: Scored[] = [];
  const services = new Set<number>();
  let closed = 0;
  for (const scored of ranked) {
    if (services.has(scored.candidate.service)) continue;
    if (closed + scored.gainSeconds > GAP_SHARE_PER_ROUND * excess) break;
    closed += scored.gainSeconds;
    services.add(scored.candidate.service);
    round.push(scored);
  }
  return round;
}

/**
 * Takes the steps of a round that help after those before them have been taken.
 * @returns whether any did; a round of one is left to the full comparison
 */
function takeRound(
  state: PlanState,
  round: readonly Scored[],
  limitSeconds: number,
  { leastGainRatio = 0 }: PlanOptions,
): boolean {
  if (round.length < 2) return false;
  let excess = state.excess(limitSeconds);
  const leastGain = leastGainRatio * excess;
  let helped = false;
  for (const { candidate } of round) {
    state.take(candidate);
    const after = state.excess(limitSeconds);
    if (excess - after > leastGain) {
      excess = after;
      helped = true;
    } else {
      state.undo(candidate.service);
    }
  }
  return helped;
}

/** The step that really buys most per cost among the best by estimate; undefined when none buys anything to speak of. */
function finalist(
  state: PlanState,
  ranked: readonly Scored[],
  { excess, limit }: { readonly excess: number; readonly limit: number },
  options: PlanOptions,
): Candidate | undefined {
  const leastGain = (options.leastGainRatio ?? DEFAULT_LEAST_GAIN_RATIO) * excess;
  let best: Candidate | undefined;
  let bestScore = 0;
  for (const { candidate, score } of ranked.slice(0, FINALISTS)) {
    const gain = excess - state.excessIf(candidate, limit);
    if (gain < leastGain) continue;
    const exact = options.ranking === "own" ? score : gain / Math.max(candidate.costPerHour, 1e-12);
    if (best === undefined || exact > bestScore) {
      best = candidate;
      bestScore = exact;
    }
  }
  return best;
}
