import { Readable } from "node:stream";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { PeriodReport } from "@tradewind/core/contract/period-report.ts";
import type { Explanation } from "@tradewind/core/contract/explanation.ts";
import type { Incident, IncidentList } from "@tradewind/core/contract/measured.ts";
import type { ProposedChanges } from "@tradewind/core/contract/proposed-change.ts";
import type { Need } from "@tradewind/core/net/http-door.ts";
import { SHADOW_SCHEMA } from "@tradewind/core/contract/shadow.ts";
import type { ShadowWeek } from "@tradewind/core/contract/shadow.ts";
import { EpochMs, ServiceName } from "@tradewind/core/contract/quantity.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Applications } from "../run/applications.ts";
import type { Explaining } from "../run/application/explaining.ts";
import type { PlannedApplication } from "../run/application/planned-application.ts";
import type { WindowStore } from "../store/window-store.ts";
import { PeriodReader } from "../answers/report/read-period.ts";
import type { LastSensitivities } from "../answers/latest/last-sensitivities.ts";
import { chosen } from "./asked.ts";
import type { Asked } from "./asked.ts";
import { fail, sendText } from "./replies.ts";
import { transcriptsText } from "./transcripts.ts";

/** Longer than anything is kept by default. */
const MOST_REPORTED_MS = 60 * 86_400_000;

/** Changes that are served at once, the newest. */
const MOST_DECISIONS = 200;

const NO_PLAN_YET = "no window has closed since the start; ask again";
const NO_FORECAST_YET = "no window with load has been decided on by policy auto; ask again";

const NO_MODEL = "the predictor knows no language model; start it with --reasoner-url and --reasoner-model";

/** What a model is asked may cost money. */
const ASKING = { config: { scope: "approve" } as Need };

const Since = z.coerce.number().min(0).optional();

/** What a report of 60 days takes where the store is full. */
const REPORT_SECONDS = 5;

/** What is asked of one application, which `?namespace=` and `?application=` name where there are several. */
export function addApplicationRoutes(server: FastifyInstance, applications: Applications): void {
  const reader = new PeriodReader();
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
    "/v1/routes",
    of(({ routes }, _request, reply) => {
      const list = routes.list();
      return list === undefined ? fail(reply, 503, "no-plan-yet", NO_PLAN_YET) : reply.send(list);
    }),
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
    "/v1/node-classes",
    of(({ placing }, _request, reply) => {
      const list = placing.list();
      return list === undefined ? fail(reply, 503, "no-plan-yet", NO_PLAN_YET) : reply.send(list);
    }),
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
  server.post(
    "/v1/ask",
    ASKING,
    of(async ({ explaining }, _request, reply) => {
      if (!explaining.hasModel) return fail(reply, 409, "no-model", NO_MODEL);
      const explanation = await explaining.ask();
      return explanation === undefined
        ? fail(reply, 503, "no-plan-yet", NO_PLAN_YET)
        : reply.send(explanation);
    }),
  );
  server.get(
    "/v1/transcripts",
    of(({ explaining }, _request, reply) =>
      reply
        .type("application/json; charset=utf-8")
        .send(Readable.from(transcriptsText(explaining.transcripts()))),
    ),
  );
  server.get(
    "/v1/decisions",
    of(({ history }, request, reply) =>
      sendDecisions(reply, history.store, (request.query as Asked).service),
    ),
  );
  server.get(
    "/v1/report",
    of(({ application, history, shadow }, request, reply) =>
      sendReport(
        reply,
        async (time) => {
          const report = await reader.read(history.store, application, time);
          const compared = shadow.comparison(time.fromMs, time.toMs);
          return report && { ...report, ...(compared && { shadow: compared }) };
        },
        request.query as Asked,
      ),
    ),
  );
  server.get(
    "/v1/shadow",
    of(({ application: { name, namespace, prices }, shadow }, _request, reply) => {
      const week = shadow.lastWeek();
      const { currency } = prices;
      const answer: ShadowWeek = {
        schema: SHADOW_SCHEMA,
        application: name,
        namespace,
        ...(currency !== undefined && { currency }),
        ...(week && { week }),
      };
      return reply.send(answer);
    }),
  );
  server.get(
    "/v1/inputs",
    of(({ archive }, _request, reply) => reply.send({ hashes: archive.hashes() })),
  );
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

/** ms since the epoch; NaN where it is no time that a date can have. */
function msOf(asked: unknown): number {
  const ms = typeof asked === "string" && asked.trim() !== "" ? Number(asked) : Number.NaN;
  return EpochMs.safeParse(ms).success ? ms : Number.NaN;
}

async function sendReport(
  reply: FastifyReply,
  read: (time: { fromMs: number; toMs: number }) => Promise<PeriodReport | undefined>,
  { from, to }: Asked,
): Promise<FastifyReply> {
  const [fromMs, toMs] = [msOf(from), msOf(to)];
  if (!(fromMs < toMs && toMs - fromMs <= MOST_REPORTED_MS)) {
    const how = "?from= and ?to= take milliseconds since 1970, `from` before `to`, at most 60 days apart";
    return fail(reply, 400, "bad-request", how);
  }
  try {
    const report = await read({ fromMs, toMs });
    if (report !== undefined) return await reply.send(report);
  } catch (error) {
    if (!(error instanceof TradewindError) || error.code !== "busy") throw error;
    return fail(reply.header("retry-after", REPORT_SECONDS), 503, error.code, error.message);
  }
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
