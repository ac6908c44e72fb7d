/** How often and how long its quota held a cgroup back, cumulative; NaN without a count. */
export interface ThrottlingCounts {
  readonly periods: number;
  readonly throttledPeriods: number;
  readonly throttledSeconds: number;
}

/**
 * Throttling of a container by its own quota or its pod's, cumulative. Between two reads the quota that held it back more
 * often counts.
 */
export class Throttling {
  #own: ThrottlingCounts | undefined;
  #pod: ThrottlingCounts | undefined;
  #total: ThrottlingCounts | undefined;

  /** @param pod undefined where the pod has no quota */
  next(own: ThrottlingCounts, pod: ThrottlingCounts | undefined): ThrottlingCounts {
    const total = this.#next(own, pod);
    this.#own = own;
    this.#pod = pod;
    this.#total = total;
    return total;
  }

  #next(own: ThrottlingCounts, pod: ThrottlingCounts | undefined): ThrottlingCounts {
    const isAlone = pod === undefined && this.#pod === undefined;
    if (this.#total === undefined || isAlone) return pod !== undefined && !(own.periods > 0) ? pod : own;
    const ownRise = riseOf(this.#own, own);
    const podRise = riseOf(this.#pod, pod);
    const isPods = !(own.periods > 0) || podRise.throttledPeriods > ownRise.throttledPeriods;
    const rise = isPods ? podRise : ownRise;
    return {
      periods: this.#total.periods + rise.periods,
      throttledPeriods: this.#total.throttledPeriods + rise.throttledPeriods,
      throttledSeconds: this.#total.throttledSeconds + rise.throttledSeconds,
    };
  }
}

/** 0 across a reset, and when one of the two is not known. */
function riseOf(before: ThrottlingCounts | undefined, now: ThrottlingCounts | undefined): ThrottlingCounts {
  const rise = (name: keyof ThrottlingCounts): number =>
    Math.max(0, (now?.[name] ?? Number.NaN) - (before?.[name] ?? Number.NaN)) || 0;
  return {
    periods: rise("periods"),
    throttledPeriods: rise("throttledPeriods"),
    throttledSeconds: rise("throttledSeconds"),
  };
}
