import type { ConnectionLimits } from "@tradewind/core/net/connection-limits.ts";
import { describeError, issuesInWords, TradewindError } from "@tradewind/core/values/errors.ts";
import type { HttpDoor, Need } from "@tradewind/core/net/http-door.ts";
import type { SenderWork } from "@tradewind/core/net/sender-work.ts";
import { addressOf, cannotListen, createHttpServer } from "@tradewind/core/net/http-server.ts";
import { APPLICATION_LIST_SCHEMA } from "@tradewind/core/contract/application-list.ts";
import type { ApplicationList } from "@tradewind/core/contract/application-list.ts";
import { Description, OPENAPI_PATH } from "@tradewind/core/net/openapi.ts";
import { isProfile, setProfiles } from "@tradewind/core/net/profile-routes.ts";
import { WhatIfRequest } from "@tradewind/core/contract/what-if.ts";
import { bodyProblem } from "@tradewind/core/values/json-limits.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import type { ReloadingTls } from "@tradewind/core/net/reloading-tls.ts";
import fastify from "fastify";
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Registry } from "prom-client";
import type { Applications } from "../run/applications.ts";
import { mergedMetrics } from "../run/merged-metrics.ts";
import type { PlannedApplication } from "../run/application/planned-application.ts";
import { shippedText } from "../learn/students/shipped.ts";
import { parseListen } from "../sources/otlp/listen-address.ts";
import { addAccuracy } from "./accuracy.ts";
import { addApplicationRoutes } from "./application-routes.ts";
import { chosen } from "./asked.ts";
import type { Asked } from "./asked.ts";
import { DESCRIBED } from "./described.ts";
import { addOverrides } from "./overrides.ts";
import { addProposals } from "./proposals.ts";
import { fail, sendText } from "./replies.ts";

export interface ApiOptions {
  readonly listen: string;
  readonly applications: Applications;
  /** Of the process; each application has its own besides. */
  readonly registry: Registry;
  /** Why the predictor cannot be relied on now; undefined when it can. */
  readonly notReady: () => string | undefined;
  /** Judges every request but those of probes. */
  readonly door: HttpDoor;
  /** What each sender may cost. */
  readonly work: SenderWork;
  /** Serves TLS only. */
  readonly tls: ReloadingTls | undefined;
  readonly log: Logger;
}

export interface Api {
  /** `http://host:port`, `https://…` with TLS. */
  readonly address: string;
  stop(): Promise<void>;
}

/** Almost everything is asked by GET without a body. */
const MAX_BODY_BYTES = 1_024;
/** Supposed sizes of as many services as may be asked about at once. */
const MAX_WHAT_IF_BYTES = 256 * 1_024;
const IDLE_MS = 30_000;

/** Each exporter keeps two connections, a Prometheus one. */
const CONNECTIONS: ConnectionLimits = { maxConnections: 256, maxPerAddress: 64, firstRequestMs: 10_000 };
const HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

/**
 * Serves what is in memory, and of the store the newest decisions; no request causes work for the policies. One for each
 * decision makes the sensitivities, and one the explanation; `/v1/what-if` runs the models each time.
 * @throws TradewindError `cannot-listen`
 */
