import { fastify } from "fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { senderOf } from "@tradewind/core/net/access-tokens.ts";
import type { AccessTokens, Caller } from "@tradewind/core/net/access-tokens.ts";
import { systemClock } from "@tradewind/core/process/clock.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import { senderAddress } from "@tradewind/core/net/connection-limits.ts";
import { addressOf, cannotListen, createHttpServer } from "@tradewind/core/net/http-server.ts";
import type { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import type { BatchExchange } from "./exchange.ts";
import { Admission } from "./admission.ts";
import type { Call } from "./admission.ts";
import { readBody, refuseTooLarge } from "./body.ts";
import { DEFAULT_RECEIVER_LIMITS } from "./limits.ts";
import type { ReceiverLimits } from "./limits.ts";
import { parseListen } from "./listen-address.ts";
import type { ReceiverMetrics } from "./metrics.ts";
import { Refusal, failed, malformed, requireToken, unsupported } from "./refusal.ts";
import { JSON_TYPE, PROTOBUF, RPC_CODE, exportResponse, rejectionMessage, statusBody } from "./responses.ts";
import type { OtlpEncoding } from "./responses.ts";
import { SpanIntake } from "./span-intake.ts";
import type { OfferedBody, OnSpans } from "./span-intake.ts";

export interface OtlpReceiverOptions {
  /** `host:port`; port 0 takes a free one. */
  readonly listen: string;
  readonly onSpans: OnSpans;
  readonly limits?: Partial<ReceiverLimits> | undefined;
  readonly metrics?: ReceiverMetrics | undefined;
  /** Told of errors that are not the sender's. */
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  /** Serves TLS only. */
  readonly tls?: ReloadingTls | undefined;
  /** Takes spans only of who shows a token. */
  readonly tokens?: AccessTokens | undefined;
  /** Where several predictors share what each receives. */
  readonly exchange?: BatchExchange | undefined;
}

export interface OtlpReceiver {
  /** `http://host:port` for HTTP, `https://…` with TLS, `host:port` for gRPC. */
  readonly address: string;
  stop(): Promise<void>;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Set for as long as the request is let in. */
    call: Call | undefined;
    /** Set with the call. */
    sentBy: Caller | undefined;
    /** Settles when the body is kept no longer; undefined before it came whole. */
    taking: Promise<unknown> | undefined;
  }
}

const TRACES_PATH = "/v1/traces";

/** Starts OTLP/HTTP: `POST /v1/traces`. @throws TradewindError `cannot-listen` when the address cannot be had */
export async function startOtlpReceiver(options: OtlpReceiverOptions): Promise<OtlpReceiver> {
  const limits: ReceiverLimits = { ...DEFAULT_RECEIVER_LIMITS, ...options.limits };
  const admission = new Admission(limits, options.clock ?? systemClock);
  const server = httpServer(limits, options);
  admitRequests(server, admission, options);
  answerErrors(server, options);
  receiveTraces(server, limits, admission, options);
  const listen = parseListen(options.listen);
  try {
    await server.listen(listen);
  } catch (error) {
    await server.close();
    throw cannotListen(listen, "choose another with --otlp-listen", error);
  }
  return { address: addressOf(server.server), stop: async () => server.close() };
}

function httpServer(limits: ReceiverLimits, { metrics, tls }: OtlpReceiverOptions): FastifyInstance {
  const { firstRequestMs, maxConnections, maxSenderConnections, requestTimeoutMs: requestMs } = limits;
  const maxPerAddress = Math.min(maxConnections, maxSenderConnections);
  const limited = { limits: { maxConnections, maxPerAddress, firstRequestMs }, requestMs, tls };
  return fastify({
    logger: false,
    forceCloseConnections: true,
    serverFactory: (handler) => {
      const { connections, server } = createHttpServer(limited, handler);
      metrics?.connections("http", () => connections.counts);
      return server;
    },
  });
}

function admitRequests(
  server: FastifyInstance,
  admission: Admission,
  { metrics, tokens }: OtlpReceiverOptions,
): void {
  server.decorateRequest("call", undefined);
  server.decorateRequest("sentBy", undefined);
  server.decorateRequest("taking", undefined);
  server.addHook("onRequest", async (request, reply) => {
    reply.raw.once("close", () => {
      if (!reply.raw.writableFinished) request.call?.abandon();
      void Promise.allSettled([request.taking]).then(() => request.call?.end());
      metrics?.request("http", String(reply.raw.statusCode));
    });
    refusePages(request);
    const caller = requireToken(tokens, request.headers.authorization);
    request.sentBy = caller;
    request.call = admission.admit(senderOf(caller, senderAddress(request.raw.socket.remoteAddress)));
  });
}

