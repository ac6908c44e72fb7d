import type { PolicyName } from "@tradewind/core/contract/plan.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import { inWords } from "@tradewind/core/contract/reasons.ts";
import type { Facts } from "./window-facts.ts";
import type { DecidedPlan, PolicyInputs } from "./inputs.ts";
import type { Course } from "./facts/state.ts";
import { measuredReason } from "./facts/reasons.ts";
import { failingRatio } from "./facts/verdict.ts";
import type { Targets } from "./facts/target.ts";
import { accuraciesOf } from "./cost/learn/learn-levels.ts";
import { usualPerSecond } from "../forecast/calendar/usual-load.ts";
import { usersPerSecond } from "./facts/user-flows.ts";
import { flowFacts, toWish } from "./wish.ts";

/** What was decided, and by which level. */
export interface PolicyOutcome {
  readonly policy: PolicyName;
  readonly reasons: readonly Reason[];
  readonly course: Course;
  readonly targets: Targets;
}

/** Characters of a reason. */
const MOST_CHARACTERS = 500;
const MOST_STANDING = 1_000;

/** What stands beside the measurement of a miss: the route that fails, and what the models do not explain. */
const OF_MISS: ReadonlySet<string> = new Set([
  "requests-failed",
  "models-far-off",
  "miss-unexplained",
  "time-outside",
]);

/** A miss that is not explained for several windows is not explained in the last of them either: that is said once. */
function ofMiss(reasons: readonly Reason[]): Reason[] {
  const isUnexplained = reasons.some(({ code }) => code === "miss-unexplained");
  return reasons.filter(({ code }) => OF_MISS.has(code) && !(isUnexplained && code === "models-far-off"));
}

/** The decision as it is published. */
export function planOf(
  { context, inputs, observations, verdict }: Facts,
  { course, policy, reasons, targets }: PolicyOutcome,
): DecidedPlan {
  const { application, nowMs, windowSet } = context;
  const { surgeRatio } = inputs;
  const failedRatio = failingRatio(verdict);
  const windowHash = contentHash(surgeRatio === undefined ? windowSet : [windowSet, surgeRatio]);
  const { services = [], startSeconds } = inputs.state.cost ?? {};
  const measured = measuredReason(verdict, windowSet, application);
  const usualLoadRatio = usualLoadRatioOf(inputs);
  const facts = {
    context,
    verdict,
    windowHash,
    course,
    accuracies: accuraciesOf(services),
    startSeconds,
    usualLoadRatio,
    ...flowFacts(verdict),
    ...(measured && { measured }),
  };
  return {
    application: application.name,
    namespace: application.namespace,
    plannedAtMs: nowMs,
    policy,
    policyReason: inWords(reasons, MOST_CHARACTERS),
    policyReasons: [...reasons],
    objective: { percentile: verdict.objective.percentile, seconds: verdict.objective.tailSeconds },
    ...(verdict.tailSeconds !== undefined && { measuredLatencySeconds: verdict.tailSeconds }),
    ...(failedRatio !== undefined && { failedRatio }),
    ...(measured && { standing: inWords([measured, ...ofMiss(reasons)], MOST_STANDING) }),
    wishes: observations.flatMap((observation) => {
      const target = targets.get(observation.service);
      return target === undefined ? [] : [toWish(observation, target, facts)];
    }),
  };
}

/** The usual load of this time of day over the load now, which counts as usual before a day is known; undefined where no calendar asks. */
function usualLoadRatioOf({ application, nowMs, state, windowSet }: PolicyInputs): number | undefined {
  if (!application.calendars.some(({ floor }) => floor?.timesUsual !== undefined)) return undefined;
  const perSecond = usersPerSecond(windowSet.flows, application);
  if (!(perSecond > 0)) return undefined;
  const series = state.cost?.outlook.foresight.at(-1)?.series;
  return ((series && usualPerSecond(series, nowMs)) ?? perSecond) / perSecond;
}
