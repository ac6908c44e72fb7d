import type { Window } from "@tradewind/core/contract/window.ts";
import { allocatedCpuCores, mainContainers, meanOfKnown } from "@tradewind/core/measure/main-containers.ts";
import { SATURATED } from "../../../models/queue/take-window.ts";
import { START_SHARE } from "./starts.ts";

/** New processes with just-in-time compilation use two to four times the CPU a request; more is taken for chance. */
const MOST_FACTOR = 10;

/**
 * CPU that a container takes a request while it is young over that of one which is not, after one more window: requests are
 * spread evenly, so it is the ratio of their use. Known only from windows with both kinds, of which the older have CPU to spare; a
 * young container that is full says how much it is at least. During a rolling update nothing is known: the young ones are another program.
 * Undefined before.
 */
export function warmUpAfter(
  factorBefore: number | undefined,
  window: Window,
  youngMs: number,
): number | undefined {
  if ((window.newestRevisionShare ?? 1) < 1) return factorBefore;
  const young: number[] = [];
  const grown: number[] = [];
  let [isYoungFull, isGrownFull] = [false, false];
  for (const container of mainContainers(window)) {
    const { cpuUsageCores, startedAtMs } = container;
    if (cpuUsageCores === undefined || startedAtMs === undefined) continue;
    const isFull = cpuUsageCores >= SATURATED * (allocatedCpuCores(container) ?? Infinity);
    if (window.endMs - startedAtMs < youngMs) {
      young.push(cpuUsageCores);
      isYoungFull ||= isFull;
    } else {
      grown.push(cpuUsageCores);
      isGrownFull ||= isFull;
    }
  }
  const [ofYoung = 0, ofGrown = 0] = [meanOfKnown(young), meanOfKnown(grown)];
  if (isGrownFull || !(ofYoung > 0) || !(ofGrown > 0)) return factorBefore;
  const factor = Math.min(MOST_FACTOR, Math.max(1, ofYoung / ofGrown));
  if (factorBefore === undefined) return factor;
  return isYoungFull && factor < factorBefore
    ? factorBefore
    : factorBefore + START_SHARE * (factor - factorBefore);
}
