import { GuardChannel } from "../../agent/sampling/guard.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import { neighbour } from "./synthetic.ts";
import { totals } from "./trace.ts";

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
 * What a guard makes of the usage of the cgroup above all containers, read once a second: per second its alarm (core
 * seconds beyond the baseline) or 0. It sees the watched container only through the sum with all the others.
 */
export function guardAlarms(total: Float64Array, others: Float64Array, floor: number): Float64Array {
  const guard = new GuardChannel({ kind: "counter", floor });
  return total.map((value, second) => guard.observe(value + (others[second] ?? 0), second * 1e3));
}
