/** What is known of one predictor among several. */
export interface PredictorFacts {
  /** Base address. */
  readonly address: string;
  readonly startedAtMs: number;
  /** When its newest plan was made. */
  readonly plannedAtMs: number;
  readonly windowSeconds: number | undefined;
  /** False when it knows that it did not see all traffic. */
  readonly complete: boolean;
}

/** A predictor this many windows behind the newest plan has stopped planning. */
const BEHIND_WINDOWS = 2.5;
const DEFAULT_WINDOW_SECONDS = 60;
const LOOPBACK = /^https?:\/\/(127\.|localhost[:/]|\[::1\])/;

/**
 * Orders predictors by whose plan to take: those that keep up before those that do not, those that saw all traffic before
 * those that did not, then the one that has run longest, so that a restarted one does not take over again. The order
 * depends on nothing but what every exporter sees alike; the last resort is the address, an own name for itself last.
 */
export function rankPredictors(all: readonly PredictorFacts[]): PredictorFacts[] {
  const newestMs = Math.max(...all.map(({ plannedAtMs }) => plannedAtMs));
  const windowMs = 1e3 * Math.max(...all.map(({ windowSeconds }) => windowSeconds ?? DEFAULT_WINDOW_SECONDS));
  const isBehind = ({ plannedAtMs }: PredictorFacts): boolean =>
    plannedAtMs < newestMs - BEHIND_WINDOWS * windowMs;
  return [...all].sort(
    (a, b) =>
      Number(isBehind(a)) - Number(isBehind(b)) ||
      Number(b.complete) - Number(a.complete) ||
      a.startedAtMs - b.startedAtMs ||
      Number(LOOPBACK.test(a.address)) - Number(LOOPBACK.test(b.address)) ||
      (a.address < b.address ? -1 : a.address > b.address ? 1 : 0),
  );
}
