/** Allows `burst` things at once and `perSecond` on average. */
export class TokenBucket {
  private readonly burst: number;
  private readonly perSecond: number;
  private tokens: number;
  private filledMs: number | undefined;

  constructor(limits: { readonly burst: number; readonly perSecond: number }) {
    this.burst = limits.burst;
    this.perSecond = limits.perSecond;
    this.tokens = limits.burst;
  }

  /** Takes one; false when there is none left now. @param nowMs monotonic */
  take(nowMs: number): boolean {
    const passedMs = nowMs - (this.filledMs ?? nowMs);
    this.filledMs = nowMs;
    this.tokens = Math.min(this.burst, this.tokens + (passedMs / 1e3) * this.perSecond);
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }
}
