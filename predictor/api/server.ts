import type { ConnectionLimits } from "@tradewind/core/connection-limits.ts";
import { describeError, issuesInWords, TradewindError } from "@tradewind/core/errors.ts";
import type { HttpDoor } from "@tradewind/core/http-door.ts";
import { addressOf, cannotListen, createHttpServer } from "@tradewind/core/http-server.ts";
import { APPLICATION_LIST_SCHEMA } from "@tradewind/core/contract/application-list.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { ApplicationList } from "@tradewind/core/contract/application-list.ts";
import type { Explanation } from "@tradewind/core/contract/explanation.ts";
import type { Incident, IncidentList } from "@tradewind/core/contract/measured.ts";
import type { ProposedChanges } from "@tradewind/core/contract/proposed-change.ts";
import { ServiceName } from "@tradewind/core/contract/quantity.ts";
import { WhatIfRequest } from "@tradewind/core/contract/what-if.ts";
import type { Logger } from "@tradewind/core/log.ts";
import type { ReloadingTls } from "@tradewind/core/reloading-tls.ts";
import fastify from "fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Registry } from "prom-client";
import { z } from "zod";
import type { Applications } from "../applications/applications.ts";
import { mergedMetrics } from "../applications/merged-metrics.ts";
import type { Explaining } from "../application/explaining.ts";
import type { PlannedApplication } from "../application/planned-application.ts";
import type { WindowStore } from "../store/window-store.ts";
import { readPeriod } from "../report/read-period.ts";
import type { LastSensitivities } from "../sensitivities/last-sensitivities.ts";
import { parseListen } from "../sources/otlp/listen-address.ts";
import { addAccuracy } from "./accuracy.ts";
import { chosen, fail } from "./asked.ts";
import type { Asked } from "./asked.ts";
import { addProposals } from "./proposals.ts";

