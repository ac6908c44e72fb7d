import type { Wish } from "@tradewind/core/contract/plan.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { containerSize } from "../decide/facts/size.ts";

/** Sizes that differ by less than this share are the same. */
const SAME_SIZE_RATIO = 0.02;

/**
 * |predicted − measured| / measured of the slowest flow's tail, one window after the plan that predicted it.
 * @param wishes of the plan before
 * @param windowSet the window after it
 * @param measuredSeconds tail of the slowest flow in that window
 * @returns undefined when nothing was predicted or measured, or the plan was not carried out by then
 */
export function tailPredictionError(
  wishes: readonly Wish[],
  windowSet: WindowSet,
  measuredSeconds: number | undefined,
): number | undefined {
  let predicted: number | undefined;
  const windows = new Map(windowSet.windows.map((window) => [window.service, window]));
  for (const wish of wishes) {
    if (wish.latencyAfterSeconds === undefined) continue;
    if (!isCarriedOut(wish.allocation, windows.get(wish.service))) return undefined;
    predicted = Math.max(predicted ?? 0, wish.latencyAfterSeconds);
  }
  if (predicted === undefined || measuredSeconds === undefined || !(measuredSeconds > 0)) return undefined;
  return Math.abs(predicted - measuredSeconds) / measuredSeconds;
}

/** Whether a size is what ran in a window; a size of CPU that is not known on either side counts as the same. */
export function isCarriedOut(
  allocation: Pick<Wish["allocation"], "cpuCores" | "replicas">,
  window: Window | undefined,
): boolean {
  if (window?.replicasReady !== allocation.replicas) return false;
  const cores = containerSize(window)?.cpuCores;
  if (allocation.cpuCores === undefined || cores === undefined) return true;
  return Math.abs(cores - allocation.cpuCores) <= SAME_SIZE_RATIO * allocation.cpuCores;
}
