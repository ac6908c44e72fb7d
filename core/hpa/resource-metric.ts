import { isWithinTolerance } from "./hpa.ts";
import type { Proposal } from "./hpa.ts";
import type { Behavior } from "./behavior.ts";

/** A pod as the HorizontalPodAutoscaler controller sees it: its conditions and its sample of the resource. */
export interface MeasuredPod {
  /** False while no node has taken it. */
  readonly isScheduled: boolean;
  readonly isDeleting: boolean;
  readonly isReady: boolean;
  readonly startedAtMs: number;
  /** When its readiness last changed; the start before it was ever ready. */
  readonly readinessChangedAtMs: number;
  /** Sum of the containers' requests, cores; 0 without any. */
  readonly requested: number;
  /** Mean use over the sample's window, cores; absent where the metrics server has no sample. */
  readonly used?: number;
  readonly sampledAtMs?: number;
}

/** Flags of kube-controller-manager that say when a sample of a young pod counts. */
export interface ReadinessRules {
  /** `--horizontal-pod-autoscaler-cpu-initialization-period` */
  readonly cpuInitializationSeconds: number;
  /** `--horizontal-pod-autoscaler-initial-readiness-delay` */
  readonly initialReadinessDelaySeconds: number;
  /** Window of one sample of the metrics server. */
  readonly sampleSeconds: number;
}

export const KUBERNETES_READINESS: ReadinessRules = {
  cpuInitializationSeconds: 300,
  initialReadinessDelaySeconds: 30,
  sampleSeconds: 15,
};

interface Groups {
  readonly ready: readonly MeasuredPod[];
  /** Start up, or used CPU for starting up: their samples say nothing about load. */
  readonly unready: readonly MeasuredPod[];
  readonly missing: readonly MeasuredPod[];
}

/** Whether the sample of a scheduled pod does not count yet; `groupPods` of the replica calculator. */
function isUnready(pod: MeasuredPod, rules: ReadinessRules, nowMs: number): boolean {
  const { isReady, readinessChangedAtMs, sampledAtMs = 0, startedAtMs } = pod;
  if (startedAtMs + rules.cpuInitializationSeconds * 1e3 > nowMs) {
    return !isReady || sampledAtMs < readinessChangedAtMs + rules.sampleSeconds * 1e3;
  }
  return !isReady && startedAtMs + rules.initialReadinessDelaySeconds * 1e3 > readinessChangedAtMs;
}

function group(pods: readonly MeasuredPod[], rules: ReadinessRules, nowMs: number): Groups {
  const groups = { ready: [] as MeasuredPod[], unready: [] as MeasuredPod[], missing: [] as MeasuredPod[] };
  for (const pod of pods) {
    if (pod.isDeleting) continue;
    if (!pod.isScheduled) groups.unready.push(pod);
    else if (pod.used === undefined || !Number.isFinite(pod.used)) groups.missing.push(pod);
    else if (isUnready(pod, rules, nowMs)) groups.unready.push(pod);
    else groups.ready.push(pod);
  }
  return groups;
}

/** Use over request in whole percent, over the target; undefined when nothing is requested. */
function usageRatio(
  samples: readonly { readonly used: number; readonly requested: number }[],
  targetPercent: number,
): number | undefined {
  const used = samples.reduce((sum, sample) => sum + sample.used, 0);
  const requested = samples.reduce((sum, sample) => sum + sample.requested, 0);
  return requested > 0 ? Math.trunc((100 * used) / requested + 1e-9) / targetPercent : undefined;
}

/** A Resource metric with a Utilization target, as one sync reads it. */
export interface ResourceMetric {
  readonly pods: readonly MeasuredPod[];
  /** `averageUtilization`: use over request, percent. */
  readonly targetPercent: number;
  readonly rules: ReadinessRules;
  /** Of the clock of the pods' times. */
  readonly readAtMs: number;
}

export interface UtilisationTarget {
  /** `averageUtilization`: use over request, percent. */
  readonly targetPercent: number;
  readonly behavior: Behavior;
  readonly rules?: ReadinessRules;
}

/**
 * Replicas that a Resource metric with a Utilization target asks for, by `GetResourceReplicas` of kube-controller-manager:
 * missing pods count as using all they request when the rest asks for fewer replicas and nothing when it asks for more,
 * unready ones as using nothing, and neither may turn the direction round.
 * @param current `spec.replicas`
 * @returns undefined when no pod has a usable sample: the metric has then failed
 */
export function proposeByUtilisation(
  pods: readonly MeasuredPod[],
  { behavior, rules = KUBERNETES_READINESS, targetPercent }: UtilisationTarget,
  current: number,
  nowMs: number,
): Proposal | undefined {
  const { missing, ready, unready } = group(pods, rules, nowMs);
  const samples = ready.map(({ requested, used = 0 }) => ({ requested, used }));
  const first = usageRatio(samples, targetPercent);
  if (first === undefined) return undefined;
  const growsWithUnready = unready.length > 0 && first > 1;
  if (!growsWithUnready && missing.length === 0) {
    const wanted = Math.ceil(first * ready.length);
    return isWithinTolerance(first, behavior)
      ? { replicas: current, isHeld: wanted !== current }
      : { replicas: wanted, isHeld: false };
  }
  const assumedShare = first < 1 ? Math.max(100, targetPercent) / 100 : 0;
  const all = [
    ...samples,
    ...(first === 1 ? [] : missing.map(({ requested }) => ({ requested, used: requested * assumedShare }))),
    ...(growsWithUnready ? unready.map(({ requested }) => ({ requested, used: 0 })) : []),
  ];
  const second = usageRatio(all, targetPercent) ?? first;
  const wanted = Math.ceil(second * all.length);
  const turnsRound = (first < 1 && second > 1) || (first > 1 && second < 1);
  const contradicts = (second < 1 && wanted > current) || (second > 1 && wanted < current);
  return isWithinTolerance(second, behavior) || turnsRound || contradicts
    ? { replicas: current, isHeld: true }
    : { replicas: wanted, isHeld: false };
}

/**
 * Replicas that an External metric with a Value target asks for: the ratio to the target times the ready pods, as a feedback
 * loop and not as an absolute number; without pods the ratio itself.
 */
export function proposeByValue(
  { target, value }: { readonly value: number | undefined; readonly target: number },
  behavior: Behavior,
  current: number,
  readyPods: number,
): Proposal | undefined {
  if (value === undefined || !Number.isFinite(value) || !(target > 0)) return undefined;
  const ratio = value / target;
  const wanted = Math.ceil(current === 0 ? ratio : ratio * readyPods);
  return isWithinTolerance(ratio, behavior)
    ? { replicas: current, isHeld: wanted !== current }
    : { replicas: wanted, isHeld: false };
}
