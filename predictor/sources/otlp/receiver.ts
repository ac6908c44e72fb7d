import { fastify } from "fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { senderOf } from "@tradewind/core/net/access-tokens.ts";
import type { Caller } from "@tradewind/core/net/access-tokens.ts";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { senderAddress } from "@tradewind/core/net/connection-limits.ts";
import { addressOf, cannotListen, createHttpServer } from "@tradewind/core/net/http-server.ts";
import { Admission } from "./admission.ts";
import type { Call } from "./admission.ts";
import type { SentBody } from "./body-work.ts";
import { readBody, refuseTooLarge } from "./body.ts";
import { compressionOf } from "./compression.ts";
import type { Compression } from "./compression.ts";
import { Intakes, SIGNALS } from "./intakes.ts";
import { DEFAULT_RECEIVER_LIMITS } from "./limits.ts";
import type { ReceiverLimits } from "./limits.ts";
import { parseListen } from "./listen-address.ts";
import type { OtlpReceiverOptions } from "./receiver-options.ts";
import { Refusal, failed, malformed, requireToken, unsupported } from "./refusal.ts";
import {
  JSON_TYPE,
  PROTOBUF,
  RPC_CODE,
  ZIPKIN_JSON,
  ZIPKIN_PROTOBUF,
  exportResponse,
  statusBody,
} from "./responses.ts";
import type { OtlpEncoding } from "./responses.ts";

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

/** Of Zipkin's API, version 2. */
const ZIPKIN_PATH = "/api/v2/spans";
const PATHS = [...SIGNALS.map((signal) => `/v1/${signal}`), ZIPKIN_PATH].join(", ");

/** Starts OTLP/HTTP, `POST /v1/traces` and alike metrics and logs, and Zipkin's `POST /api/v2/spans`. @throws TradewindError `cannot-listen` when the address cannot be had */
export async function startOtlpReceiver(options: OtlpReceiverOptions): Promise<OtlpReceiver> {
  const limits: ReceiverLimits = { ...DEFAULT_RECEIVER_LIMITS, ...options.limits };
  const admission = new Admission(limits, options.clock ?? systemClock);
  const server = httpServer(limits, options);
  admitRequests(server, admission, options);
  answerErrors(server, options);
  receiveBodies(server, limits, admission, options);
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
    // Endpoints are put together of an address and a path, with a slash too many here and there.
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
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
      statusBody(encoding, RPC_CODE.notFound, `this port takes POST ${PATHS}`),
    ),
  );
}

function receiveBodies(
  server: FastifyInstance,
  limits: ReceiverLimits,
  admission: Admission,
  options: OtlpReceiverOptions,
): void {
  const intakes = new Intakes(options, "http", limits, admission);
  server.removeAllContentTypeParsers();
  server.addContentTypeParser([PROTOBUF, JSON_TYPE], async (request: FastifyRequest) => {
    const isPlain = encodingNamed(request) === "none";
    const maxBytes = isPlain ? limits.maxBodyBytes : limits.maxCompressedBytes;
    refuseTooLarge(Number(request.headers["content-length"] ?? 0), maxBytes);
    return readBody(request.raw, callOf(request), maxBytes, limits);
  });
  const sentBody = (request: FastifyRequest): SentBody => {
    const { body: bytes } = request;
    if (!(bytes instanceof Uint8Array)) throw unsupportedType();
    const { namespaces } = request.sentBy ?? {};
    return { bytes, compression: encodingNamed(request), maxBytes: limits.maxBodyBytes, namespaces };
  };
  for (const signal of SIGNALS) {
    server.post(`/v1/${signal}`, async (request, reply) => {
      const body = { ...sentBody(request), form: encodingOf(request) };
      const taking = intakes.take(signal, body, callOf(request));
      request.taking = taking;
      const { message, rejected } = await taking;
      return answer(request, reply, 200, (encoding) => exportResponse(encoding, rejected, message, signal));
    });
  }
  server.post(ZIPKIN_PATH, async (request, reply) => {
    const form = encodingOf(request) === PROTOBUF ? ZIPKIN_PROTOBUF : ZIPKIN_JSON;
    const taking = intakes.takeSpans({ ...sentBody(request), form }, callOf(request));
    request.taking = taking;
    await taking;
    // As Zipkin answers: it has no words for spans that were not taken.
    return reply.code(202).send();
  });
}

function callOf({ call }: FastifyRequest): Call {
  if (call === undefined) throw new Error("the request was not let in");
  return call;
}

/** @throws Refusal 415 */
const encodingNamed = ({ headers }: FastifyRequest): Compression =>
  compressionOf(headers["content-encoding"]);

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
