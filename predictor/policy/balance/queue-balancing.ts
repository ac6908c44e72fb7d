import { floorTarget } from "../floor.ts";
import type { DecisionContext, Observation } from "../observe/observation.ts";
import type { Verdict } from "../observe/verdict.ts";
import { courseAfterShrinking } from "./after-shrinking.ts";
import type { Course } from "../remember.ts";
import { objectiveStatus } from "./objective-status.ts";
import type { ObjectiveStatus } from "./objective-status.ts";
import { move, percent } from "../target.ts";
import type { Target, Targets } from "../target.ts";
import { shareBudget } from "./budget.ts";
import { growForLatency } from "./growth.ts";
import type { Growth } from "./growth.ts";
import { shrinkInCalm } from "./shrink.ts";
import { standingThrough } from "./standing.ts";

export interface Balancing {
  readonly reason: string;
  readonly targets: Targets;
  readonly course: Course;
}

/** What all services of one decision are balanced by. */
interface Balance {
  readonly context: DecisionContext;
  readonly observations: readonly Observation[];
  readonly verdict: Verdict;
}

/** What the standing of its users' requests means for one service, and what is done; empty: nothing more to say. */
type Because = (observation: Observation, wished: number) => string;

/**
 * Level `queue`: with a budget, shares it; without one, adds pods where the queues are while the objective is missed, takes
 * them away one step at a time after enough calm, and otherwise changes nothing. The reactive floor holds in any case.
 */
export function balanceQueues(
  context: DecisionContext,
  observations: readonly Observation[],
  verdict: Verdict,
): Balancing {
  const balance = { context, observations, verdict };
  const { budget } = context.application;
  const status = objectiveStatus(context, observations, verdict);
  const { summary, course } = status;
  if (budget.pods !== undefined) {
    const sharing = shareBudget(context, observations, budget.pods, status.clearlyMissed);
    return {
      reason: `${summary}: ${sharing.reason}`,
      targets: targetsOf(balance, sharing.replicas, () => sharing.reason),
      course,
    };
  }
  if (status.missed && verdict.severity !== undefined) {
    return grow(balance, { ...status, severity: verdict.severity });
  }
  return rest(balance, status);
}

function grow(
  balance: Balance,
  { severity, summary, course }: ObjectiveStatus & { readonly severity: number },
): Balancing {
  const { context, observations, verdict } = balance;
  const growth = growForLatency(context, observations, verdict, severity, course.missedWindows);
  const reason = `${summary}: ${growth.reason}`;
  const grown = observations.filter((one) => (growth.replicas.get(one.service) ?? 0) > one.baseReplicas);
  return {
    reason,
    targets: targetsOf(balance, growth.replicas, becauseOf(growth, verdict)),
    course: {
      ...course,
      ...(growth.checkpoint && { growth: growth.checkpoint }),
      ...(growth.futile && { futile: growth.futile }),
      grown: { severity, services: grown.map(({ service }) => service) },
    },
  };
}

/** Only a service on a flow that misses is told why pods are added or not. */
function becauseOf({ keptBecause, reason }: Growth, { flows }: Verdict): Because {
  const missed = new Set(flows.filter((flow) => flow.severity > 1).flatMap(({ flow }) => flow.services));
  return ({ baseReplicas, queue, service, utilisation }, wished) => {
    if (wished <= baseReplicas) return missed.has(service) ? (keptBecause.get(service) ?? reason) : "";
    const share = queue?.virtualQueue;
    const parts = [
      ...(share === undefined ? [] : [`${percent(share)} of the estimated queue`]),
      ...(utilisation === undefined ? [] : [`${percent(utilisation)} CPU use`]),
    ];
    return parts.length === 0 ? "" : `it has ${parts.join(" at ")}`;
  };
}

function rest(balance: Balance, status: ObjectiveStatus): Balancing {
  const { context, observations, verdict } = balance;
  const { calm, summary, course, calmWindowsNeeded } = status;
  const waiting = !calm || course.calmWindows < calmWindowsNeeded;
  const fewer = waiting ? new Map<string, number>() : shrinkInCalm(context, observations, verdict);
  if (fewer.size === 0) {
    const why = waiting
      ? `calm for ${course.calmWindows} of ${calmWindowsNeeded} windows`
      : "no pod can go without risking the objective";
    return { reason: `${summary}: ${why}`, targets: targetsOf(balance, fewer, () => ""), course };
  }
  const calmFor = `calm for ${course.calmWindows} windows`;
  return {
    reason: `${summary}: ${calmFor}, takes pods from ${fewer.size} of the services`,
    targets: targetsOf(balance, fewer, ({ baseReplicas }, wished) => (wished < baseReplicas ? calmFor : "")),
    course: courseAfterShrinking(context, observations, status, [...fewer.keys()]),
  };
}

/** Lays what the queues say over the reactive floor; a service that `replicas` does not name gets the floor. */
function targetsOf(
  { context, observations, verdict }: Balance,
  replicas: ReadonlyMap<string, number>,
  because: Because,
): Targets {
  return new Map(
    observations.map((observation): [string, Target] => {
      const { service, baseReplicas } = observation;
      const floor = floorTarget(observation, context.settings);
      const wished = replicas.get(service) ?? floor.replicas;
      const isFloor = wished === floor.replicas;
      // Where data is missing the service is held.
      if (isFloor && (floor.replicas > baseReplicas || floor.policy === "hold")) return [service, floor];
      const stands = standingThrough(context, verdict, service);
      if (isFloor && stands === undefined) return [service, { ...floor, policy: "queue" }];
      const why = [stands ?? "no user's request passes it", because(observation, wished)];
      const cause = why.filter((part) => part !== "").join("; ");
      return [
        service,
        { replicas: wished, policy: "queue", reason: `${cause}: ${move(observation, wished)}` },
      ];
    }),
  );
}
