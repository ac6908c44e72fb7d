import type { Clock } from "@tradewind/core/process/clock.ts";
import { RECOMMENDATIONS_SCHEMA } from "@tradewind/core/contract/recommendation.ts";
import type {
  RecommendationList,
  ServedApplication,
  ServedRecommendation,
} from "@tradewind/core/contract/recommendation.ts";
import type { ApplicationStatus } from "../plans/plan-sources.ts";
import type { Recommender } from "./recommender.ts";
import { refusalInWords } from "./served-rows.ts";
import type { BookEntry } from "../keep/book-entry.ts";

/** What there is to say besides the recommendations. */
export type RecommendationHeader = Omit<RecommendationList, "recommendations">;

/** Everything recommended now, sorted by namespace and service. @param hasAnswer see {@link recommendationHeader} */
export function recommendationList(
  recommender: Recommender,
  status: ApplicationStatus | readonly ApplicationStatus[],
  clock: Clock,
  hasAnswer = false,
): RecommendationList {
  const recommendations = [...servedNow(recommender, clock.monotonicMs())].sort(
    (a, b) => compare(a.namespace, b.namespace) || compare(a.service, b.service),
  );
  return { ...recommendationHeader(status, clock, hasAnswer), recommendations };
}

/**
 * @param status of the only application, or of each of several
 * @param hasAnswer a predictor answers; asked where there is no application whose plans would show it
 */
export function recommendationHeader(
  status: ApplicationStatus | readonly ApplicationStatus[],
  clock: Clock,
  hasAnswer = false,
): RecommendationHeader {
  if (isOne(status)) return headerOfOne(status, clock);
  const [only] = status;
  if (only !== undefined && status.length === 1 && only.application === undefined)
    return headerOfOne(only, clock);
  const reachable = only === undefined ? hasAnswer : status.some((each) => each.reachable);
  const problems = new Set(
    only === undefined
      ? ["no predictor answers which applications there are"]
      : status.flatMap(({ problem }) => problem ?? []),
  );
  const problem = reachable ? undefined : [...problems].join("; ").slice(0, 1_000);
  return {
    schema: RECOMMENDATIONS_SCHEMA,
    servedAtMs: clock.nowMs(),
    predictor: { reachable, ...(problem !== undefined && { problem }) },
    applications: status.map((each) => applicationOf(each, clock)),
  };
}

const isOne = (status: ApplicationStatus | readonly ApplicationStatus[]): status is ApplicationStatus =>
  !Array.isArray(status);

function applicationOf(status: ApplicationStatus, clock: Clock): ServedApplication {
  const {
    cause,
    failedRatio,
    predictor,
    mode,
    objective,
    measuredLatencySeconds,
    patterns,
    regret,
    standing,
    unmapped,
  } = headerOfOne(status, clock);
  const { reachable: _, ...about } = predictor;
  const { name = "", namespace = "" } = status.application ?? {};
  return {
    namespace,
    name,
    ...about,
    ...(mode && { mode }),
    ...(objective && { objective }),
    ...(measuredLatencySeconds !== undefined && { measuredLatencySeconds }),
    ...(failedRatio !== undefined && { failedRatio }),
    ...(standing !== undefined && { standing }),
    ...(regret && { regret }),
    ...(cause && { cause }),
    ...(patterns && { patterns }),
    ...(unmapped && { unmapped }),
  };
}

/** For how long a predictor that cannot be reached has not answered; nothing of one that answers or never did. */
const silenceOf = (isReachable: boolean, answeredMs: number | undefined, clock: Clock) =>
  isReachable || answeredMs === undefined ? {} : { silentSeconds: (clock.monotonicMs() - answeredMs) / 1e3 };

function headerOfOne(
  { answeredMs, madeMs, plan, problem, reachable, regret }: ApplicationStatus,
  clock: Clock,
): RecommendationHeader {
  return {
    schema: RECOMMENDATIONS_SCHEMA,
    servedAtMs: clock.nowMs(),
    predictor: {
      reachable,
      ...(problem === undefined ? {} : { problem }),
      ...(madeMs === undefined ? {} : { lastPlanAgeSeconds: (clock.monotonicMs() - madeMs) / 1e3 }),
      ...silenceOf(reachable, answeredMs, clock),
      ...(plan === undefined
        ? {}
        : {
            lastPlanAtMs: plan.plannedAtMs,
            policy: plan.policy,
            policyReason: plan.policyReason,
            policyReasons: plan.policyReasons,
          }),
    },
    ...(plan === undefined
      ? {}
      : { application: plan.application, namespace: plan.namespace, objective: plan.objective }),
    ...(plan?.mode === undefined ? {} : { mode: plan.mode }),
    ...(regret && { regret }),
    ...(plan?.measuredLatencySeconds === undefined
      ? {}
      : { measuredLatencySeconds: plan.measuredLatencySeconds }),
    ...(plan?.failedRatio !== undefined && { failedRatio: plan.failedRatio }),
    ...(plan?.standing !== undefined && { standing: plan.standing }),
    ...(plan?.cause && { cause: plan.cause }),
    ...(plan?.patterns && { patterns: plan.patterns }),
    ...(plan?.unmapped && { unmapped: plan.unmapped }),
  };
}

/** The decisions in force as they are now, each made when it is asked for. */
export function* servedNow(recommender: Recommender, monotonicMs: number): Generator<ServedRecommendation> {
  for (const entry of recommender.book.entries()) yield served(entry, recommender, monotonicMs);
}

/** One decision in force as it is now. */
export function served(
  entry: BookEntry,
  recommender: Recommender,
  monotonicMs: number,
): ServedRecommendation {
  const { decidedMs, guard, override, recommendation, wished } = entry;
  const refusal = recommender.refusalOf(recommendation.namespace, recommendation.service);
  return {
    ...recommendation,
    ...(decidedMs === undefined ? {} : { ageSeconds: (monotonicMs - decidedMs) / 1e3 }),
    valid: recommender.isValid(entry, monotonicMs),
    wished,
    ...(override && { override }),
    setBy: recommender.book.setBy(recommendation.namespace, recommendation.service),
    guard,
    ...(refusal && { refused: refusalInWords(refusal), refusedReasons: [refusal.reason] }),
  };
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
