import { withinTime } from "@tradewind/core/process/within-time.ts";
import { setTimeout as delay } from "node:timers/promises";
import { Agent, ProxyAgent } from "undici";
import type { Dispatcher } from "undici";
import type { z } from "zod";
import { systemClock } from "@tradewind/core/process/clock.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { parseWith } from "@tradewind/core/values/config.ts";
import { TradewindError, describeError } from "@tradewind/core/values/errors.ts";
import { parseRetryAfterMs, retryDelayMs } from "@tradewind/core/process/retry-delay.ts";
import type { RetryDelays } from "@tradewind/core/process/retry-delay.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { VERSION } from "@tradewind/core/process/version.ts";
import { ApiError, refusal } from "./api-error.ts";
import type { ApiCredentials, Connection } from "./connection.ts";
import { describePlace, pathOf } from "./resources.ts";
import type { Place } from "./resources.ts";

/** The four patch formats of the API, by content type. */
export const PATCH_TYPES = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;
export type PatchType = keyof typeof PATCH_TYPES;

/** Counts calls by verb and answer: the HTTP status, or `error` when there was none. */
export interface CallObserver {
  called(verb: string, resource: string, code: string): void;
}

export interface ClientSettings {
  readonly clock?: Clock;
  readonly rng?: Rng;
  readonly observer?: CallObserver;
  /** Deadline of one call with its retries. */
  readonly deadlineMs?: number;
  readonly retryDelays?: RetryDelays;
  /** A watch that sends nothing for so long is taken for dead; servers send a bookmark about every minute. */
  readonly watchIdleMs?: number;
}

export interface Call extends Place {
  readonly verb: "get" | "list" | "create" | "update" | "patch" | "delete";
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
  /** Less than the client's own. */
  readonly deadlineMs?: number | undefined;
}

const METHODS = {
  get: "GET",
  list: "GET",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
} as const;

const DEADLINE_MS = 15_000;
const RETRY_DELAYS: RetryDelays = { firstMs: 250, maxMs: 5_000 };
const MAX_ATTEMPTS = 4;
const WATCH_IDLE_MS = 120_000;
const MAX_BODY_BYTES = 128 * 2 ** 20;
const MAX_REFUSAL_BYTES = 64 * 2 ** 10;
const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 30_000;
/**
 * undici offers HTTP/2 to TLS servers by default. In Node 24 it can loop for ever in native code when streams are reset
 * (Http2Session::SendPendingData), filling the memory: seen in one of twelve processes that had been stopped for 103 s and then
 * cancelled their watches. API servers speak HTTP/1.1 as well.
 */
const HTTP2 = false;

/**
 * Calls to the Kubernetes API: a deadline over all attempts, retries with jitter where a call cannot be done twice by it,
 * `Retry-After` respected, a refused token read anew, bounded answers.
 */
export class ApiClient {
  readonly namespace: string;
  private readonly connection: Connection;
  private readonly clock: Clock;
  private readonly rng: Rng;
  private readonly settings: ClientSettings;
  private transport: { readonly dispatcher: Dispatcher; readonly generation: string } | undefined;

  constructor(connection: Connection, settings: ClientSettings = {}) {
    this.connection = connection;
    this.namespace = connection.namespace;
    this.settings = settings;
    this.clock = settings.clock ?? systemClock;
    this.rng = settings.rng ?? Math.random;
  }

  /** Where the API server is, for messages. */
  get server(): string {
    return this.connection.server;
  }

  /** @throws ApiError; TradewindError `cancelled` when the signal ended the call */
  async call(call: Call): Promise<unknown> {
    const limitMs = Math.min(this.settings.deadlineMs ?? DEADLINE_MS, call.deadlineMs ?? Infinity);
    return withinTime(limitMs, call.signal, async (signal, deadline) =>
      this.repeated(call, signal, { deadline, limitMs }),
    );
  }

