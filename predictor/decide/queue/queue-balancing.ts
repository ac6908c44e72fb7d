import type { Reason } from "@tradewind/core/contract/reason.ts";
import { floorTarget } from "../facts/floor.ts";
import type { DecisionContext, Observation } from "../facts/observation.ts";
import type { Verdict } from "../facts/verdict.ts";
import { courseAfterShrinking } from "./after-shrinking.ts";
import { replicasReason } from "../facts/reasons.ts";
import type { Course } from "../facts/state.ts";
import { objectiveStatus } from "./objective-status.ts";
import type { ObjectiveStatus } from "./objective-status.ts";
import type { Target, Targets } from "../facts/target.ts";
import { shareBudget } from "./budget.ts";
import { growForLatency } from "./growth.ts";
import type { Growth } from "./growth.ts";
import { shrinkInCalm } from "./shrink.ts";
import { standingThrough } from "./standing.ts";

export interface Balancing {
  readonly reasons: readonly Reason[];
  readonly targets: Targets;
  readonly course: Course;
}

/** What all services of one decision are balanced by. */
interface Balance {
  readonly context: DecisionContext;
  readonly observations: readonly Observation[];
  readonly verdict: Verdict;
}

/** What the standing of its users' requests means for one service, and what is done; none: nothing more to say. */
type Because = (observation: Observation, wished: number) => readonly Reason[];

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
      reasons: [...summary, sharing.reason],
      targets: targetsOf(balance, sharing.replicas, () => [sharing.reason]),
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
  const grown = observations.filter((one) => (growth.replicas.get(one.service) ?? 0) > one.baseReplicas);
  return {
    reasons: [...summary, ...growth.reasons],
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
function becauseOf({ keptBecause, reasons }: Growth, { flows }: Verdict): Because {
  const missed = new Set(flows.filter((flow) => flow.severity > 1).flatMap(({ flow }) => flow.services));
  return ({ baseReplicas, queue, service, utilisation }, wished) => {
    if (wished <= baseReplicas) {
      const kept = keptBecause.get(service);
      if (!missed.has(service)) return [];
      return kept === undefined ? reasons : [kept];
    }
    const queueRatio = queue?.virtualQueue;
    if (queueRatio === undefined && utilisation === undefined) return [];
    const known = {
      ...(queueRatio !== undefined && { queueRatio }),
      ...(utilisation !== undefined && { cpuRatio: utilisation }),
    };
    return [{ code: "queue-share", ...known }];
  };
}

function rest(balance: Balance, status: ObjectiveStatus): Balancing {
  const { context, observations, verdict } = balance;
  const { calm, summary, course, calmWindowsNeeded } = status;
  const waiting = !calm || course.calmWindows < calmWindowsNeeded;
  const fewer = waiting ? new Map<string, number>() : shrinkInCalm(context, observations, verdict);
  if (fewer.size === 0) {
    const why: Reason = waiting
      ? { code: "scale-down-waits", metWindows: course.calmWindows, neededWindows: calmWindowsNeeded }
      : { code: "scale-down-unsafe" };
    return { reasons: [...summary, why], targets: targetsOf(balance, fewer, () => []), course };
  }
  const down: Reason = { code: "scale-down", metWindows: course.calmWindows, services: fewer.size };
  return {
    reasons: [...summary, down],
    targets: targetsOf(balance, fewer, ({ baseReplicas }, wished) => (wished < baseReplicas ? [down] : [])),
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
      const cause: Reason = stands ?? { code: "no-user-request" };
      const reasons = [cause, ...because(observation, wished), replicasReason(observation, wished)];
      return [service, { replicas: wished, policy: "queue", reasons }];
    }),
  );
}
