import { shareBudget } from "./budget.ts";
import { floorTarget } from "./floor.ts";
import { growForLatency } from "./growth.ts";
import type { DecisionContext, Observation } from "./observation.ts";
import type { Course } from "./remember.ts";
import { isCalm, patienceWindows, shrinkInCalm } from "./shrink.ts";
import { percent, pods } from "./target.ts";
import type { Target, Targets } from "./target.ts";
import type { Verdict } from "./verdict.ts";

export interface Balancing {
  readonly reason: string;
  readonly targets: Targets;
  readonly course: Course;
}

/**
 * Rung `queue`: with a budget, shares it; without one, adds pods where the queues are while the objective is missed, takes
 * them away one step at a time after enough calm, and otherwise changes nothing. The reactive floor holds in any case.
 */
export function balanceQueues(
  context: DecisionContext,
  observations: readonly Observation[],
  verdict: Verdict,
): Balancing {
  const { application, settings, state } = context;
  const missed = (verdict.severity ?? 0) > 1;
  const missedWindows = missed ? state.missedWindows + 1 : 0;
  const calm = isCalm(verdict, settings);
  const course: Course = {
    calmWindows: calm ? state.calmWindows + 1 : 0,
    missedWindows,
    patienceDoublings: doublingsAfter(context, missed),
    ...(state.shrunkAtMs !== undefined && !missed && { shrunkAtMs: state.shrunkAtMs }),
    ...(state.growth && !calm && { growth: state.growth }),
    ...(state.futile && !calm && { futile: state.futile }),
  };
  const standing = describeVerdict(verdict, settings.minimumCalls);
  if (application.budget.pods !== undefined) {
    const act = (verdict.severity ?? 0) >= settings.clearMissRatio || missedWindows >= 2;
    const sharing = shareBudget(context, observations, application.budget.pods, act);
    return {
      reason: `${standing}: ${sharing.reason}`,
      targets: targetsOf(observations, sharing.replicas, `${standing}: ${sharing.reason}`),
      course,
    };
  }
  if (missed && verdict.severity !== undefined) {
    return grow(context, observations, verdict, { severity: verdict.severity, standing, course });
  }
  return rest(context, observations, verdict, { standing, course });
}

interface Standing {
  readonly standing: string;
  readonly course: Course;
}

function grow(
  context: DecisionContext,
  observations: readonly Observation[],
  verdict: Verdict,
  { severity, standing, course }: Standing & { readonly severity: number },
): Balancing {
  const growth = growForLatency(context, observations, verdict, severity, course.missedWindows);
  const reason = `${standing}: ${growth.reason}`;
  const grown = observations.filter((one) => (growth.replicas.get(one.service) ?? 0) > one.baseReplicas);
  return {
    reason,
    targets: targetsOf(observations, growth.replicas, `${standing}, and its queue is where time goes`),
    course: {
      ...course,
      ...(growth.checkpoint && { growth: growth.checkpoint }),
      ...(growth.futile && { futile: growth.futile }),
      grown: { severity, services: grown.map(({ service }) => service) },
    },
  };
}

function rest(
  context: DecisionContext,
  observations: readonly Observation[],
  verdict: Verdict,
  { standing, course }: Standing,
): Balancing {
  const { application, settings, windowSet } = context;
  const patience = patienceWindows(application, windowSet, settings, course.patienceDoublings);
  const waiting = course.calmWindows < patience;
  const fewer = waiting ? new Map<string, number>() : shrinkInCalm(context, observations, verdict);
  if (fewer.size === 0) {
    const why = waiting
      ? `calm for ${course.calmWindows} of ${patience} windows`
      : "no pod can go without risking the objective";
    return { reason: `${standing}: ${why}`, targets: targetsOf(observations, fewer, standing), course };
  }
  return {
    reason: `${standing}: calm for ${course.calmWindows} windows, takes pods from ${fewer.size} of the services`,
    targets: targetsOf(observations, fewer, `${standing}, calm for ${course.calmWindows} windows`),
    course: {
      ...course,
      calmWindows: Math.max(0, patience - settings.settleWindows),
      patienceDoublings: easedDoublings(context, course.patienceDoublings),
      shrunkAtMs: windowSet.endMs,
    },
  };
}

/** A miss soon after a step down was caused by it: the next step down waits twice as long. */
function doublingsAfter({ settings, state, windowSet }: DecisionContext, missed: boolean): number {
  const { shrunkAtMs, patienceDoublings } = state;
  const windowMs = windowSet.endMs - windowSet.startMs;
  const regretted =
    missed && shrunkAtMs !== undefined && windowSet.endMs - shrunkAtMs <= settings.regretWindows * windowMs;
  return regretted ? Math.min(patienceDoublings + 1, settings.patienceDoublings) : patienceDoublings;
}

/** A step down that stood the test halves the patience again. */
function easedDoublings({ settings, state, windowSet }: DecisionContext, doublings: number): number {
  const windowMs = windowSet.endMs - windowSet.startMs;
  const stood =
    state.shrunkAtMs !== undefined && windowSet.endMs - state.shrunkAtMs > settings.regretWindows * windowMs;
  return stood ? Math.max(0, doublings - 1) : doublings;
}

/** Lays what the queues say over the reactive floor; a service that `replicas` does not name gets the floor. */
function targetsOf(
  observations: readonly Observation[],
  replicas: ReadonlyMap<string, number>,
  why: string,
): Targets {
  return new Map(
    observations.map((observation): [string, Target] => {
      const { service, baseReplicas } = observation;
      const floor = floorTarget(observation);
      const wished = replicas.get(service) ?? floor.replicas;
      if (wished === floor.replicas) {
        return [service, floor.replicas > baseReplicas ? floor : kept(observation, floor, why)];
      }
      const change = wished - baseReplicas;
      const move =
        change > 0 ? `${pods(change)} more` : change < 0 ? `${pods(-change)} fewer` : `keeps ${wished}`;
      return [service, { replicas: wished, policy: "queue", reason: `${why}: ${move}` }];
    }),
  );
}

/** No change: by the queue policy where the service's own need is known, held where data is missing. */
function kept(observation: Observation, floor: Target, why: string): Target {
  if (floor.policy === "hold") return floor;
  return { replicas: floor.replicas, policy: "queue", reason: `${why}: keeps ${floor.replicas}` };
}

function describeVerdict(verdict: Verdict, minimumCalls: number): string {
  if (verdict.severity === undefined) {
    return `fewer than ${minimumCalls} requests of any flow, the slowest at ${percent(verdict.worstSeverity ?? 0)} of the objective`;
  }
  const missed = verdict.severity > 1 ? "the objective is missed" : "the objective is met";
  return `${missed} (tail at ${percent(verdict.severity)} of it)`;
}
