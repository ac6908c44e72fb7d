import { GuardChannel } from "../../agent/sampling/guard.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { neighbour } from "./synthetic.ts";
import { totalAt, totals } from "./trace.ts";

/** Containers under the cgroup that the guard reads, the one watched included. */
export const CONTAINERS = 14;

/** The cumulative usage of all containers but the one watched, by second (see {@link totals}). */
export function neighbours(seed: number, seconds: number): Float64Array {
  const sum = new Float64Array(seconds);
  for (let container = 1; container < CONTAINERS; container += 1) {
    const rates = neighbour(seconds, seededRng(seed + container * 7919));
    for (let second = 0; second < seconds; second += 1) {
      sum[second] = (sum[second] ?? 0) + (rates[second] ?? 0);
    }
  }
  return totals(sum);
}

/**
 * When a guard of the usage of the cgroup above all containers, read once a second, saw it move, by second. It sees the
 * watched container only through the sum with all the others.
 * @param offset when within the second it is read, [0, 1)
 */
export function guardAlarms(
  total: Float64Array,
  others: Float64Array,
  floor: number,
  offset: number,
): boolean[] {
  const guard = new GuardChannel({ kind: "counter", floor });
  return Array.from(total, (_, second) => {
    const at = second + offset;
    return guard.observe(totalAt(total, at) + totalAt(others, at), at * 1e3);
  });
}
