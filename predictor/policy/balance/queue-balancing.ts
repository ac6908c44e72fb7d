import { floorTarget } from "../floor.ts";
import type { DecisionContext, Observation } from "../observe/observation.ts";
import type { Verdict } from "../observe/verdict.ts";
import { courseAfterShrinking } from "./after-shrinking.ts";
import type { Course } from "../remember.ts";
import { objectiveStatus } from "./objective-status.ts";
import type { ObjectiveStatus } from "./objective-status.ts";
import { pods } from "../target.ts";
import type { Target, Targets } from "../target.ts";
import { shareBudget } from "./budget.ts";
import { growForLatency } from "./growth.ts";
import { shrinkInCalm } from "./shrink.ts";

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
  const { application } = context;
  const status = objectiveStatus(context, observations, verdict);
  const { summary, course } = status;
  if (application.budget.pods !== undefined) {
    const sharing = shareBudget(context, observations, application.budget.pods, status.clearlyMissed);
    return {
      reason: `${summary}: ${sharing.reason}`,
      targets: targetsOf(observations, sharing.replicas, `${summary}: ${sharing.reason}`),
      course,
    };
  }
  if (status.missed && verdict.severity !== undefined) {
    return grow(context, observations, verdict, { ...status, severity: verdict.severity });
  }
  return rest(context, observations, verdict, status);
}

function grow(
  context: DecisionContext,
  observations: readonly Observation[],
  verdict: Verdict,
  { severity, summary, course }: ObjectiveStatus & { readonly severity: number },
): Balancing {
  const growth = growForLatency(context, observations, verdict, severity, course.missedWindows);
  const reason = `${summary}: ${growth.reason}`;
  const grown = observations.filter((one) => (growth.replicas.get(one.service) ?? 0) > one.baseReplicas);
  return {
    reason,
    targets: targetsOf(observations, growth.replicas, `${summary}, and its queue is where time goes`),
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
  status: ObjectiveStatus,
): Balancing {
  const { calm, summary, course, calmWindowsNeeded } = status;
  const waiting = !calm || course.calmWindows < calmWindowsNeeded;
  const fewer = waiting ? new Map<string, number>() : shrinkInCalm(context, observations, verdict);
  if (fewer.size === 0) {
    const why = waiting
      ? `calm for ${course.calmWindows} of ${calmWindowsNeeded} windows`
      : "no pod can go without risking the objective";
    return { reason: `${summary}: ${why}`, targets: targetsOf(observations, fewer, summary), course };
  }
  return {
    reason: `${summary}: calm for ${course.calmWindows} windows, takes pods from ${fewer.size} of the services`,
    targets: targetsOf(observations, fewer, `${summary}, calm for ${course.calmWindows} windows`),
    course: courseAfterShrinking(context, observations, status, [...fewer.keys()]),
  };
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
