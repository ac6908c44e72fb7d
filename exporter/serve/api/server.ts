import { Readable } from "node:stream";
import fastify from "fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ConnectionCounts, ConnectionLimits } from "@tradewind/core/net/connection-limits.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { may } from "@tradewind/core/net/access-tokens.ts";
import type { Caller } from "@tradewind/core/net/access-tokens.ts";
import type { HttpDoor, Need } from "@tradewind/core/net/http-door.ts";
import type { SenderWork } from "@tradewind/core/net/sender-work.ts";
import { addressOf, cannotListen, createHttpServer } from "@tradewind/core/net/http-server.ts";
import type { HttpServer } from "@tradewind/core/net/http-server.ts";
import { bodyProblem } from "@tradewind/core/values/json-limits.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import type { DecisionRecord, RecommendationList } from "@tradewind/core/contract/recommendation.ts";
import { Description, OPENAPI_PATH } from "@tradewind/core/net/openapi.ts";
import { isProfile, setProfiles } from "@tradewind/core/net/profile-routes.ts";
import { NEEDED_SECONDS } from "../../decide/course/ready.ts";
import { problem } from "./problem.ts";
import { setChanges } from "./approval.ts";
import type { ChangesPort } from "./approval.ts";
import { plain } from "@tradewind/core/terminal/style.ts";
import { DESCRIBED } from "./described.ts";
import { replayed } from "./replayed.ts";
import { FILES, loadConsole } from "../web/assets.ts";
import type { Asset } from "../web/assets.ts";
import { setCourses } from "./courses.ts";
import type { CoursesPort } from "./courses.ts";
import { setOverrides } from "./overrides.ts";
import type { OverridesPort } from "./overrides.ts";
import { setOccasions } from "./occasions.ts";
import type { Occasions } from "./occasions.ts";
import { setQuestions } from "./questions.ts";
import type { AskPredictor } from "./questions.ts";
import { setReady } from "./ready.ts";
import type { ReadyPort } from "./ready.ts";
import { setStream, STREAM_PATH } from "./stream.ts";
import type { WatchedState } from "./stream.ts";
import { BY_NAMESPACE, visibleList } from "./visible.ts";

/** What the HTTP side reads. All of it is memory, but for what is asked of a predictor and the file of a backtest. */
export interface ApiSurroundings {
  readonly list: () => RecommendationList;
  readonly decisionJson: (id: string) => string | undefined;
  readonly historyJson: (namespace: string, service: string) => string[];
  readonly changes: ChangesPort;
  readonly overrides: OverridesPort;
  /** What happened, what is going to happen, and what would have. */
  readonly occasions: Occasions;
  readonly courses: CoursesPort;
  readonly ready: ReadyPort;
  readonly watched: WatchedState;
  /** Goes on to a predictor. */
  readonly ask: AskPredictor;
  /** What stands in the way of good answers; empty when all is well. */
  readonly missing: () => string[];
  /** Whether KEDA would be answered; a process that is not alive for long is to be ended. */
  readonly isAlive: () => Promise<boolean>;
  /** In pieces, so that thousands of series hold nobody up. */
  readonly metrics: () => AsyncIterable<string>;
  /** Judges every request but those of probes. */
  readonly door: HttpDoor;
  /** What each sender may cost. */
  readonly work: SenderWork;
  /** Hears of every answer. */
  readonly onAnswer: () => void;
  /** Serves TLS only. */
  readonly tls: ReloadingTls | undefined;
  readonly log: Logger;
}

/** A listening HTTP API. */
export interface ApiServer {
  readonly address: string;
  connections(): ConnectionCounts | undefined;
  /** From now on `/readyz` says 503, so that nobody new is sent here. */
  drain(): void;
  isDraining(): boolean;
  stop(): Promise<void>;
}

/** A browser opens six, a Prometheus one; a proxy before the page holds some hundred, all from its own address. */
const CONNECTIONS: ConnectionLimits = { maxConnections: 512, maxPerAddress: 128, firstRequestMs: 10_000 };
const IDLE_MS = 10_000;
const MAX_BODY_BYTES = 1_024;
const SECURITY_HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const;

