import type { Clock } from "./clock.ts";

/** A wall clock that was right at the start may be corrected by this much; what lies further ahead was never lived through. */
const SLACK_MS = 86_400_000;

/**
 * The time that retention goes by: wall time, but no further ahead of the start of the process than it has run, and a day. A
 * wall clock that is set years ahead would else have the whole history deleted as too old.
 */
export class RetentionTime {
  private readonly clock: Clock;
  private readonly aheadMs: number;

  constructor(clock: Clock) {
    this.clock = clock;
    this.aheadMs = clock.nowMs() - clock.monotonicMs() + SLACK_MS;
  }

  /** ms since the Unix epoch */
  nowMs(): number {
    return Math.min(this.clock.nowMs(), this.clock.monotonicMs() + this.aheadMs);
  }
}
