import type { ExternalMetric } from "./hpa.ts";

/**
 * The CPU metric of a HorizontalPodAutoscaler (type Resource, averageUtilization) as a sum over an average target, by the
 * rules of kube-controller-manager for pods without a reading: they count as idle where the others ask for more, as fully
 * used where the others ask for less, and where that turns the direction round nothing moves.
 * @param usageCores mean use of each ready replica, cores; undefined where it has no reading yet
 * @param requestCores what each replica requests, cores (> 0)
 * @param cpuRatio target of use over request, above 0 to 1
 * @returns undefined when no replica has a reading
 */
export function cpuMetric(
  usageCores: readonly (number | undefined)[],
  requestCores: number,
  cpuRatio: number,
): ExternalMetric | undefined {
  const known = usageCores.filter((each) => each !== undefined);
  if (known.length === 0) return undefined;
  const targetAverageValue = requestCores * cpuRatio;
  const used = known.reduce((sum, each) => sum + each, 0);
  const asksForMore = used > targetAverageValue * known.length;
  const missing = usageCores.length - known.length;
  const usage = asksForMore ? used : used + missing * requestCores;
  const unchanged = targetAverageValue * usageCores.length;
  const turned = asksForMore ? usage < unchanged : usage > unchanged;
  return { usage: missing > 0 && turned ? unchanged : usage, targetAverageValue };
}