/**
 * Browsers name the page a request comes from, senders of spans do not. Refusing them keeps a page that a person looks at
 * from sending spans, also one that has the receiver's address under its own name (DNS rebinding).
 * @throws Refusal 403
 */
function refusePages({ headers }: FastifyRequest): void {
  if (headers.origin === undefined) return;
  const kind = { statusCode: 403, rpcCode: RPC_CODE.permissionDenied, reason: "unsupported" } as const;
  throw new Refusal(kind, "spans are not taken from web pages; let the page's own server send them");
}

function answerErrors(server: FastifyInstance, { metrics, onError }: OtlpReceiverOptions): void {
  server.setErrorHandler(async (error, request, reply) => {
    const refusal = asRefusal(error);
    metrics?.refused("http", refusal.reason);
    if (refusal.reason === "failed") onError?.(refusal.cause);
    const { retryAfterSeconds } = refusal;
    if (retryAfterSeconds !== undefined) reply.header("retry-after", String(retryAfterSeconds));
    if (refusal.statusCode === 401) reply.header("www-authenticate", "Bearer");
    // What is left of the body is not waited for.
    if (refusal.reason === "slow") reply.header("connection", "close");
    else request.raw.resume();
    return answer(request, reply, refusal.statusCode, (encoding) =>
      statusBody(encoding, refusal.rpcCode, refusal.message),
    );
  });
  server.setNotFoundHandler(async (request, reply) =>
    answer(request, reply, 404, (encoding) =>
      statusBody(encoding, RPC_CODE.notFound, `traces are received by POST ${TRACES_PATH}`),
    ),
  );
}

function receiveTraces(
  server: FastifyInstance,
  limits: ReceiverLimits,
  admission: Admission,
  options: OtlpReceiverOptions,
): void {
  const { clock = systemClock, exchange, metrics, onSpans } = options;
  const intake = new SpanIntake({ clock, onSpans, limits, admission });
  server.removeAllContentTypeParsers();
  server.addContentTypeParser([PROTOBUF, JSON_TYPE], async (request: FastifyRequest) => {
    const maxBytes = isCompressed(request) ? limits.maxCompressedBytes : limits.maxBodyBytes;
    refuseTooLarge(Number(request.headers["content-length"] ?? 0), maxBytes);
    return readBody(request.raw, callOf(request), maxBytes, limits);
  });
  server.post(TRACES_PATH, async (request, reply) => {
    const { body: bytes } = request;
    if (!(bytes instanceof Uint8Array)) throw unsupportedType();
    const body = {
      bytes,
      isCompressed: isCompressed(request),
      maxBytes: limits.maxBodyBytes,
      encoding: encodingOf(request),
      forward: forwarding(exchange),
      namespaces: request.sentBy?.namespaces,
    };
    const taking = intake.take(body, callOf(request));
    request.taking = taking;
    const { accepted, rejected, reasons, ...taken } = await taking;
    metrics?.bytes("http", taken.bytes);
    metrics?.spans(accepted, rejected);
    return answer(request, reply, 200, (encoding) =>
      exportResponse(encoding, rejected, rejectionMessage(reasons)),
    );
  });
}

/** Passes what was accepted of a client's body on to the other predictors; undefined where there are none. */
export function forwarding(exchange: BatchExchange | undefined): OfferedBody["forward"] {
  return exchange && ((body) => exchange.forward({ body, contentType: PROTOBUF }));
}

function callOf({ call }: FastifyRequest): Call {
  if (call === undefined) throw new Error("the request was not let in");
  return call;
}

/** @throws Refusal 415 */
function isCompressed({ headers }: FastifyRequest): boolean {
  const encoding = (headers["content-encoding"] ?? "identity").trim().toLowerCase();
  if (encoding === "gzip" || encoding === "identity") return encoding === "gzip";
  throw unsupported(`content encoding '${encoding.slice(0, 32)}': send gzip or none`);
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  statusCode: number,
  body: (encoding: OtlpEncoding) => Uint8Array | string,
): Promise<FastifyReply> {
  const encoding = encodingOf(request);
  return reply.code(statusCode).header("content-type", encoding).send(body(encoding));
}

/** The encoding of the request, which is also the answer's; JSON when the sender named neither. */
function encodingOf(request: FastifyRequest): OtlpEncoding {
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  return type === PROTOBUF ? PROTOBUF : JSON_TYPE;
}

const unsupportedType = (): Refusal => unsupported(`send ${PROTOBUF} or ${JSON_TYPE}`);

/** Errors of the HTTP library keep their status when they are the sender's; anything else is ours. */
function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const { statusCode } = error as { statusCode?: unknown };
  if (statusCode === 415) return unsupportedType();
  return typeof statusCode === "number" && statusCode >= 400 && statusCode < 500
    ? malformed((error as Error).message, error)
    : failed(error);
}
