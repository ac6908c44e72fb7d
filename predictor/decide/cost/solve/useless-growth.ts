import type { ApplicationCost } from "../price/application-cost.ts";

/** Of what is missed or late, the share that helps: less of it is outside of what sizes change. */
export const OUTSIDE_SHARE = 0.1;

/**
 * Drops growth that ends next to nothing of a miss. Where the time is outside of what sizes change, each replica still lowers the
 * expected loss by a little, and at the price of a miss all of them would seem worth theirs. Sizes of which some fall are a trade, and stay.
 * @param make the same application at the sizes that it has; not called where the objective is expected to hold
 */
export function dropUselessGrowth(cost: ApplicationCost, make: () => ApplicationCost): void {
  if (cost.isMet() || cost.services.some((_, number) => isSmaller(cost, number))) return;
  const lossBefore = make().expectedLoss();
  if (lossBefore - cost.expectedLoss() >= OUTSIDE_SHARE * lossBefore) return;
  for (const [number, { base, floor }] of cost.services.entries()) {
    const size = cost.sizeOf(number);
    cost.set(number, {
      ...size,
      replicas: Math.min(size.replicas, Math.max(base.replicas, floor.replicas)),
      cpuCores: Math.min(size.cpuCores, Math.max(base.cpuCores, floor.cpuCores)),
    });
  }
}

function isSmaller(cost: ApplicationCost, number: number): boolean {
  const [{ cpuCores, replicas }, base] = [cost.sizeOf(number), cost.services[number]?.base];
  return base !== undefined && (replicas < base.replicas || cpuCores < base.cpuCores);
}
