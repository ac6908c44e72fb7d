/** What the agents say of the ready pods of one service, main containers only. */
export interface ServiceReading {
  /** When the oldest of the snapshots behind it was taken, on our monotonic clock. ms */
  readonly atMs: number;
  /** Pods whose CPU use was read. */
  readonly pods: number;
  /** CPU that they use, all together. */
  readonly cpuCores: number;
  /** Mean share of their CFS periods that were throttled; absent where no container has a quota. */
  readonly throttledRatio?: number;
  /** Mean CPU limit of these containers; absent where one has none. */
  readonly cpuLimitCores?: number;
  /** Mean memory in use, and mean limit; absent where one of them is not known. */
  readonly memoryBytes?: number;
  readonly memoryLimitBytes?: number;
}

/** Share of the quota from which on throttling may hide demand. */
const QUOTA_USED = 0.8;

/**
 * CPU that requests ask for, cores. A container that has used up its quota would have used more: use counts up to 1 + the share of
 * throttled periods, as where the predictor decides (predictor/decide/facts/demand.ts).
 */
export function demandCores(
  { cpuCores, pods, throttledRatio = 0 }: ServiceReading,
  podCores: number,
): number {
  const used = (cpuCores / (pods * podCores) - QUOTA_USED) / (1 - QUOTA_USED);
  return cpuCores * (1 + throttledRatio * Math.min(1, Math.max(0, used)));
}
