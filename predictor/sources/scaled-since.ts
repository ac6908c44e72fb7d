import type { ApplicationMode } from "@tradewind/core/contract/plan.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import type { Scaling } from "./workload-source.ts";

type Scaled = Pick<Window, "maxReplicas" | "minReplicas" | "replicasWanted" | "scalingPaused">;

/**
 * The windows with what the platform is asked for now, where somebody has scaled a service that is not acted on, or has begun or ended to
 * hold one still. What a decision that is carried out changes waits for the next window.
 * @param paused services that a person pauses
 * @returns undefined where nothing has changed
 */
export function scaledSince(
  windowSet: WindowSet,
  scalings: readonly Scaling[],
  { mode, namespace }: { readonly mode: ApplicationMode; readonly namespace: string },
  paused: ReadonlySet<string> = new Set(),
): WindowSet | undefined {
  const own = scalings.filter((each) => each.namespace === namespace);
  const byService = Map.groupBy(own, ({ service }) => service);
  let isChanged = false;
  const windows = windowSet.windows.map((window): Window => {
    const now = window.namespace === namespace ? byService.get(window.service) : undefined;
    // Several workloads of one service: their sum waits for the next window.
    const [scaling] = now?.length === 1 ? now : [];
    if (scaling === undefined || window.replicasWanted === undefined) return window;
    const isHeld = mode !== "act" || window.scalingPaused !== undefined || paused.has(window.service);
    const isScaled = isHeld && scaling.replicasWanted !== window.replicasWanted;
    if (!isScaled && scaling.scalingPaused === window.scalingPaused) return window;
    isChanged = true;
    const { maxReplicas: _most, minReplicas: _least, scalingPaused: _paused, ...rest } = window;
    return { ...rest, ...scaledOf(scaling) };
  });
  return isChanged ? { ...windowSet, windows } : undefined;
}

const scaledOf = ({ maxReplicas, minReplicas, replicasWanted, scalingPaused }: Scaling): Scaled => ({
  replicasWanted,
  ...(minReplicas !== undefined && { minReplicas }),
  ...(maxReplicas !== undefined && { maxReplicas }),
  ...(scalingPaused !== undefined && { scalingPaused }),
});
