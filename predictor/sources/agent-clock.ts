/** When an agent was asked and when its answer had come, on this process's clock, ms. */
export interface Exchange {
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
}

/** Linux slews a clock by 500 millionths at most, and there are two. */
const DRIFT = 1e-3;
/** Times are told in whole milliseconds. */
const ROUNDING_MS = 1;

/**
 * What to add to an agent's clock to get ours, as far as exchanges show: a sample was a known age old at some moment between question and
 * answer, so each exchange bounds it, a fast one closely. How long an answer takes says nothing of when the agent read what it tells: under
 * load that is a second or more, of which a rate over a short window would be wrong by a fifth. So rates are formed on the agent's own clock,
 * and only the ends of a window are brought to it.
 */
export class AgentClock {
  private lowestMs = Number.NEGATIVE_INFINITY;
  private highestMs = Number.POSITIVE_INFINITY;
  private heardMs = Number.NEGATIVE_INFINITY;

  /**
   * @param atMs a moment on the agent's clock
   * @param ageMs how long ago that was when it answered
   * @returns false when no one difference explains this exchange and those before: one of the clocks was set
   */
  hear(atMs: number, ageMs: number, { askedAtMs, answeredAtMs }: Exchange): boolean {
    const lowestMs = askedAtMs - ageMs - atMs - ROUNDING_MS;
    const highestMs = answeredAtMs - ageMs - atMs + ROUNDING_MS;
    const driftMs = Number.isFinite(this.heardMs) ? DRIFT * Math.abs(answeredAtMs - this.heardMs) : 0;
    this.heardMs = answeredAtMs;
    const bothLowestMs = Math.max(lowestMs, this.lowestMs - driftMs);
    const bothHighestMs = Math.min(highestMs, this.highestMs + driftMs);
    const goesOn = bothLowestMs <= bothHighestMs;
    this.lowestMs = goesOn ? bothLowestMs : lowestMs;
    this.highestMs = goesOn ? bothHighestMs : highestMs;
    return goesOn;
  }

  /** A moment of ours on the agent's clock. Only after {@link hear}. */
  fromOurs(ms: number): number {
    return ms - (this.lowestMs + this.highestMs) / 2;
  }
}
