import { withinTime } from "../../process/within-time.ts";
import {
  circuitBreaker,
  CircuitState,
  ConsecutiveBreaker,
  DelegateBackoff,
  handleWhen,
  retry,
  wrap,
} from "cockatiel";
import type { IRetryBackoffContext } from "cockatiel";
import { Agent, request } from "undici";
import type { Dispatcher } from "undici";
import { readJsonWith } from "../../values/config.ts";
import { systemClock } from "../../process/clock.ts";
import type { Clock } from "../../process/clock.ts";
import { DEFAULT_RETRY_DELAYS, parseRetryAfterMs, retryDelayMs } from "../../process/retry-delay.ts";
import type { RetryDelays } from "../../process/retry-delay.ts";
import type { Rng } from "../../values/rng.ts";
import { TradewindError } from "../../values/errors.ts";
import type { z } from "zod";
import { readBounded } from "./bounded-body.ts";
import { CredentialFiles } from "./credentials.ts";
import type { Credentials } from "./credentials.ts";
import { connectionError, statusError } from "./diagnosis.ts";
import type { Stated } from "./diagnosis.ts";
import type { EndpointOptions } from "./options.ts";
import { countsAgainstServer, EndpointError, isRetryable } from "./error.ts";
import type { EndpointFailure } from "./error.ts";
import { EndpointHealth } from "./health.ts";

export interface ClientSettings {
  readonly clock?: Clock;
  readonly rng?: Rng;
  readonly retryDelays?: RetryDelays;
  readonly breaker?: BreakerSettings;
  /** What a person can do about a failure here, where it is not what a source's configuration would have. */
  readonly remedies?: Readonly<Partial<Record<EndpointFailure, string>>>;
}

export interface BreakerSettings {
  /** Failures in a row that open it. */
  readonly failures: number;
  /** How long it stays open before one call may try again. */
  readonly openMs: number;
}

const QUIET_MAX_MS = 300_000;
const DEFAULT_BREAKER: BreakerSettings = { failures: 5, openMs: 15_000 };

export interface Call {
  /** Path below the base address, without a leading slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[]>>;
  /** Sends the query as a form by POST, for what is too long for an address. A call that changes something must be made by a client of one attempt. */
  readonly asForm?: boolean;
  /** Sends this as JSON by POST. The call must still change nothing. */
  readonly json?: unknown;
  readonly accept?: string;
  /** Bounds this call below the endpoint's own deadline. */
  readonly signal?: AbortSignal;
  /** Statuses other than 2xx whose body the caller wants. */
  readonly acceptStatuses?: readonly number[];
}

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
  /** Time of the last attempt, seconds. */
  readonly seconds: number;
}

/**
 * The one way out to HTTP servers: a deadline over all attempts, retries with jitter for calls that change nothing, a
 * circuit breaker, bounded answers, secrets from files, and a record of how the server has been doing.
 */
export class EndpointClient {
  readonly health: EndpointHealth;
  private readonly options: EndpointOptions;
  private readonly clock: Clock;
  private readonly credentials: CredentialFiles;
  private readonly remedies: NonNullable<ClientSettings["remedies"]>;
  private readonly retrying;
  private readonly breaking;
  /** Until when the server asked not to be called, on the monotonic clock. */
  private quietUntilMs = 0;
  private agent: { readonly dispatcher: Agent; readonly tlsGeneration: number } | undefined;

  /** `name` is how the configuration calls this endpoint; `kind` what it is, for example `prometheus`. */
  constructor(name: string, kind: string, options: EndpointOptions, settings: ClientSettings = {}) {
    this.options = options;
    this.clock = settings.clock ?? systemClock;
    this.credentials = new CredentialFiles(options);
    this.remedies = settings.remedies ?? {};
    this.health = new EndpointHealth(name, kind, options.url);
    const { failures, openMs } = settings.breaker ?? DEFAULT_BREAKER;
    this.breaking = circuitBreaker(handleWhen(countsAgainstServer), {
      halfOpenAfter: openMs,
      breaker: new ConsecutiveBreaker(failures),
    });
    const patienceMs = (options.timeoutSeconds * 1_000) / 2;
    const worthIt = (error: unknown): boolean =>
      isRetryable(error) && (retryAfterOf(error) ?? 0) <= patienceMs;
    this.retrying = retry(handleWhen(worthIt), {
      maxAttempts: options.maxAttempts - 1,
      backoff: backoff(settings.retryDelays ?? DEFAULT_RETRY_DELAYS, settings.rng ?? Math.random),
    });
    this.retrying.onRetry(() => {
      this.health.retriesTotal += 1;
    });
  }

