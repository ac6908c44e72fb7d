import type { DecisionRecord, Recommendation } from "@tradewind/core/contract/recommendation.ts";

const MAX_REASON_LENGTH = 1_000;

/** What a decision record says to a reader: the numbers, who decided and why, guard included. */
export function recommendationOf(record: DecisionRecord): Recommendation {
  const { wish, final } = record;
  const guarded = record.actions.map(({ step, reason }) => `${step}: ${reason}`);
  return {
    namespace: record.namespace,
    application: record.application,
    service: record.service,
    ...final,
    policy: wish.policy,
    confidence: wish.confidence,
    ...present("latencyBeforeSeconds", wish.latencyBeforeSeconds),
    ...present("latencyAfterSeconds", wish.latencyAfterSeconds),
    ...present("replicasReady", wish.observed.replicasReady),
    maxReplicas: Math.min(wish.bounds.maxReplicas, record.context.limits?.maxReplicas ?? Infinity),
    reason: [wish.reason, ...guarded].join("; ").slice(0, MAX_REASON_LENGTH),
    decidedAtMs: record.decidedAtMs,
    validUntilMs: record.validUntilMs,
    decisionId: record.id,
  };
}

function present<Key extends string>(key: Key, value: number | undefined): Partial<Record<Key, number>> {
  return value === undefined ? {} : ({ [key]: value } as Record<Key, number>);
}
