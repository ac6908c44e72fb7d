/** What happens to requests, as those who keep accounts and traces are told. Times are ms from the start of the run. */
export interface Recorder {
  /** Whether the trace of this request is kept; `hash` belongs to the request. */
  keeps(hash: number): boolean;
  /** A request of a client outside has ended. */
  requestEnded(route: number, latencyMs: number, failed: boolean, nowMs: number): void;
  /** A span of a kept trace has ended. */
  span(span: SpanFacts): void;
}

/** One object is filled and handed over again and again: who is handed it must take what it needs before it returns. */
export interface SpanFacts {
  /** Number of the route, and of the request of that route plus 1. */
  route: number;
  trace: number;
  span: number;
  /** 0 for a root span. */
  parent: number;
  service: number;
  /** `SPAN_KIND` of the predictor. */
  kind: number;
  startMs: number;
  endMs: number;
  failed: boolean;
  /** Name of a span that enters a service. */
  name: string | undefined;
}