  /** @throws EndpointError in plain words, or `cancelled` when the caller's signal ends it; the breaker's state and counts are in {@link health} */
  async call(call: Call): Promise<Answer> {
    this.respectQuiet();
    return withinTime(this.options.timeoutSeconds * 1_000, call.signal, async (signal, deadline) => {
      try {
        const answer = await wrap(this.retrying, this.breaking).execute(
          async () => this.attempt(call, signal, deadline),
          signal,
        );
        this.health.succeeded(this.clock.nowMs(), answer.seconds);
        return answer;
      } catch (error) {
        if (call.signal?.aborted === true) throw new TradewindError("cancelled", "the call was cancelled");
        const problem = this.remedied(this.explain(error, deadline));
        const quietMs = Math.min(problem.retryAfterMs ?? 0, QUIET_MAX_MS);
        this.quietUntilMs = Math.max(this.quietUntilMs, this.clock.monotonicMs() + quietMs);
        this.health.failed(problem, this.clock.nowMs());
        throw problem;
      }
    });
  }

  /** Calls and parses the JSON answer. @throws EndpointError; `bad-reply` when the answer does not fit the schema */
  async json<Schema extends z.ZodType>(call: Call, schema: Schema): Promise<z.output<Schema>> {
    const { body } = await this.call(call);
    try {
      return readJsonWith(schema, body.toString("utf8"), `the answer of ${this.where()}`);
    } catch (error) {
      throw this.badReply(error);
    }
  }

  /** Records and returns the error for an answer that is not what the interface promises. */
  badReply(cause: unknown): EndpointError {
    return this.record(this.notUnderstood(cause));
  }

  /** The error for an answer that is not what the interface promises. */
  notUnderstood(cause: unknown): EndpointError {
    const why = cause instanceof TradewindError ? cause.message : "the answer is not understood";
    return new EndpointError(
      "bad-reply",
      `${this.where()}: ${why.slice(0, 400)}`,
      `check that the url is that of a ${this.health.kind.split("-", 1).join("")} server, and its version`,
      { cause },
    );
  }

  /** Records an error found in an answer, and returns it. */
  record(error: EndpointError): EndpointError {
    this.health.failed(error, this.clock.nowMs());
    return error;
  }

  async close(): Promise<void> {
    await this.agent?.dispatcher.destroy();
    this.agent = undefined;
  }

  /** A server that named a time is left alone until then: asking sooner would only lengthen its trouble. */
  private respectQuiet(): void {
    const leftMs = this.quietUntilMs - this.clock.monotonicMs();
    if (leftMs <= 0) return;
    const error = new EndpointError(
      "circuit-open",
      `${this.where()}: not asked, because it wants to be left alone for ${(leftMs / 1_000).toFixed(0)} s more`,
      this.health.lastProblem?.remedy ?? "raise the server's limits, or ask less often",
    );
    this.health.failed(error, this.clock.nowMs());
    throw error;
  }

  private where(): string {
    return `${this.health.name} (${this.options.url})`;
  }

  private async attempt(call: Call, signal: AbortSignal, deadline: AbortSignal): Promise<Answer> {
    const credentials = await this.credentials.read();
    const startedMs = this.clock.monotonicMs();
    this.health.requestsTotal += 1;
    try {
      const response = await request(this.address(call), this.requestOptions(call, credentials, signal));
      const encoding = oneHeader(response.headers["content-encoding"]);
      this.noteClock(oneHeader(response.headers.date));
      const body = await readBounded(response.body, encoding, this.options.maxResponseBytes, this.where());
      this.health.receivedBytesTotal += body.byteLength;
      const ok = response.statusCode >= 200 && response.statusCode < 300;
      if (!ok && !(call.acceptStatuses ?? []).includes(response.statusCode)) {
        const retryAfterMs = parseRetryAfterMs(
          oneHeader(response.headers["retry-after"]),
          this.clock.nowMs(),
        );
        throw statusError(this.where(), response.statusCode, reasonIn(body), retryAfterMs);
      }
      return { status: response.statusCode, body, seconds: (this.clock.monotonicMs() - startedMs) / 1_000 };
    } catch (error) {
      if (deadline.aborted) throw this.timeout(error);
      if (signal.aborted) throw error;
      throw this.problemOf(error);
    }
  }

  private address(call: Call): URL {
    const base = this.options.url.endsWith("/") ? this.options.url : `${this.options.url}/`;
    const address = new URL(call.path, base);
    if (call.asForm !== true) address.search = parameters(call).toString();
    return address;
  }

