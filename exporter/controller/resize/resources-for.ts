import type { Pod, PodContainer } from "@tradewind/kubernetes/objects/pod.ts";
import { limitOf } from "../sizing/container-size.ts";
import { BELOW_LIMIT } from "../sizing/quality-of-service.ts";
import { SIZED } from "../sizing/size-history.ts";
import type { ContainerSize, SizedResource } from "../sizing/size-history.ts";

/** Requests and limits of a container; absent parts are left as they are. */
export interface ContainerResources {
  readonly requests: ContainerSize;
  readonly limits: ContainerSize;
}

/** The least by which Kubernetes' quantities are told apart here: a thousandth of a core, a mebibyte. */
const UNIT: Readonly<Record<SizedResource, number>> = { cpuCores: 0.001, memoryBytes: 2 ** 20 };

/**
 * What a container's requests and limits become for a size, so that its pod keeps its QoS class.
 *
 * | limit | CPU                                                | memory                                                 |
 * | none  | the request is the size                            | the same                                               |
 * | set   | the limit is the size, the request keeps its share | a smaller size moves the request alone, a larger both |
 *
 * A memory limit is never lowered in place: one below what is used kills. Where request and limit are equal they stay equal.
 */
export function resourcesFor(
  { qosClass }: Pod,
  container: PodContainer,
  size: ContainerSize,
): ContainerResources | { readonly reason: string } {
  if (qosClass === "BestEffort")
    return { reason: "its pods have no requests (BestEffort); give them one first" };
  const requests: Partial<Record<SizedResource, number>> = {};
  const limits: Partial<Record<SizedResource, number>> = {};
  for (const resource of SIZED) {
    const wished = size[resource];
    if (wished === undefined) continue;
    const limit = limitOf(container, resource);
    const request = container.requests[resource] ?? limit;
    if (limit === undefined || request === undefined) {
      requests[resource] = wished;
      continue;
    }
    const isShrinking = resource === "memoryBytes" && wished < limit;
    if (request >= limit) {
      if (isShrinking) continue;
      requests[resource] = wished;
      limits[resource] = wished;
      continue;
    }
    const next = isShrinking ? limit : wished;
    const most = Math.min(BELOW_LIMIT * next, next - UNIT[resource]);
    requests[resource] = Math.min(most, resource === "cpuCores" ? (wished * request) / limit : wished);
    if (!isShrinking) limits[resource] = next;
  }
  return { requests, limits };
}

/** The parts that are off by more than a share of what is set; a resource that moves does so with its limit. */
export function differing(
  { limits, requests }: ContainerResources,
  container: PodContainer,
  band: number,
): ContainerResources | undefined {
  const isOff = (wished: number | undefined, now: number | undefined): boolean =>
    wished !== undefined && (now === undefined || Math.abs(wished - now) > band * now);
  const moving = SIZED.filter(
    (resource) =>
      isOff(requests[resource], container.requests[resource]) ||
      isOff(limits[resource], container.limits[resource]),
  );
  if (moving.length === 0) return undefined;
  const only = (size: ContainerSize): ContainerSize =>
    Object.fromEntries(Object.entries(size).filter(([resource]) => moving.some((each) => each === resource)));
  return { requests: only(requests), limits: only(limits) };
}
