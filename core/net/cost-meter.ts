/** What one sender may cost. */
export interface CostLimits {
  /** Seconds of work for each second, on average: the share of a core that it may keep busy. */
  readonly share: number;
  /** Seconds of work that may come at once, ahead of that. */
  readonly burstSeconds: number;
}

interface Account {
  /** Seconds of work ahead of the share; 0 when the sender has kept to it. */
  aheadSeconds: number;
  atMs: number;
}

const MAX_SENDERS = 10_000;

/**
 * Keeps account of what each sender costs. One that is ahead of its share by more than a burst is to wait. Work is charged once
 * its size is known, so a single large request is always let in.
 */
export class CostMeter {
  readonly limits: CostLimits;
  /** Least recently charged first. */
  readonly #accounts = new Map<string, Account>();

  constructor(limits: CostLimits) {
    this.limits = limits;
  }

  /** Whole seconds after which the sender may come again; undefined when it may now. */
  waitSeconds(sender: string, nowMs: number): number | undefined {
    const { burstSeconds, share } = this.limits;
    const beyondSeconds = this.aheadSeconds(sender, nowMs) - burstSeconds;
    return beyondSeconds < 0 ? undefined : Math.max(1, Math.ceil(beyondSeconds / share));
  }

  /** By how many seconds of work the sender is ahead of its share. */
  aheadSeconds(sender: string, nowMs: number): number {
    const account = this.#accounts.get(sender);
    if (account === undefined) return 0;
    const { aheadSeconds, atMs } = account;
    return Math.max(0, aheadSeconds - (this.limits.share * (nowMs - atMs)) / 1e3);
  }

  charge(sender: string, seconds: number, nowMs: number): void {
    const aheadSeconds = seconds + this.aheadSeconds(sender, nowMs);
    this.#accounts.delete(sender);
    if (this.#accounts.size >= MAX_SENDERS) this.#forgetOne();
    this.#accounts.set(sender, { aheadSeconds, atMs: nowMs });
  }

  #forgetOne(): void {
    const oldest = this.#accounts.keys().next();
    if (oldest.done !== true) this.#accounts.delete(oldest.value);
  }
}

/**
 * Splits the CPU time of an event loop among the requests that it is used for: what it uses while some are in progress is of each of
 * them alike. So the parts make no more than the whole, and one that only waits beside many pays little.
 */
export class WorkShares {
  /** Part of a request that is in progress all the time. */
  #seconds = 0;
  #lastCpuMs = 0;
  #inProgress = 0;

  /**
   * A request begins.
   * @param cpuMs what the event loop has used, ever
   * @returns ends it, and says how many seconds were its part; safe to call twice
   */
  begin(cpuMs: number): (cpuMs: number) => number {
    this.#advance(cpuMs);
    this.#inProgress += 1;
    const beganSeconds = this.#seconds;
    let isOver = false;
    return (endMs) => {
      if (isOver) return 0;
      isOver = true;
      this.#advance(endMs);
      this.#inProgress -= 1;
      return this.#seconds - beganSeconds;
    };
  }

  #advance(cpuMs: number): void {
    const usedMs = Math.max(0, cpuMs - this.#lastCpuMs);
    this.#lastCpuMs = cpuMs;
    if (this.#inProgress > 0) this.#seconds += usedMs / 1e3 / this.#inProgress;
  }
}

/** CPU time of this thread, ms. */
export function threadCpuMs(): number {
  const { system, user } = process.threadCpuUsage();
  return (system + user) / 1e3;
}
