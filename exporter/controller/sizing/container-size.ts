import type { PodContainer } from "@tradewind/kubernetes/objects/pod.ts";
import { SIZED } from "./size-history.ts";
import type { ContainerSize, SizedResource } from "./size-history.ts";

/** Undefined where there is none; Kubernetes takes a limit of 0 for none. */
export function limitOf(
  { limits }: Pick<PodContainer, "limits">,
  resource: SizedResource,
): number | undefined {
  const limit = limits[resource];
  return limit === 0 ? undefined : limit;
}

/** What a container may use: its limit, else its request. The sizes of plans are of this. */
export function containerSize(container: PodContainer): ContainerSize {
  const size: Partial<Record<SizedResource, number>> = {};
  for (const resource of SIZED) {
    const value = limitOf(container, resource) ?? container.requests[resource];
    if (value !== undefined) size[resource] = value;
  }
  return size;
}

/**
 * The request that a VPA is to name for a size. Where limits follow requests VPA keeps their ratio, so a CPU limit becomes the
 * size; memory is requested whole, and its limit is then no less.
 */
export function requestFor(
  container: PodContainer,
  resource: SizedResource,
  size: number,
  limitsFollow: boolean,
): number {
  const followed = followedLimit(container, resource, limitsFollow);
  return followed === undefined ? size : (size * followed.request) / followed.limit;
}

/**
 * The size of a container in the terms of {@link requestFor}: the one for which that names the request which the container has. What a VPA holds
 * must be of this: a limit that is held as a request doubles both where limits follow.
 */
export function requestedSize(container: PodContainer, limitsFollow: boolean): ContainerSize {
  const size: Partial<Record<SizedResource, number>> = {};
  for (const resource of SIZED) {
    const { [resource]: request = limitOf(container, resource) } = container.requests;
    const value = followedLimit(container, resource, limitsFollow)?.limit ?? request;
    if (value !== undefined) size[resource] = value;
  }
  return size;
}

function followedLimit(
  container: PodContainer,
  resource: SizedResource,
  limitsFollow: boolean,
): { readonly limit: number; readonly request: number } | undefined {
  const limit = limitOf(container, resource);
  const request = container.requests[resource];
  const isFollowed = limitsFollow && resource === "cpuCores" && limit !== undefined && request !== undefined;
  return isFollowed ? { limit, request } : undefined;
}
