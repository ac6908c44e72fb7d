/** What is known of one predictor among several. */
export interface PredictorFacts {
  /** Base address. */
  readonly address: string;
  readonly startedAtMs: number;
  /** Its newest plan should have been followed by another one already, on our monotonic clock. */
  readonly overdue: boolean;
  /** False when it knows that it did not see all traffic. */
  readonly complete: boolean;
}

const LOOPBACK = /^https?:\/\/(127\.|localhost[:/]|\[::1\])/;

/**
 * Orders predictors by whose plan to take: those that go on planning before those that do not, those that saw all traffic
 * before those that did not, then the one that has run longest, so that a restarted one does not take over again. The
 * order depends on nothing but what every exporter sees alike; the last resort is the address, an own name for itself last.
 */
export function rankPredictors(all: readonly PredictorFacts[]): PredictorFacts[] {
  return [...all].sort(
    (a, b) =>
      Number(a.overdue) - Number(b.overdue) ||
      Number(b.complete) - Number(a.complete) ||
      a.startedAtMs - b.startedAtMs ||
      Number(LOOPBACK.test(a.address)) - Number(LOOPBACK.test(b.address)) ||
      (a.address < b.address ? -1 : a.address > b.address ? 1 : 0),
  );
}
