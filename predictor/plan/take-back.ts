import type { Candidate, PlanState } from "./plan-state.ts";
import { RESOURCES } from "./plan-service.ts";
import type { PlanOptions } from "./prepare.ts";

/** Steps of one round together may use this share of the slack, by the linear estimate. */
const SLACK_SHARE_PER_ROUND = 0.5;

const NOTHING_TO_TAKE = "objective met, nothing to take back";

interface Scored {
  readonly candidate: Candidate;
  /** Share of the tightest flow's slack that the step is estimated to use. */
  readonly slackShare: number;
  readonly score: number;
}

/**
 * Takes back the steps that matter least while every flow stays under `slackRatio` of the objective, or where it is over
 * that already, within `freeRatio` of where it is.
 * @returns why it stopped
 */
export function takeBack(state: PlanState, options: PlanOptions): string {
  if (state.services.every(({ maxStepsBack }) => maxStepsBack <= 0)) return NOTHING_TO_TAKE;
  const limits = limitsOf(state, options);
  const taken = new Int32Array(state.services.length);
  const refused = new Set<string>();
  let took = false;
  for (;;) {
    if (state.steps.length >= options.maxSteps) return `stopped after ${options.maxSteps} steps`;
    const ranked = rank(state, slackUse(state, limits), taken, refused);
    if (ranked.length === 0) return took ? "slack taken back" : NOTHING_TO_TAKE;
    let used = 0;
    const touched = new Set<number>();
    for (const { candidate, slackShare } of ranked) {
      if (touched.has(candidate.service)) continue;
      if (touched.size > 0 && used + slackShare > SLACK_SHARE_PER_ROUND) break;
      touched.add(candidate.service);
      state.take(candidate);
      if (exceeds(state, limits)) {
        state.undo(candidate.service);
        refused.add(`${candidate.service} ${candidate.resource}`);
        continue;
      }
      used += slackShare;
      took = true;
      taken[candidate.service] = (taken[candidate.service] ?? 0) + 1;
    }
  }
}

/** What the tail of each flow may come to, seconds. */
function limitsOf(
  state: PlanState,
  { freeRatio = 0, objectiveSeconds, slackRatio }: PlanOptions,
): Float64Array {
  return Float64Array.from({ length: state.flowCount }, (_, flow) => {
    const freeSeconds = Math.min(objectiveSeconds, state.tailOf(flow) + freeRatio * objectiveSeconds);
    return Math.max(slackRatio * objectiveSeconds, freeSeconds);
  });
}

function exceeds(state: PlanState, limits: Float64Array): boolean {
  return limits.some((limit, flow) => state.tailOf(flow) > limit);
}

/** Share of the slack of its tightest flow that one second more of a service's own tail uses. */
function slackUse(state: PlanState, limits: Float64Array): Float64Array {
  const use = new Float64Array(state.services.length);
  const gradient = new Float64Array(state.services.length);
  for (let flow = 0; flow < state.flowCount; flow += 1) {
    gradient.fill(0);
    state.addGradient(flow, 1 / Math.max((limits[flow] ?? 0) - state.tailOf(flow), 1e-9), gradient);
    for (let service = 0; service < use.length; service += 1) {
      use[service] = Math.max(use[service] ?? 0, gradient[service] ?? 0);
    }
  }
  return use;
}

function rank(
  state: PlanState,
  use: Float64Array,
  taken: Int32Array,
  refused: ReadonlySet<string>,
): Scored[] {
  const scored: Scored[] = [];
  for (const [service, plan] of state.services.entries()) {
    if ((taken[service] ?? 0) >= plan.maxStepsBack) continue;
    for (const resource of RESOURCES) {
      if (refused.has(`${service} ${resource}`)) continue;
      const candidate = state.candidate(service, resource, "down");
      if (candidate === undefined || candidate.costPerHour >= 0) continue;
      const ownLoss = Math.max(0, candidate.ownTailSeconds - state.ownTailOf(service));
      const slackShare = ownLoss * (use[service] ?? 0);
      if (slackShare > 1) continue;
      scored.push({ candidate, slackShare, score: -candidate.costPerHour / Math.max(slackShare, 1e-9) });
    }
  }
  return scored.sort((a, b) => b.score - a.score);
}
