/** A predictor makes a plan each window. Without a new one for this many windows the scaler decides by itself. */
const OVERDUE_WINDOWS = 2.5;
/** Less than this is no silence of one that answers, however short windows are. s */
const LEAST_SECONDS = 30;

/** A predictor that has not answered for so long is gone: nothing is won by waiting until its next plan is overdue. s */
const GONE_SECONDS = 10;

interface Planning {
  readonly windowSeconds: number;
  /** When a predictor answered last, on our monotonic clock; undefined: none has since the start. */
  readonly answeredMs: number | undefined;
}

/** An application whose newest plan was made before this is silent. ms, on our monotonic clock */
export function silenceLimitMs({ answeredMs, windowSeconds }: Planning, nowMs: number): number {
  const overdueMs = 1e3 * Math.max(LEAST_SECONDS, OVERDUE_WINDOWS * windowSeconds);
  const goneMs = 1e3 * GONE_SECONDS;
  const isGone = answeredMs !== undefined && nowMs - answeredMs > goneMs;
  return nowMs - (isGone ? goneMs : overdueMs);
}
