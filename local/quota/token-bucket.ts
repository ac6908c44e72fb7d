/** Length of the kernel's CFS bandwidth period, ms (cpu.cfs_period_us, cpu.max). */
export const PERIOD_MILLIS = 100;

export interface BucketState {
  /** CPU time left in this period, ms; negative after an overrun, which the next periods pay. */
  readonly tokensMillis: number;
  /** Start of the current period, ms on the caller's clock. */
  readonly periodStartMs: number;
}

export function fullBucket(quotaMillis: number, nowMs: number): BucketState {
  return { tokensMillis: quotaMillis, periodStartMs: nowMs };
}

/**
 * Moves to the period that holds `nowMs`. As in the kernel's CFS bandwidth control, a period adds one quota, unused time
 * does not pile up beyond one quota, and an overrun is paid back.
 */
export function refill(state: BucketState, quotaMillis: number, nowMs: number): BucketState {
  const periods = Math.floor((nowMs - state.periodStartMs) / PERIOD_MILLIS);
  if (periods <= 0) return state;
  return {
    tokensMillis: Math.min(quotaMillis, state.tokensMillis + periods * quotaMillis),
    periodStartMs: state.periodStartMs + periods * PERIOD_MILLIS,
  };
}

/** Time until the bucket may run again, ms: 0 while tokens are left, else to the start of the first period with tokens. */
export function stallMillis(state: BucketState, quotaMillis: number, nowMs: number): number {
  if (state.tokensMillis > 0) return 0;
  const periods = Math.floor(-state.tokensMillis / quotaMillis) + 1;
  return state.periodStartMs + periods * PERIOD_MILLIS - nowMs;
}

/** Enforces a CPU limit on this process where no cgroup does. */
export interface Bucket {
  /** Takes the CPU time spent since the last call, and stalls the whole process when the quota is used up. */
  pay(): void;
  /** Another limit from now on: what is left of this period shrinks or grows with it, a debt stays. */
  resize(cpuCores: number): void;
}

export interface BucketOptions {
  readonly cpuCores: number;
  /** CPU time of this process so far, ms. */
  readonly cpuMillis: () => number;
  readonly monotonicMs: () => number;
  /** Blocks the thread for so many ms. */
  readonly stall: (millis: number) => void;
}

export function createBucket(options: BucketOptions): Bucket {
  let quotaMillis = options.cpuCores * PERIOD_MILLIS;
  let paidMillis = options.cpuMillis();
  let state = fullBucket(quotaMillis, options.monotonicMs());
  return {
    pay() {
      const usedMillis = options.cpuMillis();
      const refilled = refill(state, quotaMillis, options.monotonicMs());
      state = { ...refilled, tokensMillis: refilled.tokensMillis - (usedMillis - paidMillis) };
      paidMillis = usedMillis;
      const wait = stallMillis(state, quotaMillis, options.monotonicMs());
      if (wait > 0) options.stall(wait);
    },
    resize(cpuCores) {
      const before = quotaMillis;
      quotaMillis = cpuCores * PERIOD_MILLIS;
      const { tokensMillis, periodStartMs } = refill(state, before, options.monotonicMs());
      const resized = tokensMillis > 0 ? (tokensMillis / before) * quotaMillis : tokensMillis;
      state = { tokensMillis: resized, periodStartMs };
    },
  };
}

/** Blocks the calling thread, as the kernel does with a throttled one. */
export function blockThread(millis: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis);
}