/**
 * Serves metrics, recommendations, decision records, health and the web page. All that can be
 * changed through it is whether a change that waits for a person is approved, and what overrides the plan, and that with a token only.
 * @throws TradewindError `cannot-listen` naming the address
 */
export async function serveApi(
  listen: { host: string; port: number },
  surroundings: ApiSurroundings,
): Promise<ApiServer> {
  let draining = false;
  let made: HttpServer | undefined;
  const server = fastify({
    bodyLimit: MAX_BODY_BYTES,
    routerOptions: { maxParamLength: 256 },
    forceCloseConnections: true,
    serverFactory: (handler) => {
      const one = createHttpServer({ limits: CONNECTIONS, idleMs: IDLE_MS, tls: surroundings.tls }, handler);
      made ??= one;
      return one.server;
    },
    frameworkErrors: (error, _request, reply) => {
      reply.headers(SECURITY_HEADERS);
      void problem(reply, error.statusCode ?? 400, "bad-request", error.message);
    },
  });
  const parseJson = server.getDefaultJsonParser("error", "error");
  server.addContentTypeParser<string>("application/json", { parseAs: "string" }, (request, body, done) => {
    const tooMuch = bodyProblem(body);
    if (tooMuch === undefined) void parseJson(request, body, done);
    else done(tooMuch);
  });
  const description = new Description(DESCRIBED);
  server.addHook("onRoute", (route) => description.hear(route));
  answerKnocks(server, surroundings);
  setErrors(server, surroundings.log);
  setHealth(server, surroundings, () => draining);
  setData(server, surroundings);
  setChanges(server, surroundings.changes);
  setOverrides(server, surroundings.overrides);
  setOccasions(server, surroundings.occasions);
  setCourses(server, surroundings.courses);
  setReady(server, surroundings.ready, NEEDED_SECONDS);
  setQuestions(server, surroundings.ask);
  setStream(server, surroundings.watched);
  setConsole(server);
  setProfiles<FastifyReply>(server, problem);
  server.get(OPENAPI_PATH, BY_NAMESPACE, async (_request, reply) => sendJson(reply, description.text()));
  try {
    await server.listen(listen);
  } catch (error) {
    await server.close();
    throw cannotListen(listen, "is another scaler running?", error);
  }
  return {
    address: addressOf(server.server),
    connections: () => made?.connections.counts,
    drain: () => {
      draining = true;
    },
    isDraining: () => draining,
    stop: () => server.close(),
  };
}

function answerKnocks(server: FastifyInstance, { door, onAnswer, work }: ApiSurroundings): void {
  server.decorateRequest("caller");
  server.addHook("onRequest", async (request, reply) => {
    reply.headers(SECURITY_HEADERS);
    if (isProbe(request.url)) return undefined;
    const { authorization, host } = request.headers;
    const knock = { authorization, host, address: request.socket.remoteAddress };
    const admission = door.admit(knock, request.routeOptions.config as Need | undefined);
    const isStream = request.url.startsWith(STREAM_PATH) || isProfile(request.url);
    const refused = "refused" in admission ? admission.refused : work.admit(request.raw, reply.raw, isStream);
    if ("caller" in admission) request.caller = admission.caller;
    if (refused === undefined) return undefined;
    return problem(reply.headers(refused.headers), refused.status, "refused", refused.message);
  });
  server.addHook("onResponse", async () => onAnswer());
}

/** What probes ask says nothing that must be kept. */
const isProbe = (url: string): boolean => url === "/healthz" || url === "/readyz";

function setHealth(
  server: FastifyInstance,
  { isAlive, missing }: ApiSurroundings,
  isDraining: () => boolean,
): void {
  server.get("/healthz", async (_request, reply) => {
    if (await isAlive()) return { status: "ok" };
    return problem(reply, 503, "stuck", "the thread that answers KEDA does not answer; restart the scaler");
  });
  server.get("/readyz", async (_request, reply) => {
    const ready = !isDraining();
    reply.code(ready ? 200 : 503);
    return { ready, missing: ready ? missing() : ["the scaler is stopping"] };
  });
}

