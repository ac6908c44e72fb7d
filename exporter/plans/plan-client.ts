import { hash } from "node:crypto";
import { withinTime } from "@tradewind/core/process/within-time.ts";
import { Agent, buildConnector, request } from "undici";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { byCauseCode, TLS_PROBLEMS } from "@tradewind/core/net/tls-problem.ts";

const MAX_PLAN_BYTES = 64 * 2 ** 20;
const TLS_REMEDY =
  "see --predictor-ca-file and --predictor-server-name; http:// is for predictors without --http-tls-cert";

/** Why a plan could not be fetched; also a metric label. */
export type FetchProblem = "connection" | "timeout" | "status" | "too-large";

/** Whether a problem is one of reaching the predictor, and not of what it says. */
export const isConnectionProblem = (code: string): boolean =>
  code === "connection" || code === "timeout" || code === "status";

/** The body of a plan, or null when it is the same as last time. */
export type PlanBody = Buffer | null;

/** How a predictor is called, and what it is shown. */
export interface PlanClientOptions {
  /** The application whose plans are asked for, of a predictor that has several; absent: its only one. */
  readonly place?: { readonly namespace: string; readonly name: string } | undefined;
  readonly deadlineMs: number;
  /** The header `Authorization`, asked for with each request. */
  readonly authorization?: (() => string | undefined) | undefined;
  /** PEM of the authority of its certificate, asked for with each connection; default: those that Node.js knows. */
  readonly authority?: (() => Buffer) | undefined;
  /** Name in its certificate; default: the host of its address. */
  readonly serverName?: string | undefined;
}

/** Something that people ask a predictor through the scaler. */
export interface Question {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** JSON; it is then posted. */
  readonly body?: Buffer | undefined;
}

/** What the predictor said, word for word. */
export type Reply = Pick<Answer, "status" | "body">;

/** People wait longer than polls do: an explanation takes the models some time. */
const QUESTION_MS = 5_000;
const QUESTION_CONNECTIONS = 2;

/** Fetches `GET /v1/plan`, over one kept connection, never longer than the deadline. */
export class PlanClient {
  /** The predictor's base address. */
  readonly base: string;
  readonly #url: URL;
  readonly #options: PlanClientOptions;
  readonly #agent: Agent;
  /** Of questions of people, which hold up no plan. */
  #asking: Agent | undefined;
  #entityTag: string | undefined;
  /** SHA-256 of the last body: a plan of thousands of services has megabytes. */
  #lastHash: string | undefined;

