import type { Pod, PodContainer } from "../objects/pod.ts";

/**
 * The container that a service's size is meant for: the one that kubectl takes by default, else the one called like the
 * workload, else the first. Sidecars are left as they are.
 */
export function mainContainer(
  { containers, defaultContainer }: Pick<Pod, "containers" | "defaultContainer">,
  workload: string,
): PodContainer | undefined {
  const own = containers.filter(({ isSidecar }) => !isSidecar);
  return (
    own.find(({ name }) => name === defaultContainer) ?? own.find(({ name }) => name === workload) ?? own[0]
  );
}
