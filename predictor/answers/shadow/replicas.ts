import type { ServiceSpec } from "@tradewind/core/contract/application.ts";
import { KUBERNETES_DEFAULT_BEHAVIOR } from "@tradewind/core/hpa/behavior.ts";
import type { Behavior } from "@tradewind/core/hpa/behavior.ts";
import { EMPTY_MEMORY, remember, syncHpa } from "@tradewind/core/hpa/hpa.ts";
import type { HpaMemory, HpaSpec } from "@tradewind/core/hpa/hpa.ts";
import { proposeByUtilisation } from "@tradewind/core/hpa/resource-metric.ts";
import type { MeasuredPod } from "@tradewind/core/hpa/resource-metric.ts";

/** The HPA of a service, with the CPU target that it holds. */
interface ShadowHpa extends HpaSpec {
  readonly targetPercent: number;
}

const DEFAULT_PERCENT = 60;

/** The HPA that the service had, or the one that most have. */
export function shadowHpa({ hpa, maxReplicas, minReplicas }: ServiceSpec): ShadowHpa {
  const { behavior = {}, cpuPercent = DEFAULT_PERCENT } = hpa ?? {};
  const least = Math.max(1, hpa?.minReplicas ?? minReplicas);
  return {
    targetPercent: cpuPercent,
    minReplicas: least,
    maxReplicas: Math.max(least, hpa?.maxReplicas ?? maxReplicas),
    behavior: mergedBehavior(behavior),
  };
}

type Given = NonNullable<NonNullable<ServiceSpec["hpa"]>["behavior"]>;

const mergedBehavior = ({ scaleDown, scaleUp }: Given): Behavior => ({
  scaleUp: { ...KUBERNETES_DEFAULT_BEHAVIOR.scaleUp, ...withoutAbsent(scaleUp) },
  scaleDown: { ...KUBERNETES_DEFAULT_BEHAVIOR.scaleDown, ...withoutAbsent(scaleDown) },
});

const withoutAbsent = (given: Given["scaleUp"] = {}): Partial<Behavior["scaleUp"]> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

/** What all pods of a service used, and what each may. */
export interface ShadowUse {
  /** CPU of all pods together, cores. */
  readonly usedCores: number;
  /** Of all containers of one pod. */
  readonly requestedCores: number;
  /** A pod uses no more; absent: there is no limit. */
  readonly limitCores?: number | undefined;
}

/** Replicas of one service as its HPA would have them. */
export interface ShadowReplicas {
  readonly replicas: number;
  /** When those that start are ready, rising, ms since the epoch. */
  readonly readyAtMs: readonly number[];
  readonly memory: HpaMemory;
}

export const startingWith = (replicas: number): ShadowReplicas => ({
  replicas,
  readyAtMs: [],
  memory: EMPTY_MEMORY,
});

const SYNC_MS = 15_000;

interface Interval {
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * The syncs of an HPA within a window, by the CPU that was used in it.
 * @param startSeconds how long a pod takes until it is ready
 * @returns what it has at the end, and the mean of those that were ready
 */
export function overWindow(
  before: ShadowReplicas,
  hpa: ShadowHpa,
  use: ShadowUse,
  { endMs, startMs }: Interval,
  startSeconds: number,
): { readonly after: ShadowReplicas; readonly meanReady: number } {
  const syncs = Math.max(1, Math.round((endMs - startMs) / SYNC_MS));
  const stepMs = (endMs - startMs) / syncs;
  let after = before;
  let readySum = 0;
  for (let sync = 1; sync <= syncs; sync += 1) {
    const nowMs = startMs + sync * stepMs;
    readySum += readyCount(after, nowMs - stepMs / 2);
    after = synced(after, hpa, use, nowMs, startSeconds);
  }
  return { after, meanReady: readySum / syncs };
}

const readyCount = ({ readyAtMs, replicas }: ShadowReplicas, nowMs: number): number =>
  Math.max(1, replicas - readyAtMs.filter((ms) => ms > nowMs).length);

function synced(
  before: ShadowReplicas,
  hpa: ShadowHpa,
  use: ShadowUse,
  nowMs: number,
  startSeconds: number,
): ShadowReplicas {
  const { replicas: current } = before;
  const readyAtMs = before.readyAtMs.filter((ms) => ms > nowMs);
  const pods = podsOf(current, readyAtMs, use, nowMs);
  const { behavior, targetPercent } = hpa;
  const proposal = proposeByUtilisation(pods, { targetPercent, behavior }, current, nowMs);
  const decision = syncHpa(hpa, [proposal], current, before.memory, nowMs);
  const { replicas } = decision;
  if (replicas === current) return { replicas, readyAtMs, memory: decision.memory };
  const started = Array.from({ length: Math.max(0, replicas - current) }, () => nowMs + 1e3 * startSeconds);
  return {
    replicas,
    // Pods that are not ready go first.
    readyAtMs: replicas > current ? [...readyAtMs, ...started] : readyAtMs.slice(current - replicas),
    memory: remember(decision.memory, { atMs: nowMs, change: replicas - current }, behavior),
  };
}

/** Those that are ready share the use; those that start use nothing. */
function podsOf(
  replicas: number,
  readyAtMs: readonly number[],
  { limitCores = Number.POSITIVE_INFINITY, requestedCores, usedCores }: ShadowUse,
  nowMs: number,
): MeasuredPod[] {
  const starting = Math.min(readyAtMs.length, replicas - 1);
  const ready = replicas - starting;
  const used = Math.min(limitCores, usedCores / ready);
  const pod = { isScheduled: true, isDeleting: false, requested: requestedCores, sampledAtMs: nowMs };
  return Array.from({ length: replicas }, (_, number) =>
    number < ready
      ? { ...pod, isReady: true, startedAtMs: 0, readinessChangedAtMs: 0, used }
      : { ...pod, isReady: false, startedAtMs: nowMs, readinessChangedAtMs: nowMs, used: 0 },
  );
}