  constructor(predictor: string, options: PlanClientOptions) {
    this.base = predictor;
    this.#options = options;
    this.#url = this.#at("/v1/plan");
    this.#agent = new Agent({
      connections: 1,
      maxResponseSize: MAX_PLAN_BYTES,
      connect: connectorOf(options),
    });
  }

  /** The address without credentials, for messages. */
  get address(): string {
    return `${this.#url.origin}${this.#url.pathname}`;
  }

  /** @throws TradewindError with a {@link FetchProblem} as code */
  async fetch(stopping: AbortSignal): Promise<PlanBody> {
    const tag = this.#entityTag;
    const answer = await this.#get(this.#url, stopping, tag === undefined ? {} : { "if-none-match": tag });
    if (answer.status === 304 && this.#lastHash !== undefined) return null;
    if (answer.status !== 200) throw this.#refused(answer.status);
    this.#entityTag = answer.entityTag;
    const bodyHash = hash("sha256", answer.body);
    if (this.#lastHash === bodyHash) return null;
    this.#lastHash = bodyHash;
    return answer.body;
  }

  /** The newest plan without its wishes, as JSON. @throws TradewindError with a {@link FetchProblem} as code */
  async header(stopping: AbortSignal): Promise<Buffer> {
    const { body, status } = await this.#get(this.#at("/v1/plan/header"), stopping, {});
    if (status !== 200) throw this.#refused(status);
    return body;
  }

  /**
   * What it plans, as JSON; undefined where it is of a release that plans one application only.
   * @throws TradewindError with a {@link FetchProblem} as code
   */
  async applications(stopping: AbortSignal): Promise<Buffer | undefined> {
    const { body, status } = await this.#get(new URL("/v1/applications", this.base), stopping, {});
    if (status === 404) return undefined;
    if (status !== 200) throw this.#refused(status);
    return body;
  }

  /** A model by the name that a plan gives it. @throws TradewindError with a {@link FetchProblem} as code */
  async model(hash: string, stopping: AbortSignal): Promise<Buffer> {
    const { body, status } = await this.#get(new URL(`/v1/models/${hash}`, this.base), stopping, {});
    if (status !== 200) throw this.#refused(status);
    return body;
  }

  /** @throws TradewindError with a {@link FetchProblem} as code */
  async ask({ body, path, query }: Question, stopping: AbortSignal): Promise<Reply> {
    this.#asking ??= new Agent({
      connections: QUESTION_CONNECTIONS,
      maxResponseSize: MAX_PLAN_BYTES,
      connect: connectorOf(this.#options),
    });
    const url = this.#at(path);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    return this.#get(url, stopping, headers, { agent: this.#asking, body, deadlineMs: QUESTION_MS });
  }

  /** Forgets the last body, so that the next fetch gives it again. */
  forgetLast(): void {
    this.#lastHash = undefined;
    this.#entityTag = undefined;
  }

  async close(): Promise<void> {
    await Promise.all([this.#agent.destroy(), this.#asking?.destroy()]);
  }

  #at(path: string): URL {
    const url = new URL(path, this.base);
    const { place } = this.#options;
    if (place !== undefined) {
      url.searchParams.set("namespace", place.namespace);
      url.searchParams.set("application", place.name);
    }
    return url;
  }

  #refused(status: number): TradewindError {
    const isRefused = [401, 403, 429].includes(status);
    const remedy = isRefused ? "; give --predictor-token-file a token that it takes" : "";
    return new TradewindError("status", `${this.address} answered ${status}${remedy}`);
  }

  #shown(): Record<string, string> {
    const authorization = this.#options.authorization?.();
    return authorization === undefined ? {} : { authorization };
  }

  async #get(
    url: URL,
    stopping: AbortSignal,
    headers: Record<string, string>,
    how: { agent?: Agent; body?: Buffer | undefined; deadlineMs?: number } = {},
  ): Promise<Answer> {
    const { agent = this.#agent, body, deadlineMs = this.#options.deadlineMs } = how;
    return withinTime(deadlineMs, stopping, async (signal, deadline) => {
      try {
        const response = await request(url, {
          dispatcher: agent,
          method: body === undefined ? "GET" : "POST",
          ...(body !== undefined && { body }),
          signal,
          headers: { accept: "application/json", ...this.#shown(), ...headers },
        });
        const { etag } = response.headers;
        return {
          status: response.statusCode,
          body: Buffer.from(await response.body.arrayBuffer()),
          entityTag: typeof etag === "string" ? etag : undefined,
        };
      } catch (error) {
        const problem = byCauseCode(error, TLS_PROBLEMS);
        const message = `no plan from ${this.address}${problem === undefined ? "" : `: ${problem}; ${TLS_REMEDY}`}`;
        throw new TradewindError(problemOf(error, deadline), message, { cause: error });
      }
    });
  }
}

interface Answer {
  readonly status: number;
  readonly body: Buffer;
  readonly entityTag: string | undefined;
}

/** New connections check the certificate by the authority of now, which may have been renewed. */
function connectorOf({ authority, serverName }: PlanClientOptions): buildConnector.connector {
  return (target, callback) => {
    const connect = buildConnector({
      // See kubernetes/client/client.ts: Node's HTTP/2 can hang for ever when calls are cancelled.
      allowH2: false,
      ...(authority !== undefined && { ca: authority() }),
      ...(serverName !== undefined && { servername: serverName }),
    });
    connect(target, callback);
  };
}

function problemOf(error: unknown, deadline: AbortSignal): FetchProblem {
  if (deadline.aborted) return "timeout";
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "UND_ERR_RES_EXCEEDED_MAX_SIZE" ? "too-large" : "connection";
}
