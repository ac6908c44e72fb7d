import type { Pod, PodContainer } from "@tradewind/kubernetes/objects/pod.ts";
import { mainContainer } from "@tradewind/kubernetes/workloads/main-container.ts";
import { containerSize } from "../sizing/container-size.ts";
import { RESOURCE_NAMES, SIZED } from "../sizing/size-history.ts";
import type { ContainerSize, SizedResource } from "../sizing/size-history.ts";

import { differing, resourcesFor } from "./resources-for.ts";
import type { ContainerResources } from "./resources-for.ts";

/** Requests and limits this near to the recommendation are left alone. */
const DEAD_BAND = 0.1;
/** The kubelet retries a deferred resize; after this time the room is not coming back soon. */
const DEFERRED_MS = 5 * 60_000;
/** A resize that is under way for so long will not end by itself. */
const STUCK_MS = 60 * 60_000;
/** After a resize that could not be had the pod is left alone for so long, unless less is wished. */
export const BLOCKED_MS = 60 * 60_000;

/** What is remembered of a pod whose size was changed, or could not be. */
export interface ResizeMemory {
  /** What it had before. */
  readonly before: ContainerResources;
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
  | { readonly kind: "resize"; readonly container: string; readonly resources: ContainerResources }
  /** The node cannot give it: take the wish back, so that the scheduler does not count what nobody has. */
  | {
      readonly kind: "take-back";
      readonly container: string;
      readonly resources: ContainerResources;
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
    if (nowMs - (memory?.blockedAtMs ?? Number.NEGATIVE_INFINITY) <= BLOCKED_MS)
      return leave("it still asks for what could not be had");
    const reason = `${pending.reason}: ${pending.message}`.slice(0, 300);
    return { kind: "take-back", container: container.name, resources: held(container, memory), reason };
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
  const movable: Partial<Record<SizedResource, number>> = {};
  for (const resource of SIZED) {
    const called = RESOURCE_NAMES[resource];
    const wished = settled[resource];
    if (wished === undefined || scalePoints.includes(called) || container.restartsOn.includes(called))
      continue;
    movable[resource] = wished;
  }
  const wanted = resourcesFor(pod, container, movable);
  if ("reason" in wanted) return leave(wanted.reason);
  const resources = differing(wanted, container, DEAD_BAND);
  if (resources === undefined) return { kind: "fits", done: memory !== undefined };
  return { kind: "resize", container: container.name, resources };
}

/** What the kubelet has set aside and keeps to, else what was there before; only where something else is asked for. */
function held(
  { allocated, limits, limitsInForce, requests }: PodContainer,
  memory: ResizeMemory | undefined,
): ContainerResources {
  const differ = (had: ContainerSize, asked: ContainerSize): ContainerSize =>
    Object.fromEntries(
      Object.entries(had).filter(([resource, value]) => value !== asked[resource as SizedResource]),
    );
  const hadLimits = { ...memory?.before.limits, ...limitsInForce };
  const hadRequests = { ...memory?.before.requests, ...allocated };
  return { requests: differ(hadRequests, requests), limits: differ(hadLimits, limits) };
}

/** A predecessor may have asked for it. */
function isWished(container: PodContainer, settled: ContainerSize): boolean {
  const sizes = [container.requests, containerSize(container)];
  return SIZED.some((resource) => {
    const wished = settled[resource];
    if (wished === undefined) return false;
    return sizes.some(({ [resource]: now = 0 }) => Math.abs(now - wished) <= DEAD_BAND * wished);
  });
}

function isBlocked({ memory, nowMs, settled }: ResizeInputs): boolean {
  if (memory?.blockedAtMs === undefined || nowMs - memory.blockedAtMs > BLOCKED_MS) return false;
  return SIZED.some(
    (resource) => (settled[resource] ?? 0) >= (memory.wished[resource] ?? Number.POSITIVE_INFINITY),
  );
}

const leave = (reason: string): Judgement => ({ kind: "leave", reason });
