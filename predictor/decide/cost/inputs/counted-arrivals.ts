import { DEFAULT_WINDOW_LIMITS } from "../../../window/limits.ts";
import type { Observation } from "../../facts/observation.ts";

/** Of the requests counted as they begin, those that run longest are not known in time: with fewer than this share nothing is. */
const COUNTED_SHARE = 0.7;

/**
 * Requests that arrived at the application over those that it answered, where their beginnings were counted: more while a
 * queue builds up, fewer while one is worked off. Undefined where they were not, or hardly any were known in time.
 * @param answeredPerSecond of all flows that enter there
 * @param flows that were measured; where there is no place for more of them, those without one begin and are not among the answered
 */
export function countedArrivalRatio(
  entry: Observation | undefined,
  answeredPerSecond: number,
  flows = 0,
): number | undefined {
  const began = entry?.window?.beganPerSecond;
  const areAllAnswered = flows < DEFAULT_WINDOW_LIMITS.maxFlows && answeredPerSecond > 0;
  if (began === undefined || !areAllAnswered) return undefined;
  const ratio = began / answeredPerSecond;
  return ratio >= COUNTED_SHARE ? ratio : undefined;
}