export interface ApiOptions {
  readonly listen: string;
  readonly applications: Applications;
  /** Of the process; each application has its own besides. */
  readonly registry: Registry;
  /** Why the predictor cannot be relied on now; undefined when it can. */
  readonly notReady: () => string | undefined;
  /** Judges every request but those of probes. */
  readonly door: HttpDoor;
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

/** Longer than anything is kept by default. */
const MOST_REPORTED_MS = 60 * 86_400_000;

/** Changes that are served at once, the newest. */
const MOST_DECISIONS = 200;

const NO_PLAN_YET = "no window has closed since the start; ask again";
const NO_FORECAST_YET = "no window with load has been decided on by policy auto; ask again";

const Since = z.coerce.number().min(0).optional();
const HASH = /^[0-9a-f]{16}$/;
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
  server.addHook("onRequest", async (request, reply) => {
    reply.headers(HEADERS);
    const { authorization, host } = request.headers;
    const refused = isProbe(request.url) ? undefined : options.door.refuse({ authorization, host });
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
  addRoutes(server, options);
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
  addOwnRoutes(server, applications);
  addWhatIf(server, applications);
  addProposals(server, applications);
  addAccuracy(server, applications);
  server.get<{ Params: { hash: string } }>("/v1/inputs/:hash", async ({ params }, reply) => {
    const text = ofAny(applications, ({ archive }) => archive.get(params.hash));
    if (text !== undefined) return sendText(reply, text, "");
    return fail(reply, 404, "not-found", "the inputs of this decision are not kept (any more)");
  });
  server.get<{ Params: { hash: string } }>("/v1/models/:hash", async ({ params }, reply) => {
    const text = HASH.test(params.hash)
      ? ofAny(applications, (each) => each.modelText(params.hash))
      : undefined;
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

/** What is asked of one application, which `?namespace=` and `?application=` name where there are several. */
function addOwnRoutes(server: FastifyInstance, applications: Applications): void {
  const of =
    (send: (one: PlannedApplication, request: FastifyRequest, reply: FastifyReply) => unknown) =>
    async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      const found = chosen(applications, request.query as Asked);
      if ("problem" in found) return fail(reply, found.status, found.code, found.problem);
      return send(found.one, request, reply);
    };
  server.get(
    "/v1/plan",
    of(({ published }, request, reply) => {
      const tag = published.planTag();
      if (tag !== undefined) reply.header("etag", tag);
      if (tag !== undefined && request.headers["if-none-match"] === tag) return reply.code(304).send();
      return sendText(reply, published.planText(), NO_PLAN_YET);
    }),
  );
  server.get(
    "/v1/plan/header",
    of(({ published }, _request, reply) => sendText(reply, published.headerText(), NO_PLAN_YET)),
  );
  server.get(
    "/v1/windows",
    of(({ published }, _request, reply) => sendText(reply, published.windowsText(), NO_PLAN_YET)),
  );
  server.get(
    "/v1/measured",
    of(({ measured }, _request, reply) => sendText(reply, measured.text(), NO_PLAN_YET)),
  );
  server.get(
    "/v1/course",
    of(({ application: { name, namespace }, measured }, { query }, reply) => {
      const { data: sinceMs, success } = Since.safeParse((query as { since?: unknown }).since);
      if (!success) return fail(reply, 400, "bad-request", "?since= takes milliseconds since 1970");
      return reply.send(measured.course({ application: name, namespace }, sinceMs));
    }),
  );
  server.get(
    "/v1/incidents",
    of(({ explaining }, _request, reply) => reply.send(incidentList(explaining))),
  );
  server.get(
    "/v1/sensitivities",
    of(async ({ sensitivities }, request, reply) =>
      sendSensitivities(reply, sensitivities, (request.query as Asked).service),
    ),
  );
  server.get(
    "/v1/forecast",
    of(async ({ forecasts }, _request, reply) => {
      const forecast = forecasts.latest();
      return forecast === undefined
        ? fail(reply, 503, "no-forecast-yet", NO_FORECAST_YET)
        : reply.send(forecast);
    }),
  );
  server.get(
    "/v1/context",
    of((one, request, reply) => {
      const tag = one.published.planTag();
      if (tag !== undefined) reply.header("etag", tag);
      if (tag !== undefined && request.headers["if-none-match"] === tag) return reply.code(304).send();
      const context = one.context();
      return context === undefined ? fail(reply, 503, "no-plan-yet", NO_PLAN_YET) : reply.send(context);
    }),
  );
  server.get(
    "/v1/patterns",
    of(({ patterns }, _request, reply) => {
      const latest = patterns.latest();
      return latest === undefined ? fail(reply, 503, "no-plan-yet", NO_PLAN_YET) : reply.send(latest);
    }),
  );
  server.get(
    "/v1/explain",
    of(({ explaining }, request, reply) => sendExplanation(reply, explaining, request.query as Asked)),
  );
  server.get(
    "/v1/transcripts",
    of(({ explaining }, _request, reply) => reply.send({ transcripts: [...explaining.transcripts()] })),
  );
  server.get(
    "/v1/decisions",
    of(({ history }, request, reply) =>
      sendDecisions(reply, history.store, (request.query as Asked).service),
    ),
  );
  server.get(
    "/v1/report",
    of(({ application, history }, request, reply) =>
      sendReport(reply, history.store, application, request.query as Asked),
    ),
  );
  server.get(
    "/v1/inputs",
    of(({ archive }, _request, reply) => reply.send({ hashes: archive.hashes() })),
  );
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

/** @param asked `?service=` as it came: once, several times or not at all */
function sendDecisions(
  reply: FastifyReply,
  store: Pick<WindowStore, "decisions">,
  asked: unknown,
): FastifyReply {
  const { data: service, success } = ServiceName.optional().safeParse(asked);
  if (!success) return fail(reply, 400, "bad-request", "?service= takes the name of one service");
  const answer: ProposedChanges = { decisions: [...store.decisions({ most: MOST_DECISIONS, service })] };
  return reply.send(answer);
}

/** ms since the epoch; NaN where it is no number. */
const msOf = (asked: unknown): number =>
  typeof asked === "string" && asked.trim() !== "" ? Number(asked) : Number.NaN;

async function sendReport(
  reply: FastifyReply,
  store: WindowStore,
  application: Application,
  { from, to }: Asked,
): Promise<FastifyReply> {
  const [fromMs, toMs] = [msOf(from), msOf(to)];
  if (!(fromMs < toMs && toMs - fromMs <= MOST_REPORTED_MS)) {
    const how = "?from= and ?to= take milliseconds since 1970, `from` before `to`, at most 60 days apart";
    return fail(reply, 400, "bad-request", how);
  }
  const report = await readPeriod(store, application, { fromMs, toMs });
  if (report !== undefined) return reply.send(report);
  return fail(reply, 404, "not-found", "no window of that time is stored; is --state set, and does it hold?");
}

function sendExplanation(reply: FastifyReply, explaining: Explaining, { at }: Asked): FastifyReply {
  if (at === undefined) {
    const latest = explaining.latest();
    return latest === undefined ? fail(reply, 503, "no-plan-yet", NO_PLAN_YET) : reply.send(latest);
  }
  const ms = msOf(at);
  if (!Number.isFinite(ms)) return fail(reply, 400, "bad-request", "?at= takes milliseconds since 1970");
  const found = explaining.at(ms);
  if (found !== undefined) return reply.send(found);
  const [first] = explaining.kept();
  const kept =
    first === undefined ? "none is kept" : `the first one kept is of ${new Date(first.atMs).toISOString()}`;
  return fail(
    reply,
    404,
    "not-found",
    `no missed objective was explained within five minutes of then; ${kept}`,
  );
}

/** @param asked as there */
async function sendSensitivities(
  reply: FastifyReply,
  sensitivities: LastSensitivities,
  asked: unknown,
): Promise<FastifyReply> {
  const { data: service, success } = ServiceName.optional().safeParse(asked);
  if (!success) return fail(reply, 400, "bad-request", "?service= takes the name of one service");
  const list = await sensitivities.list();
  if (list === undefined) return fail(reply, 503, "no-plan-yet", NO_PLAN_YET);
  if (service === undefined) return reply.send(list);
  const services = list.services.filter((each) => each.service === service);
  if (services.length > 0 || list.unavailable !== undefined) return reply.send({ ...list, services });
  return fail(reply, 404, "not-found", `'${service}' is on no user's route, or has no calibrated model yet`);
}

/** Without what each was made from, newest first. */
const incidentList = (explaining: Explaining): IncidentList => ({
  incidents: explaining.kept().map(incidentOf).toReversed(),
});

function incidentOf(explained: Explanation): Incident {
  const { atMs, causes, measuredLatencySeconds, objective, onsetMs, summary } = explained;
  const [first] = causes;
  return {
    atMs,
    onsetMs,
    ...(measuredLatencySeconds !== undefined && { measuredLatencySeconds }),
    objectiveSeconds: objective.seconds,
    summary,
    ...(first && { cause: { service: first.service, type: first.type } }),
  };
}

function sendText(reply: FastifyReply, text: string | undefined, whyNot: string): FastifyReply {
  if (text === undefined) return fail(reply, 503, "no-plan-yet", whyNot);
  return reply.type("application/json; charset=utf-8").send(text);
}