export async function startApi(options: ApiOptions): Promise<Api> {
  const { log, tls } = options;
  const server = fastify({
    bodyLimit: MAX_BODY_BYTES,
    forceCloseConnections: true,
    logger: false,
    serverFactory: (handler) =>
      createHttpServer({ limits: CONNECTIONS, idleMs: IDLE_MS, tls }, handler).server,
  });
  const parseJson = server.getDefaultJsonParser("error", "error");
  server.addContentTypeParser<string>("application/json", { parseAs: "string" }, (request, body, done) => {
    const tooMuch = bodyProblem(body);
    if (tooMuch === undefined) void parseJson(request, body, done);
    else done(tooMuch);
  });
  server.decorateRequest("caller");
  server.addHook("onRequest", async (request, reply) => {
    reply.headers(HEADERS);
    const { authorization, host } = request.headers;
    if (isProbe(request.url)) return undefined;
    const knock = { authorization, host, address: request.socket.remoteAddress };
    const admission = options.door.admit(knock, request.routeOptions.config as Need);
    if ("caller" in admission) request.caller = admission.caller;
    const refused =
      "refused" in admission
        ? admission.refused
        : options.work.admit(request.raw, reply.raw, isProfile(request.url));
    if (refused === undefined) return undefined;
    return fail(reply.headers(refused.headers), refused.status, "refused", refused.message);
  });
  server.setErrorHandler(async (error, _request, reply) => {
    const status = (error as { statusCode?: number }).statusCode ?? 500;
    if (status >= 500) log.error({ problem: describeError(error) }, "a request failed");
    return fail(reply, status, status >= 500 ? "internal" : "bad-request", describeError(error));
  });
  server.setNotFoundHandler(async (_request, reply) =>
    fail(reply, 404, "not-found", "there is nothing here"),
  );
  const description = new Description(DESCRIBED);
  server.addHook("onRoute", (route) => description.hear(route));
  addRoutes(server, options);
  server.get(OPENAPI_PATH, async (_request, reply) => sendText(reply, description.text(), ""));
  const listen = parseListen(options.listen);
  try {
    await server.listen(listen);
  } catch (error) {
    throw cannotListen(listen, "is another process there?", error);
  }
  return { address: addressOf(server.server), stop: async () => server.close() };
}

/** What probes ask says nothing that must be kept. */
const isProbe = (url: string): boolean => url === "/healthz" || url === "/readyz";

function addRoutes(server: FastifyInstance, options: ApiOptions): void {
  const { applications, registry, notReady } = options;
  server.get("/v1/applications", async (_request, reply) => {
    const unknown = applications.whyNot();
    if (unknown !== undefined) return fail(reply, 503, "not-ready", unknown);
    const { several } = applications;
    return reply.send({
      schema: APPLICATION_LIST_SCHEMA,
      several,
      applications: [...applications.list()],
    } satisfies ApplicationList);
  });
  addApplicationRoutes(server, applications);
  addWhatIf(server, applications);
  addProposals(server, applications);
  addOverrides(server, applications);
  addAccuracy(server, applications);
  setProfiles<FastifyReply>(server, fail);
  server.get<{ Params: { hash: string } }>("/v1/inputs/:hash", async ({ params }, reply) => {
    const text = ofAny(applications, ({ archive }) => archive.get(params.hash));
    if (text !== undefined) return sendText(reply, text, "");
    return fail(reply, 404, "not-found", "the inputs of this decision are not kept (any more)");
  });
  server.get<{ Params: { hash: string } }>("/v1/models/:hash", async ({ params }, reply) => {
    const text = shippedText(params.hash);
    if (text !== undefined) return sendText(reply, text, "");
    return fail(reply, 404, "not-found", "this model is not kept (any more)");
  });
  server.get("/metrics", async (_request, reply) =>
    reply
      .type(registry.contentType)
      .send(
        await mergedMetrics([registry, ...applications.planned().map(({ metrics }) => metrics.registry)]),
      ),
  );
  server.get("/healthz", async (_request, reply) => reply.send({ ok: true }));
  server.get("/readyz", async (_request, reply) => {
    const why = notReady();
    return why === undefined ? reply.send({ ok: true }) : fail(reply, 503, "not-ready", why);
  });
}

/** What would be: executed on the models of the last decision, which it leaves as they are. */
function addWhatIf(server: FastifyInstance, applications: Applications): void {
  server.post("/v1/what-if", { bodyLimit: MAX_WHAT_IF_BYTES }, async (request, reply) => {
    const { data, error } = WhatIfRequest.safeParse(request.body ?? {});
    if (data === undefined) return fail(reply, 400, "bad-request", issuesInWords(error.issues));
    const { application, namespace } = data;
    const found = chosen(applications, { application, namespace, ...(request.query as Asked) });
    if ("problem" in found) return fail(reply, found.status, found.code, found.problem);
    try {
      return await reply.send(found.one.whatIf.answer(data));
    } catch (problem) {
      if (!(problem instanceof TradewindError)) throw problem;
      return fail(reply, problem.code === "unknown-service" ? 404 : 503, problem.code, problem.message);
    }
  });
}

function ofAny<Found>(
  applications: Applications,
  find: (one: PlannedApplication) => Found | undefined,
): Found | undefined {
  for (const one of applications.planned()) {
    const found = find(one);
    if (found !== undefined) return found;
  }
  return undefined;
}
