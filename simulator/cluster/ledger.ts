/** What pods hold at one time. */
export interface Holding {
  readonly requestCores: number;
  /** A container without a limit counts with its request. */
  readonly limitCores: number;
  readonly requestBytes: number;
  readonly limitBytes: number;
  readonly pods: number;
}

export const NOTHING: Holding = { requestCores: 0, limitCores: 0, requestBytes: 0, limitBytes: 0, pods: 0 };

export function combined(one: Holding, other: Holding, factor: number): Holding {
  return {
    requestCores: one.requestCores + factor * other.requestCores,
    limitCores: one.limitCores + factor * other.limitCores,
    requestBytes: one.requestBytes + factor * other.requestBytes,
    limitBytes: one.limitBytes + factor * other.limitBytes,
    pods: one.pods + factor * other.pods,
  };
}

/** Integral of a holding over time: amounts times seconds. */
export class Ledger {
  starts = 0;
  stops = 0;
  oomKills = 0;
  /** CPU time of containers that are gone, ms. */
  retiredCpuMs = 0;
  private held = NOTHING;
  private sums = NOTHING;
  private sinceMs = 0;

  /** From now on `added` is held too, and `removed` no longer. */
  change(removed: Holding, added: Holding, nowMs: number): void {
    this.sums = this.totals(nowMs);
    this.sinceMs = nowMs;
    this.held = combined(combined(this.held, removed, -1), added, 1);
  }

  /** Amounts times seconds since the start of the run. */
  totals(nowMs: number): Holding {
    return combined(this.sums, this.held, (nowMs - this.sinceMs) / 1e3);
  }
}
