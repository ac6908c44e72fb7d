import { TradewindError } from "../../values/errors.ts";

/** What went wrong with a call, as a stable word for metrics. */
export const ENDPOINT_FAILURES = [
  "timeout",
  "unreachable",
  "tls",
  "refused",
  "busy",
  "server-error",
  "bad-request",
  "not-found",
  "too-large",
  "bad-reply",
  "partial",
  "credentials",
  "circuit-open",
] as const;
export type EndpointFailure = (typeof ENDPOINT_FAILURES)[number];

/** A call to an outside server that gave no usable answer. Holds no secret and no query text. */
export class EndpointError extends TradewindError {
  readonly failure: EndpointFailure;
  /** What a person can do about it. */
  readonly remedy: string;
  readonly status: number | undefined;
  /** The server's own wish, from `Retry-After`. */
  readonly retryAfterMs: number | undefined;

  constructor(
    failure: EndpointFailure,
    message: string,
    remedy: string,
    options: { cause?: unknown; status?: number; retryAfterMs?: number } = {},
  ) {
    super(`endpoint-${failure}`, message, { cause: options.cause });
    this.name = "EndpointError";
    this.failure = failure;
    this.remedy = remedy;
    this.status = options.status;
    this.retryAfterMs = options.retryAfterMs;
  }

  /** The same error with another remedy. */
  withRemedy(remedy: string): EndpointError {
    const { cause, failure, message, retryAfterMs, status } = this;
    return new EndpointError(failure, message, remedy, {
      cause,
      ...(status !== undefined && { status }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    });
  }
}

/** Failures that another attempt may cure: the call was never answered, or the server asked for patience. */
export function isRetryable(error: unknown): boolean {
  return error instanceof EndpointError && ["unreachable", "busy", "timeout"].includes(error.failure);
}

/** Failures that say the server itself is unwell; an answer that refuses our request does not. */
export function countsAgainstServer(error: unknown): boolean {
  return (
    error instanceof EndpointError &&
    ["unreachable", "busy", "timeout", "server-error", "tls"].includes(error.failure)
  );
}