function setData(server: FastifyInstance, surroundings: ApiSurroundings): void {
  server.get("/metrics", async (_request, reply) =>
    reply
      .type("text/plain; version=0.0.4; charset=utf-8")
      .send(Readable.from(surroundings.metrics(), { objectMode: false })),
  );
  let shared: Buffer | undefined;
  server.get("/v1/recommendations", BY_NAMESPACE, async ({ caller }, reply) => {
    if (caller.namespaces !== undefined) return visibleList(surroundings.list(), caller);
    if (shared === undefined) {
      shared = Buffer.from(JSON.stringify(surroundings.list()));
      // Those who asked meanwhile have the same answer. It is never older than the turn of the event loop that they came in.
      setImmediate(() => {
        shared = undefined;
      });
    }
    return sendJson(reply, shared);
  });
  const decisionOf = (id: string, caller: Caller): string | undefined => {
    const json = surroundings.decisionJson(id);
    if (json === undefined || caller.namespaces === undefined) return json;
    return may(caller, "read", (JSON.parse(json) as DecisionRecord).namespace) ? json : undefined;
  };
  type OfId = { Params: { id: string } };
  server.get<OfId>("/v1/decisions/:id", BY_NAMESPACE, async ({ caller, params }, reply) => {
    const json = decisionOf(params.id, caller);
    if (json !== undefined) return sendJson(reply, json);
    return problem(
      reply,
      404,
      "unknown-decision",
      "no decision has this id any more; the ids in force are in /v1/recommendations as decisionId",
    );
  });
  server.get<OfId>("/v1/decisions/:id/replay", BY_NAMESPACE, async ({ caller, params }, reply) => {
    const json = decisionOf(params.id, caller);
    if (json === undefined)
      return problem(reply, 404, "unknown-decision", "no decision has this id any more");
    try {
      return { same: true, words: replayed(JSON.parse(json) as Record<string, unknown>).text(plain) };
    } catch (error) {
      if (!(error instanceof TradewindError)) throw error;
      return { same: false, words: describeError(error) };
    }
  });
  server.get<{ Querystring: { namespace?: unknown; service?: unknown } }>(
    "/v1/decisions",
    BY_NAMESPACE,
    async ({ caller, query: { namespace, service } }, reply) => {
      if (typeof namespace !== "string" || typeof service !== "string") {
        return problem(reply, 400, "invalid-query", "ask with ?namespace=NAME&service=NAME");
      }
      const records = may(caller, "read", namespace) ? surroundings.historyJson(namespace, service) : [];
      return sendJson(reply, `{"decisions":[${records.join(",")}]}`);
    },
  );
}

function setConsole(server: FastifyInstance): void {
  const { contentSecurityPolicy, files, page } = loadConsole();
  server.get("/", BY_NAMESPACE, async (request, reply) => {
    reply.header("content-security-policy", contentSecurityPolicy);
    return sendAsset(request, reply, page);
  });
  server.get<{ Params: { file: string } }>(`/${FILES}:file`, BY_NAMESPACE, async (request, reply) => {
    const file = files.get(request.params.file);
    if (file !== undefined) return sendAsset(request, reply, file);
    return problem(reply, 404, "not-found", "the console has no such file; reload the page");
  });
}

/** A browser keeps it, and asks each time whether it still holds. */
function sendAsset(request: FastifyRequest, reply: FastifyReply, { body, tag, type }: Asset): FastifyReply {
  reply.headers({ "cache-control": "no-cache", etag: tag });
  if (request.headers["if-none-match"] === tag) return reply.code(304).send();
  return reply.type(type).send(body);
}

function setErrors(server: FastifyInstance, log: Logger): void {
  server.setNotFoundHandler(async (_request, reply) =>
    problem(reply, 404, "not-found", "there is no such path; /openapi.json lists all"),
  );
  server.setErrorHandler(async (error: unknown, _request, reply) => {
    const given = error instanceof Error && "statusCode" in error ? Number(error.statusCode) : 500;
    if (given >= 400 && given < 500) return problem(reply, given, "bad-request", describeError(error));
    log.error({ problem: describeError(error) }, "request failed");
    return problem(reply, 500, "internal", "the scaler failed on this request; its log says why");
  });
}

const sendJson = (reply: FastifyReply, json: string | Buffer) =>
  reply.type("application/json; charset=utf-8").send(json);
