/** What one sender may have decoded per second, on average. */
export interface SenderRateLimits {
  /** Bytes after decompression. */
  readonly maxSenderBytesPerSecond: number;
  /** Spans, valid or not. */
  readonly maxSenderSpansPerSecond: number;
  /** Seconds at these rates that may come at once. */
  readonly senderBurstSeconds: number;
}

interface Account {
  /** Seconds that the sender is ahead of its rates; 0 when it has kept to them. */
  aheadSeconds: number;
  atMs: number;
}

const MAX_SENDERS = 10_000;

/**
 * Keeps account of what each sender has sent. One that is ahead of its rates by more than a burst is to wait; what it has
 * sent is charged once its size is known, so a single large request is always let in.
 */
export class SenderRates {
  private readonly limits: SenderRateLimits;
  /** Least recently charged first. */
  private readonly accounts = new Map<string, Account>();

  constructor(limits: SenderRateLimits) {
    this.limits = limits;
  }

  /** Whole seconds after which the sender may send again; undefined when it may now. */
  waitSeconds(sender: string, nowMs: number): number | undefined {
    const account = this.accounts.get(sender);
    if (account === undefined) return undefined;
    const beyond = aheadAt(account, nowMs) - this.limits.senderBurstSeconds;
    return beyond < 0 ? undefined : Math.max(1, Math.ceil(beyond));
  }

  /** Takes note of a request; the dearer of bytes and spans counts. */
  charge(sender: string, bytes: number, spans: number, nowMs: number): void {
    const { maxSenderBytesPerSecond, maxSenderSpansPerSecond } = this.limits;
    const seconds = Math.max(bytes / maxSenderBytesPerSecond, spans / maxSenderSpansPerSecond);
    const account = this.accounts.get(sender);
    const aheadSeconds = seconds + (account === undefined ? 0 : aheadAt(account, nowMs));
    this.accounts.delete(sender);
    if (this.accounts.size >= MAX_SENDERS) this.forgetOne();
    this.accounts.set(sender, { aheadSeconds, atMs: nowMs });
  }

  private forgetOne(): void {
    const oldest = this.accounts.keys().next();
    if (oldest.done !== true) this.accounts.delete(oldest.value);
  }
}

const aheadAt = ({ aheadSeconds, atMs }: Account, nowMs: number): number =>
  Math.max(0, aheadSeconds - (nowMs - atMs) / 1e3);
