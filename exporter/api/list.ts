import type { Clock } from "@tradewind/core/clock.ts";
import { RECOMMENDATIONS_SCHEMA } from "@tradewind/core/contract/recommendation.ts";
import type { RecommendationList, ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import type { PlanSourceStatus } from "../source/plan-source.ts";
import { refusalInWords } from "../recommender.ts";
import type { Recommender } from "../recommender.ts";
import type { BookEntry } from "../store/book.ts";

/** What there is to say besides the recommendations. */
export type RecommendationHeader = Omit<RecommendationList, "recommendations">;

/** Everything recommended now, sorted by namespace and service. */
export function recommendationList(
  recommender: Recommender,
  predictor: PlanSourceStatus,
  clock: Clock,
): RecommendationList {
  const recommendations = [...servedNow(recommender, clock.monotonicMs())].sort(
    (a, b) => compare(a.namespace, b.namespace) || compare(a.service, b.service),
  );
  return { ...recommendationHeader(predictor, clock), recommendations };
}

export function recommendationHeader(
  { madeMs, plan, problem, reachable }: PlanSourceStatus,
  clock: Clock,
): RecommendationHeader {
  return {
    schema: RECOMMENDATIONS_SCHEMA,
    servedAtMs: clock.nowMs(),
    predictor: {
      reachable,
      ...(problem === undefined ? {} : { problem }),
      ...(madeMs === undefined ? {} : { lastPlanAgeSeconds: (clock.monotonicMs() - madeMs) / 1e3 }),
      ...(plan === undefined
        ? {}
        : {
            lastPlanAtMs: plan.plannedAtMs,
            policy: plan.policy,
            policyReason: plan.policyReason,
            policyReasons: plan.policyReasons,
          }),
    },
    ...(plan === undefined ? {} : { application: plan.application, objective: plan.objective }),
    ...(plan?.mode === undefined ? {} : { mode: plan.mode }),
    ...(plan?.measuredLatencySeconds === undefined
      ? {}
      : { measuredLatencySeconds: plan.measuredLatencySeconds }),
  };
}

/** The decisions in force as they are now, each made when it is asked for. */
export function* servedNow(recommender: Recommender, monotonicMs: number): Generator<ServedRecommendation> {
  for (const entry of recommender.book.entries()) yield served(entry, recommender, monotonicMs);
}

function served(entry: BookEntry, recommender: Recommender, monotonicMs: number): ServedRecommendation {
  const { decidedMs, guard, recommendation, wished } = entry;
  const refusal = recommender.refusalOf(recommendation.namespace, recommendation.service);
  return {
    ...recommendation,
    ...(decidedMs === undefined ? {} : { ageSeconds: (monotonicMs - decidedMs) / 1e3 }),
    valid: recommender.isValid(entry, monotonicMs),
    wished,
    setBy: recommender.book.setBy(recommendation.namespace, recommendation.service),
    guard,
    ...(refusal && { refused: refusalInWords(refusal), refusedReasons: [refusal.reason] }),
  };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