  private requestOptions(
    call: Call,
    credentials: Credentials,
    signal: AbortSignal,
  ): Omit<Dispatcher.RequestOptions, "origin" | "path" | "method"> & { method: "GET" | "POST" } {
    const form = call.asForm === true;
    const json = call.json === undefined ? undefined : JSON.stringify(call.json);
    return {
      dispatcher: this.dispatcher(credentials),
      method: form || json !== undefined ? "POST" : "GET",
      signal,
      headersTimeout: 0,
      bodyTimeout: 0,
      headers: {
        accept: call.accept ?? "application/json",
        "accept-encoding": "gzip",
        "user-agent": "tradewind",
        ...this.options.headers,
        ...(form ? { "content-type": "application/x-www-form-urlencoded" } : {}),
        ...(json === undefined ? {} : { "content-type": "application/json" }),
        ...(credentials.authorization === undefined ? {} : { authorization: credentials.authorization }),
      },
      ...(form ? { body: parameters(call).toString() } : {}),
      ...(json === undefined ? {} : { body: json }),
    } as Omit<Dispatcher.RequestOptions, "origin" | "path" | "method"> & { method: "GET" | "POST" };
  }

  private dispatcher(credentials: Credentials): Agent {
    if (this.agent !== undefined && this.agent.tlsGeneration === credentials.tlsGeneration) {
      return this.agent.dispatcher;
    }
    void this.agent?.dispatcher.close();
    const { tls, timeoutSeconds } = this.options;
    const dispatcher = new Agent({
      connections: 16,
      // See kubernetes/client/client.ts: Node's HTTP/2 can hang for ever when calls are cancelled.
      allowH2: false,
      connect: {
        timeout: timeoutSeconds * 1_000,
        rejectUnauthorized: tls?.insecureSkipVerify !== true,
        ...(credentials.ca === undefined ? {} : { ca: credentials.ca }),
        ...(credentials.cert === undefined ? {} : { cert: credentials.cert }),
        ...(credentials.key === undefined ? {} : { key: credentials.key }),
        ...(tls?.serverName === undefined ? {} : { servername: tls.serverName }),
      },
    });
    this.agent = { dispatcher, tlsGeneration: credentials.tlsGeneration };
    return dispatcher;
  }

  private noteClock(date: string | undefined): void {
    const serverMs = date === undefined ? Number.NaN : Date.parse(date);
    if (!Number.isNaN(serverMs)) this.health.clockSkewSeconds = (serverMs + 500 - this.clock.nowMs()) / 1_000;
  }

  private explain(error: unknown, deadline: AbortSignal): EndpointError {
    if (error instanceof EndpointError) return error;
    if (this.breaking.state === CircuitState.Open && !deadline.aborted) {
      const last = this.health.lastProblem;
      return new EndpointError(
        "circuit-open",
        `${this.where()}: not asked, because it failed repeatedly${last === undefined ? "" : `: ${last.message}`}`,
        last?.remedy ?? "check the server",
        { cause: error },
      );
    }
    if (deadline.aborted) return this.timeout(error);
    return this.problemOf(error);
  }

  private problemOf(error: unknown): EndpointError {
    return this.remedied(connectionError(this.where(), error));
  }

  private remedied(problem: EndpointError): EndpointError {
    const remedy = this.remedies[problem.failure];
    return remedy === undefined ? problem : problem.withRemedy(remedy);
  }

  private timeout(cause: unknown): EndpointError {
    return new EndpointError(
      "timeout",
      `${this.where()}: no complete answer within ${this.options.timeoutSeconds} s`,
      "check the server's load, or raise timeoutSeconds",
      { cause },
    );
  }
}

function backoff(delays: RetryDelays, rng: Rng): DelegateBackoff<IRetryBackoffContext<unknown>> {
  return new DelegateBackoff(({ attempt, result }) => {
    const retryAfterMs = retryAfterOf("error" in result ? result.error : undefined);
    return retryDelayMs(attempt, retryAfterMs, delays, rng);
  });
}

function retryAfterOf(error: unknown): number | undefined {
  return error instanceof EndpointError ? error.retryAfterMs : undefined;
}

function parameters(call: Call): URLSearchParams {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(call.query ?? {})) {
    for (const each of typeof value === "string" ? [value] : value) search.append(key, each);
  }
  return search;
}

function oneHeader(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/** What a server said about its error: `message` or `error` of a JSON answer, else the first line of the text. */
function reasonIn(body: Buffer): Stated | undefined {
  const text = body.subarray(0, 2_000).toString("utf8").trim();
  const [json] = ["message", "error"].flatMap(
    (name) => new RegExp(`"${name}"\\s*:\\s*"((?:[^"\\\\]|\\\\.){1,300})"`).exec(text)?.[1] ?? [],
  );
  const line = json ?? text.split("\n", 1)[0] ?? "";
  if (line.startsWith("<")) return undefined;
  return { text: line.replaceAll(/\p{C}/gu, " "), isField: json !== undefined };
}
