import { RECOMMENDATIONS_SCHEMA } from "@tradewind/core/contract/recommendation.ts";
import type { RecommendationList, ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import type { PlanSourceStatus } from "../source/plan-source.ts";
import type { Recommender } from "../recommender.ts";
import type { BookEntry } from "../store/book.ts";

/** What there is to say besides the recommendations. */
export type RecommendationHeader = Omit<RecommendationList, "recommendations">;

/** Everything recommended now, sorted by namespace and service. */
export function recommendationList(
  recommender: Recommender,
  predictor: PlanSourceStatus,
  nowMs: number,
): RecommendationList {
  const recommendations = [...servedNow(recommender, nowMs)].sort(
    (a, b) => compare(a.namespace, b.namespace) || compare(a.service, b.service),
  );
  return { ...recommendationHeader(predictor, nowMs), recommendations };
}

export function recommendationHeader(
  { plan, problem, reachable }: PlanSourceStatus,
  nowMs: number,
): RecommendationHeader {
  return {
    schema: RECOMMENDATIONS_SCHEMA,
    servedAtMs: nowMs,
    predictor: {
      reachable,
      ...(problem === undefined ? {} : { problem }),
      ...(plan === undefined
        ? {}
        : { lastPlanAtMs: plan.plannedAtMs, policy: plan.policy, policyReason: plan.policyReason }),
    },
    ...(plan === undefined ? {} : { application: plan.application, objective: plan.objective }),
    ...(plan?.measuredLatencySeconds === undefined
      ? {}
      : { measuredLatencySeconds: plan.measuredLatencySeconds }),
  };
}

/** The decisions in force as they are now, each made when it is asked for. */
export function* servedNow(recommender: Recommender, nowMs: number): Generator<ServedRecommendation> {
  for (const entry of recommender.book.entries()) yield served(entry, recommender, nowMs);
}

function served(entry: BookEntry, recommender: Recommender, nowMs: number): ServedRecommendation {
  const { recommendation, wished, guard } = entry;
  const refusal = recommender.refusalOf(recommendation.namespace, recommendation.service);
  return {
    ...recommendation,
    ageSeconds: Math.max(0, nowMs - recommendation.decidedAtMs) / 1e3,
    valid: recommender.isValid(entry, nowMs),
    wished,
    guard,
    ...(refusal === undefined ? {} : { refused: `${refusal.step}: ${refusal.reason}`.slice(0, 1_000) }),
  };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
