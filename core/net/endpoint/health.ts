import { ENDPOINT_FAILURES } from "./error.ts";
import type { EndpointError, EndpointFailure } from "./error.ts";

/** `open`: the circuit breaker lets no call through for now. */
export type EndpointState = "untried" | "ok" | "failing" | "open";

export interface EndpointProblem {
  readonly failure: EndpointFailure;
  readonly message: string;
  readonly remedy: string;
  readonly atMs: number;
}

/** How one outside server has been answering; read by metrics and `tradewind doctor`. */
export class EndpointHealth {
  readonly name: string;
  readonly kind: string;
  /** Address without credentials. */
  readonly url: string;
  state: EndpointState = "untried";
  lastSuccessAtMs: number | undefined;
  lastProblem: EndpointProblem | undefined;
  /** Smoothed time of a successful call, seconds. */
  latencySeconds: number | undefined;
  /** The server's clock less ours, from its `Date` header; known to about a second. */
  clockSkewSeconds: number | undefined;
  requestsTotal = 0;
  retriesTotal = 0;
  receivedBytesTotal = 0;
  /** Answers of which a part was unusable or missing, and was left out. */
  partialResultsTotal = 0;
  /** Warnings the server attached to its answers. */
  warningsTotal = 0;
  readonly failuresTotal: Record<EndpointFailure, number> = zeroFailures();

  constructor(name: string, kind: string, url: string) {
    this.name = name;
    this.kind = kind;
    this.url = url;
  }

  succeeded(nowMs: number, seconds: number): void {
    this.state = "ok";
    this.lastSuccessAtMs = nowMs;
    this.latencySeconds =
      this.latencySeconds === undefined ? seconds : 0.8 * this.latencySeconds + 0.2 * seconds;
  }

  failed(error: EndpointError, nowMs: number): void {
    this.failuresTotal[error.failure] += 1;
    if (error.failure === "circuit-open") {
      this.state = "open";
      return;
    }
    this.state = "failing";
    const { failure, message, remedy } = error;
    this.lastProblem = { failure, message, remedy, atMs: nowMs };
  }
}

function zeroFailures(): Record<EndpointFailure, number> {
  return Object.fromEntries(ENDPOINT_FAILURES.map((failure) => [failure, 0])) as Record<
    EndpointFailure,
    number
  >;
}
