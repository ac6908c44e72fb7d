import type { RecommendationList, ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import { RESOURCE_NAMES, SIZED, SizeHistory } from "./size-history.ts";
import type { ContainerSize, SizedResource } from "./size-history.ts";

/** Decisions of less confidence are shown, but running pods are not changed for them. */
const MIN_CONFIDENCE = 0.5;
/** A service that nothing was recommended for in this time is forgotten. */
const FORGET_MS = 2 * 3_600_000;

/** Remembers the sizes recommended for every service, see {@link SizeHistory}. */
export class SettledSizes {
  private readonly histories = new Map<string, { readonly history: SizeHistory; recordedMs: number }>();

  /** Takes up the valid recommendations of now. */
  record({ recommendations }: RecommendationList, nowMs: number): void {
    for (const served of recommendations) {
      if (!served.valid) continue;
      const key = keyOf(served);
      const known = this.histories.get(key) ?? { history: new SizeHistory(nowMs), recordedMs: nowMs };
      known.history.record(sizeOf(served), nowMs);
      known.recordedMs = nowMs;
      this.histories.set(key, known);
    }
    for (const [key, { recordedMs }] of this.histories) {
      if (nowMs - recordedMs > FORGET_MS) this.histories.delete(key);
    }
  }

  /** @param running sizes of the service's containers now */
  settled(served: ServedRecommendation, running: readonly ContainerSize[], nowMs: number): ContainerSize {
    const history = this.histories.get(keyOf(served))?.history;
    const size: Partial<Record<SizedResource, number>> = {};
    for (const resource of SIZED) {
      const all = running.flatMap((each) => each[resource] ?? []);
      const largest = all.length === 0 ? undefined : Math.max(...all);
      const value = history?.settled(resource, largest, nowMs);
      if (value !== undefined) size[resource] = value;
    }
    return size;
  }
}

export function sizeOf({ cpuCores, memoryBytes }: ServedRecommendation): ContainerSize {
  return {
    ...(cpuCores !== undefined && { cpuCores }),
    ...(memoryBytes !== undefined && { memoryBytes }),
  };
}

/** The parts of a size that the decision counts on: what is only advised moves nothing. */
export function countedOn(
  size: ContainerSize,
  { advised = [] }: Pick<ServedRecommendation, "advised">,
): ContainerSize {
  return Object.fromEntries(
    Object.entries(size).filter(([resource]) => !advised.includes(RESOURCE_NAMES[resource as SizedResource])),
  );
}

/** Why running pods are not to be changed for a decision; undefined when they may be. */
export function doubtOf({ ageSeconds, confidence, guard, valid }: ServedRecommendation): string | undefined {
  if (!valid && ageSeconds === undefined) return "the age of the last decision is not known";
  if (!valid) return `the last decision is ${Math.round(ageSeconds ?? 0)} s old and expired`;
  if (confidence < MIN_CONFIDENCE) return "the deciding policy is not sure";
  return guard.some(({ step }) => step === "missing-data")
    ? "latency, load or replicas are missing"
    : undefined;
}

const keyOf = ({ namespace, service }: ServedRecommendation): string => `${namespace}\n${service}`;
