/** Statistics of the response time, by their place in the table. */
export const MEAN = 0;
export const P50 = 1;
export const P95 = 2;
export const P99 = 3;
export type Statistic = typeof MEAN | typeof P50 | typeof P95 | typeof P99;

/** Length of a CFS period, seconds: the kernel's default and the one Kubernetes sets (cpu-cfs-quota-period). */
export const CFS_PERIOD_SECONDS = 0.1;

/** Where a container stands, without units of time. Capacity is min(cores of the CPU limit, parallelism). */
export interface QueuePlace {
  /** CPU asked for over capacity, >= 0; above 1 the queue grows as long as the window lasts. */
  utilisation: number;
  /** Cores of the CPU limit over parallelism, > 0; 1 and above: the quota is never used up. */
  quotaShare: number;
  /** CFS period over the mean demand, > 0. Times cores of the limit it is the quota of one period in requests. */
  periodDemands: number;
  /** Cores that the program can use at once, > 0; 0.5: its threads get half a core. */
  parallelism: number;
  /** Standard deviation of the demand over its mean, > 0. */
  variation: number;
  /** Length of the window over the mean demand, >= 0: how far the queue of an over-full container grows. */
  windowDemands: number;
}

/** Response time over the mean demand, and derivatives of its logarithm. */
export interface QueueAnswer {
  ratio: number;
  /** By utilisation, >= 0. The others are by the logarithm of the input. */
  byUtilisation: number;
  byQuotaShare: number;
  byPeriodDemands: number;
  byParallelism: number;
  byVariation: number;
}

export const emptyAnswer = (): QueueAnswer => ({
  ratio: 0,
  byUtilisation: 0,
  byQuotaShare: 0,
  byPeriodDemands: 0,
  byParallelism: 0,
  byVariation: 0,
});

const LAST_UTILISATION = 0.96;
const NORMAL_QUANTILES = [0, 0, 1.645, 2.326] as const;

/**
 * Response time of a request (mean or percentile) at one container, over the mean demand; written into `out`.
 * Finite and > 0 for finite input, not falling in utilisation, convex in it beyond 0.96.
 */
export function responseRatio(place: QueuePlace, statistic: Statistic, out: QueueAnswer): void {
  const { parallelism, periodDemands, quotaShare, utilisation, variation, windowDemands } = place;
  const rho = Math.min(LAST_UTILISATION, Math.max(0, utilisation));
  const share = Math.min(1, quotaShare);
  const threads = Math.max(1, parallelism);
  const power = Math.sqrt(2 * (threads + 1)) - 1;
  const wait = rho ** power / (threads * (1 - rho));
  const stall =
    (1 - share) ** 2 * periodDemands * (rho / (1 - rho) / (1 + periodDemands * share * threads) + 0);
  const pace =
    Math.min(1, parallelism) *
    Math.min(
      1,
      Math.max(share * threads, (periodDemands * share * threads) / (1 + periodDemands * share * threads)),
    );
  const spread = Math.sqrt(Math.log1p(variation * variation + rho));
  const z = NORMAL_QUANTILES[statistic];
  const factor = statistic === MEAN ? 1 : Math.exp(z * spread - (spread * spread) / 2);
  const ratio = (factor * (1 + wait + stall)) / pace;
  const dWait = wait * (power / Math.max(rho, 1e-9) + 1 / (1 - rho));
  const dStall = stall * (1 / Math.max(rho, 1e-9) + 1 / (1 - rho));
  out.byUtilisation = (dWait + dStall) / (1 + wait + stall);
  out.ratio = ratio;
  if (utilisation > LAST_UTILISATION) {
    const slope = Math.max(ratio * out.byUtilisation, windowDemands);
    out.ratio = ratio + slope * (utilisation - LAST_UTILISATION);
    out.byUtilisation = slope / out.ratio;
  }
  out.byQuotaShare = quotaShare < 1 ? -1 : 0;
  out.byPeriodDemands = 0;
  out.byParallelism = parallelism < 1 ? -1 : 0;
  out.byVariation = 0;
}
