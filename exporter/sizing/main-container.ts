import type { Pod, PodContainer } from "@tradewind/kubernetes/objects/pod.ts";

/**
 * The container that a service's size is meant for: the one that kubectl takes by default, else the one called like the
 * workload, else the first. Sidecars are left as they are.
 */
export function mainContainer(pod: Pod, workload: string): PodContainer | undefined {
  const own = pod.containers.filter(({ isSidecar }) => !isSidecar);
  return (
    own.find(({ name }) => name === pod.defaultContainer) ??
    own.find(({ name }) => name === workload) ??
    own[0]
  );
}
