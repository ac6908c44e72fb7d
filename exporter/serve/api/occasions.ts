import type { Caller } from "@tradewind/core/net/access-tokens.ts";
import { readFile } from "node:fs/promises";
import type { FastifyInstance } from "fastify";
import { readJsonWith } from "@tradewind/core/values/config.ts";
import { EventQuery } from "@tradewind/core/contract/audit.ts";
import type { AuditEvent, EventList } from "@tradewind/core/contract/audit.ts";
import { eventText } from "@tradewind/core/contract/sentences.ts";
import { BacktestSummary } from "@tradewind/core/contract/backtest.ts";
import { describeError } from "@tradewind/core/values/errors.ts";
import { problem } from "./problem.ts";
import { BY_NAMESPACE, visible } from "./visible.ts";

/** What happened, what is going to happen, and what would have. */
export interface Occasions {
  /** Newest first. */
  readonly events: () => AuditEvent[];
  /** A `CalendarList`. */
  readonly calendarsJson: (caller: Caller) => string;
  /** File that the operator names. */
  readonly backtestReport: string | undefined;
}

const HOW = "run `tradewind backtest --json > FILE` and start the scaler with --backtest-report FILE";

/** `GET /v1/events`, `/v1/calendars` and `/v1/backtest`. */
export function setOccasions(server: FastifyInstance, occasions: Occasions): void {
  server.get("/v1/events", BY_NAMESPACE, async ({ caller, query }, reply) => {
    const read = EventQuery.safeParse(query);
    if (!read.success)
      return problem(
        reply,
        400,
        "invalid-query",
        "ask with ?namespace=&application=&service=&before=MS&most=1…2000",
      );
    const { application, before = Number.POSITIVE_INFINITY, most, namespace, service } = read.data;
    const fits = (event: AuditEvent): boolean =>
      event.atMs < before &&
      event.service === (service ?? event.service) &&
      event.application === (application ?? event.application) &&
      event.namespace === (namespace ?? event.namespace);
    const events = visible(occasions.events(), caller).filter(fits);
    return {
      events: events.slice(0, most).map((event) => Object.assign({}, event, { text: eventText(event) })),
    } satisfies EventList;
  });
  server.get("/v1/calendars", BY_NAMESPACE, async ({ caller }, reply) =>
    reply.type("application/json; charset=utf-8").send(occasions.calendarsJson(caller)),
  );
  server.get("/v1/backtest", async (_request, reply) => {
    const path = occasions.backtestReport;
    if (path === undefined) return problem(reply, 404, "no-backtest", `no backtest is named: ${HOW}`);
    try {
      return readJsonWith(BacktestSummary, await readFile(path, "utf8"), `the backtest ${path}`);
    } catch (error) {
      return problem(reply, 404, "no-backtest", `${describeError(error).slice(0, 500)}; ${HOW}`);
    }
  });
}
