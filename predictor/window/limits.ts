/** No span is believed to stand for more requests (sampling below 1 in 100,000). */
export const MAX_ADJUSTED_COUNT = 100_000;

/** What a window builder holds at most and how long it waits. */
export interface WindowLimits {
  /**
   * Services known at once beside those that have a workload. One without spans for `idleSeconds` makes room; where there is
   * none, one that nothing refers to any more.
   */
  readonly maxServices: number;
  /** Flows (entry service and root operation) known at once; idle ones make room as services do. */
  readonly maxFlows: number;
  /** Traces waiting for more spans. Beyond it the one that was quiet longest is evaluated early. */
  readonly maxOpenTraces: number;
  /** Spans of all open traces; beyond it traces are evaluated early, as above. */
  readonly maxOpenSpans: number;
  /** Beyond it CLIENT spans of one parent become one; beyond twice as many spans are refused. Less than half of `STEPS`. */
  readonly maxSpansPerTrace: number;
  /** A trace is evaluated once no span of it arrived for so long. At least the batch delay of the senders' SDKs. */
  readonly traceGraceSeconds: number;
  /** Where a service's spans come later, windows wait for them up to this. Up to `traceGraceSeconds`: they never wait longer. */
  readonly maxGraceSeconds: number;
  /** A trace that keeps receiving spans, or whose root is still to come, is evaluated so long after its first span. */
  readonly maxTraceSeconds: number;
  /** A longer span is refused. */
  readonly maxSpanSeconds: number;
  /** Spans that ended longer ago are refused. */
  readonly maxPastSeconds: number;
  /** Spans that end further in the future (a sender's clock is ahead) are refused. */
  readonly maxAheadSeconds: number;
  readonly idleSeconds: number;
  /** Sampling probability (0, 1] of spans that do not carry their own (`ot=th:` in the trace state). */
  readonly assumedSamplingRatio: number;
  /** Requests that one span may stand for before most spans of its service say as much; 1,000 is sampling at 0.1 %. */
  readonly maxSpanWeight: number;
}

export const DEFAULT_WINDOW_LIMITS: WindowLimits = {
  maxServices: 5_000,
  maxFlows: 1_000,
  maxOpenTraces: 200_000,
  maxOpenSpans: 1_000_000,
  maxSpansPerTrace: 8_000,
  traceGraceSeconds: 5,
  maxGraceSeconds: 0,
  maxTraceSeconds: 120,
  maxSpanSeconds: 3_600,
  maxPastSeconds: 120,
  maxAheadSeconds: 30,
  idleSeconds: 600,
  assumedSamplingRatio: 1,
  maxSpanWeight: 1_000,
};
