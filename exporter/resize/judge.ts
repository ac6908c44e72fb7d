import type { Pod, PodContainer } from "@tradewind/kubernetes/objects/pod.ts";
import { mainContainer } from "@tradewind/kubernetes/workloads/main-container.ts";
import { keepingClass } from "../sizing/quality-of-service.ts";
import { SIZED } from "../sizing/size-history.ts";
import type { ContainerSize, Sized } from "../sizing/size-history.ts";

/** Requests this near to the wish are left alone. */
const DEAD_BAND = 0.1;
/** The kubelet retries a deferred resize; after this time the room is not coming back soon. */
const DEFERRED_MS = 5 * 60_000;
/** A resize that is under way for so long will not end by itself. */
const STUCK_MS = 60 * 60_000;
/** After a resize that could not be had the pod is left alone for so long, unless less is wished. */
export const BLOCKED_MS = 60 * 60_000;

const RESOURCE_NAMES: Readonly<Record<Sized, "cpu" | "memory">> = { cpuCores: "cpu", memoryBytes: "memory" };

/** What is remembered of a pod whose size was changed, or could not be. */
export interface ResizeMemory {
  /** What it requested before. */
  readonly before: ContainerSize;
  readonly wished: ContainerSize;
  /** Set once the wish could not be had. */
  readonly blockedAtMs?: number | undefined;
}

export interface ResizeInputs {
  readonly pod: Pod;
  readonly workload: string;
  readonly settled: ContainerSize;
  /** Resources that an HPA holds against their request. */
  readonly scalePoints: readonly ("cpu" | "memory")[];
  readonly memory: ResizeMemory | undefined;
  readonly nowMs: number;
}

/** What to do with one pod. */
export type Judgement =
  /** It has what it should have; `done` when that was asked for before. */
  | { readonly kind: "fits"; readonly done: boolean }
  | { readonly kind: "leave"; readonly reason: string }
  /** Asked for, and the kubelet is at it. */
  | { readonly kind: "wait"; readonly reason: "in-progress" | "deferred" }
  | {
      readonly kind: "resize";
      readonly container: string;
      readonly size: ContainerSize;
      readonly limitsToo: boolean;
    }
  /** The node cannot give it: take the wish back, so that the scheduler does not count what nobody has. */
  | {
      readonly kind: "take-back";
      readonly container: string;
      readonly size: ContainerSize;
      readonly reason: string;
    };

/** Decides about one pod from what its conditions say and what it requests. */
export function judge(inputs: ResizeInputs): Judgement {
  const { memory, nowMs, pod, workload } = inputs;
  const container = mainContainer(pod, workload);
  if (container === undefined) return leave("it has no container of its own");
  const pending = pod.resizes.find(({ type }) => type === "PodResizePending");
  if (pending !== undefined) {
    if (memory === undefined && !isWished(container, inputs.settled))
      return leave("somebody else resizes it");
    const sinceMs = nowMs - (pending.sinceMs ?? nowMs);
    const isHopeless = pending.reason === "Infeasible" || sinceMs > DEFERRED_MS;
    if (!isHopeless) return { kind: "wait", reason: "deferred" };
    const reason = `${pending.reason}: ${pending.message}`.slice(0, 300);
    return { kind: "take-back", container: container.name, size: heldSize(container, memory), reason };
  }
  const [progress] = pod.resizes;
  if (progress !== undefined) {
    const isStuck = nowMs - (progress.sinceMs ?? nowMs) > STUCK_MS;
    return isStuck ? leave(`it is stuck: ${progress.message}`) : { kind: "wait", reason: "in-progress" };
  }
  if (pod.phase !== "Running" || pod.isDeleting || !pod.isReady) return leave("it is not ready");
  if (isBlocked(inputs)) return leave("its node could not give it this size");
  return judgeSize(inputs, container);
}

function judgeSize({ memory, pod, scalePoints, settled }: ResizeInputs, container: PodContainer): Judgement {
  const limitsToo = pod.qosClass === "Guaranteed";
  const movable: Partial<Record<Sized, number>> = {};
  for (const resource of SIZED) {
    const called = RESOURCE_NAMES[resource];
    const wished = settled[resource];
    if (wished === undefined || scalePoints.includes(called) || container.restartsOn.includes(called))
      continue;
    const limit = container.limits[resource];
    // A memory limit that shrinks below what is used kills; so it never shrinks in place.
    if (limitsToo && resource === "memoryBytes" && limit !== undefined && wished < limit) continue;
    movable[resource] = wished;
  }
  const kept = keepingClass(pod, container, movable, limitsToo);
  if (kept.size === undefined) return leave(kept.reason);
  const changes: Partial<Record<Sized, number>> = {};
  for (const resource of SIZED) {
    const wished = kept.size[resource];
    const now = container.requests[resource];
    if (wished === undefined || (now !== undefined && Math.abs(wished - now) <= DEAD_BAND * now)) continue;
    changes[resource] = wished;
  }
  if (Object.keys(changes).length === 0) return { kind: "fits", done: memory !== undefined };
  return { kind: "resize", container: container.name, size: changes, limitsToo };
}

/** What the kubelet has set aside, else what was requested before. */
function heldSize({ allocated, requests }: PodContainer, memory: ResizeMemory | undefined): ContainerSize {
  const held: Partial<Record<Sized, number>> = {};
  for (const resource of SIZED) {
    const value = allocated?.[resource] ?? memory?.before[resource];
    if (value !== undefined && value !== requests[resource]) held[resource] = value;
  }
  return held;
}

/** A predecessor may have asked for it. */
function isWished({ requests }: PodContainer, settled: ContainerSize): boolean {
  return SIZED.some((resource) => {
    const [now, wished] = [requests[resource], settled[resource]];
    return now !== undefined && wished !== undefined && Math.abs(now - wished) <= DEAD_BAND * wished;
  });
}

function isBlocked({ memory, nowMs, settled }: ResizeInputs): boolean {
  if (memory?.blockedAtMs === undefined || nowMs - memory.blockedAtMs > BLOCKED_MS) return false;
  return SIZED.some(
    (resource) => (settled[resource] ?? 0) >= (memory.wished[resource] ?? Number.POSITIVE_INFINITY),
  );
}

const leave = (reason: string): Judgement => ({ kind: "leave", reason });