  private async repeated(
    call: Call,
    signal: AbortSignal,
    { deadline, limitMs }: { readonly deadline: AbortSignal; readonly limitMs: number },
  ): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.attempt(call, signal);
      } catch (error) {
        if (call.signal?.aborted === true) {
          throw new TradewindError("cancelled", "the call was cancelled", { cause: error });
        }
        const problem = this.explain(call, error, deadline, limitMs);
        if (attempt === MAX_ATTEMPTS || !mayRepeat(call, problem)) throw problem;
        const delays = this.settings.retryDelays ?? RETRY_DELAYS;
        const waitMs = retryDelayMs(attempt, problem.retryAfterMs, delays, this.rng);
        try {
          await delay(waitMs, undefined, { signal });
        } catch {
          throw problem;
        }
      }
    }
  }

  /** Reads one object. @throws ApiError, TradewindError `invalid-input` when it does not fit the schema */
  async get<Schema extends z.ZodType>(
    place: Place,
    schema: Schema,
    signal?: AbortSignal,
  ): Promise<z.output<Schema>> {
    const object = await this.call({ ...place, verb: "get", signal });
    return parseWith(schema, object, describePlace(place));
  }

  /** Reads one object, undefined when there is none. */
  async find<Schema extends z.ZodType>(
    place: Place,
    schema: Schema,
    signal?: AbortSignal,
  ): Promise<z.output<Schema> | undefined> {
    try {
      return await this.get(place, schema, signal);
    } catch (error) {
      if (error instanceof ApiError && error.isMissing) return undefined;
      throw error;
    }
  }

  async create(place: Place, body: unknown, signal?: AbortSignal): Promise<unknown> {
    return this.call({ ...place, verb: "create", body, signal });
  }

  /** Replaces an object; its `metadata.resourceVersion` must be the one read. @throws ApiError 409 when it is not */
  async update(place: Place, body: unknown, signal?: AbortSignal, deadlineMs?: number): Promise<unknown> {
    return this.call({ ...place, verb: "update", body, signal, deadlineMs });
  }

  async patch(place: Place, type: PatchType, body: unknown, signal?: AbortSignal): Promise<unknown> {
    return this.call({ ...place, verb: "patch", body, contentType: PATCH_TYPES[type], signal });
  }

  /**
   * Server-side apply: the object comes to hold these fields, which `manager` owns from then on; fields it applied before
   * and leaves out now go away. `force` takes fields over from other owners instead of failing with 409.
   */
  async apply(
    place: Place,
    body: unknown,
    options: { manager: string; force: boolean; signal?: AbortSignal },
  ): Promise<unknown> {
    const query = { fieldManager: options.manager, force: options.force };
    const contentType = PATCH_TYPES.apply;
    return this.call({ ...place, verb: "patch", body, contentType, query, signal: options.signal });
  }

  async remove(place: Place, signal?: AbortSignal): Promise<void> {
    await this.call({ ...place, verb: "delete", signal });
  }

  /**
   * Opens a watch and yields its bytes until the server ends it.
   * @throws ApiError when the server refuses, breaks off or falls silent
   */
  async *watch(
    place: Place,
    query: NonNullable<Call["query"]>,
    options: { signal: AbortSignal; accept?: string; onOpen?: () => void },
  ): AsyncGenerator<Uint8Array, void, void> {
    const call: Call = { ...place, verb: "get", query: { ...query, watch: true }, ...options };
    const idleMs = this.settings.watchIdleMs ?? WATCH_IDLE_MS;
    try {
      const { body } = await this.open(call, options.signal, idleMs, "watch");
      options.onOpen?.();
      for await (const chunk of body as AsyncIterable<Uint8Array>) yield chunk;
    } catch (error) {
      if (error instanceof ApiError || options.signal.aborted) throw error;
      throw noAnswer("watch", call, error);
    }
  }

  async close(): Promise<void> {
    const { transport } = this;
    this.transport = undefined;
    await transport?.dispatcher.destroy();
  }

  private async attempt(call: Call, signal: AbortSignal): Promise<unknown> {
    const response = await this.open(call, signal, 0, call.verb);
    const text = await readText(response.body, MAX_BODY_BYTES);
    if (text === "") return undefined;
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw new ApiError(`the Kubernetes API's answer about ${describePlace(call)} is not JSON`, {
        status: 502,
        cause: error,
      });
    }
  }

  /** Sends the call, a second time with fresh credentials when the first were refused. */
  private async open(
    call: Call,
    signal: AbortSignal,
    idleMs: number,
    verb: string,
  ): Promise<Dispatcher.ResponseData> {
    const first = await this.send(call, signal, idleMs, false);
    const response = first.statusCode === 401 ? await this.sendAgain(first, call, signal, idleMs) : first;
    this.settings.observer?.called(verb, call.resource.plural, String(response.statusCode));
    if (response.statusCode >= 200 && response.statusCode < 300) return response;
    const text = await readText(response.body, MAX_REFUSAL_BYTES).catch(() => "");
    const header = response.headers["retry-after"];
    const retryAfterMs = parseRetryAfterMs(
      typeof header === "string" ? header : undefined,
      this.clock.nowMs(),
    );
    throw refusal(verb, call, { status: response.statusCode, text, retryAfterMs });
  }

  private async sendAgain(
    refused: Dispatcher.ResponseData,
    call: Call,
    signal: AbortSignal,
    idleMs: number,
  ): Promise<Dispatcher.ResponseData> {
    await refused.body.dump();
    return this.send(call, signal, idleMs, true);
  }

  private async send(
    call: Call,
    signal: AbortSignal,
    idleMs: number,
    refused: boolean,
  ): Promise<Dispatcher.ResponseData> {
    const credentials = await this.connection.credentials(refused);
    const address = new URL(this.connection.server);
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) search.set(name, String(value));
    }
    const query = search.size === 0 ? "" : `?${search.toString()}`;
    return this.dispatcher(credentials).request({
      origin: address.origin,
      path: `${address.pathname.replace(/\/$/, "")}${pathOf(call)}${query}`,
      method: METHODS[call.verb],
      headers: {
        accept: call.accept ?? "application/json",
        "user-agent": `tradewind/${VERSION}`,
        ...credentials.headers,
        ...(call.body !== undefined && { "content-type": call.contentType ?? "application/json" }),
      },
      body: call.body === undefined ? null : JSON.stringify(call.body),
      signal,
      headersTimeout: this.settings.deadlineMs ?? DEADLINE_MS,
      bodyTimeout: idleMs,
    });
  }

  private dispatcher({ generation, proxy, tls }: ApiCredentials): Dispatcher {
    if (this.transport?.generation === generation) return this.transport.dispatcher;
    void this.transport?.dispatcher.close();
    const connect = {
      ...tls,
      timeout: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
    };
    const dispatcher =
      proxy === undefined
        ? new Agent({ connect, allowH2: HTTP2 })
        : new ProxyAgent({ uri: proxy, requestTls: connect, allowH2: HTTP2 });
    this.transport = { dispatcher, generation };
    return dispatcher;
  }

  private explain(call: Call, error: unknown, deadline: AbortSignal, limitMs: number): ApiError {
    if (error instanceof ApiError) return error;
    this.settings.observer?.called(call.verb, call.resource.plural, "error");
    if (!deadline.aborted) return noAnswer(call.verb, call, error);
    const seconds = limitMs / 1_000;
    return new ApiError(
      `the Kubernetes API gave no complete answer to ${call.verb} ${describePlace(call)} within ${seconds} s`,
      { status: 0, reason: "Timeout", cause: error },
    );
  }
}

function noAnswer(verb: string, place: Place, error: unknown): ApiError {
  const why = describeError(error).slice(0, 300);
  return new ApiError(`no answer of the Kubernetes API to ${verb} ${describePlace(place)}: ${why}`, {
    status: 0,
    cause: error,
  });
}

/** What changes nothing, and what was not taken up, may be sent again; so may patches, which state what shall be. */
function mayRepeat({ verb }: Call, problem: ApiError): boolean {
  if (!problem.isPassing) return false;
  return problem.wasNotProcessed || verb === "get" || verb === "list" || verb === "patch";
}

async function readText(body: AsyncIterable<unknown>, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > maxBytes) {
      throw new ApiError(`the Kubernetes API's answer is larger than ${maxBytes} bytes`, { status: 502 });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
