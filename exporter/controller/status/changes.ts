import type { ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import { overrideText } from "@tradewind/core/contract/override.ts";
import { codesOf } from "@tradewind/core/contract/reasons.ts";
import { countedOn, sizeOf } from "../sizing/settled-sizes.ts";
import type { EventFacts } from "@tradewind/kubernetes/write/events.ts";
import { containerText } from "@tradewind/core/contract/sentences.ts";

/** An event without the object it is about. */
export type Change = Omit<EventFacts, "regarding">;

/**
 * What a person would want to hear of, from one look at a service to the next: other numbers, a wish held back, a decision
 * that expired or came back. Nothing at the first look, since a new leader has not seen what its predecessor told.
 */
export function changesBetween(
  before: ServedRecommendation | undefined,
  now: ServedRecommendation,
): Change[] {
  if (before === undefined) return [];
  const orders = overriding(before, now);
  // What is recommended in a pause is not carried out.
  if (now.override?.kind === "pause") return orders;
  return [...orders, ...validity(before, now), ...numbers(before, now), ...holding(before, now)];
}

/** A newer order on the same service begins where the older one ends. */
function overriding(
  { override: before }: ServedRecommendation,
  { override: now }: ServedRecommendation,
): Change[] {
  if (before?.id === now?.id) return [];
  if (now !== undefined) return [change("Normal", "OverrideBegun", "Override", overrideText(now))];
  if (before === undefined) return [];
  const note = `the ${before.kind} by ${before.by} is over; the plan decides again`;
  return [change("Normal", "OverrideEnded", "Override", note)];
}

function validity(before: ServedRecommendation, now: ServedRecommendation): Change[] {
  if (before.valid === now.valid) return [];
  return now.valid
    ? [change("Normal", "DecisionRenewed", "Recommend", "decisions are made again")]
    : [
        change(
          "Warning",
          "DecisionExpired",
          "Hold",
          "the last decision is too old; KEDA is answered UNAVAILABLE and keeps the replicas as they are",
        ),
      ];
}

/** The reason is that of the decision that set the size: the one in force may be a later one that keeps it. */
function numbers(before: ServedRecommendation, now: ServedRecommendation): Change[] {
  const changes: Change[] = [];
  const { setBy = {} } = now;
  const because = ({
    policy,
    reason,
    reasons,
  }: Pick<ServedRecommendation, "policy" | "reason" | "reasons">): string => {
    const facts = [policy, `confidence ${now.confidence.toFixed(2)}`, ...codesOf(reasons)];
    return `(${facts.join(", ")}): ${reason}`;
  };
  if (before.replicas !== now.replicas) {
    const note = `${before.replicas} → ${now.replicas} replicas ${because(setBy.replicas ?? now)}`;
    changes.push(change("Normal", "ReplicasRecommended", "Recommend", note));
  }
  const [was, is] = [sizeCountedOn(before), sizeCountedOn(now)];
  if (was !== is && is !== "") {
    const size = before.cpuCores === now.cpuCores ? setBy.memoryBytes : setBy.cpuCores;
    const note = `container size ${was === "" ? "as it was" : was} → ${is} ${because(size ?? now)}`;
    changes.push(change("Normal", "SizeRecommended", "Recommend", note));
  }
  return changes;
}

function holding(before: ServedRecommendation, now: ServedRecommendation): Change[] {
  const isHeld = ({ replicas, wished }: ServedRecommendation): boolean => wished.replicas !== replicas;
  if (!isHeld(now) || isHeld(before)) return [];
  const steps = now.guard.map(({ reason, step }) => `${step}: ${reason}`).join("; ");
  const note = `${now.wished.replicas} replicas wished, ${now.replicas} recommended: ${steps}`;
  return [change("Normal", "RecommendationHeld", "Hold", note)];
}

/** Advice moves nothing, so that it changes is no news. */
const sizeCountedOn = (served: ServedRecommendation): string =>
  containerText(countedOn(sizeOf(served), served));

const change = (type: Change["type"], reason: string, action: string, note: string): Change => ({
  type,
  reason,
  action,
  note,
});
