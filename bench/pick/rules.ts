import { mean } from "@tradewind/core/values/statistics.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { allocatedCpuCores, allocatedMemoryBytes } from "@tradewind/core/measure/main-containers.ts";
import type { Choice, Resource } from "./models.ts";
import type { PickState } from "./picks.ts";

/** The service with the highest score, and always the same resource. */
function highest({ windowSet }: PickState, resource: Resource, scoreOf: (window: Window) => number): Choice {
  const scores = windowSet.windows.map(scoreOf);
  return { service: scores.indexOf(Math.max(...scores)), resource };
}

const tailSeconds = ({ ownLatency }: Window): number => ownLatency?.p95Seconds ?? 0;

/** Mean over the containers of use over what is allocated. */
function share(
  { containers }: Window,
  of: (container: Window["containers"][number]) => readonly [number | undefined, number | undefined],
): number {
  const shares = containers.map((container) => {
    const [used = 0, allocated = Infinity] = of(container);
    return used / allocated;
  });
  return mean(shares, 0);
}

/** Memory for the service with the largest self-time p95 × (working set / limit)³ ÷ replicas. */
export const mostMemoryStarved = (state: PickState): Choice =>
  highest(state, "memory", (window) => {
    const full = share(window, (each) => [each.memoryWorkingSetBytes, allocatedMemoryBytes(each)]);
    return (tailSeconds(window) * full ** 3) / Math.max(1, window.replicasReady ?? 1);
  });

/** A replica for the service with the highest CPU utilisation: what an HPA on CPU would scale first. */
export const mostUtilised = (state: PickState): Choice =>
  highest(state, "replicas", (window) =>
    share(window, (each) => [each.cpuUsageCores, allocatedCpuCores(each)]),
  );
