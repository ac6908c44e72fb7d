import type { FastifyInstance, FastifyReply } from "fastify";
import { may } from "@tradewind/core/net/access-tokens.ts";
import type { Caller } from "@tradewind/core/net/access-tokens.ts";
import { WhatIfRequest } from "@tradewind/core/contract/what-if.ts";
import { describeError, issuesInWords, TradewindError } from "@tradewind/core/values/errors.ts";
import type { KnownApplication } from "../../plans/application-poll.ts";
import type { Question, Reply } from "../../plans/plan-client.ts";
import { problem } from "./problem.ts";
import { BY_NAMESPACE } from "./visible.ts";

/** Asks the predictor of one application. @throws TradewindError of its codes in {@link STATUS}, others are problems of reaching it */
export type AskPredictor = (
  place: Partial<Pick<KnownApplication, "namespace" | "name">>,
  question: Question,
) => Promise<Reply>;

/** What of a predictor may be asked for through the scaler; all of it is read only. */
const PATHS = [
  "/v1/measured",
  "/v1/routes",
  "/v1/incidents",
  "/v1/patterns",
  "/v1/explain",
  "/v1/forecast",
  "/v1/sensitivities",
  "/v1/shadow",
] as const;
const MAX_BODY_BYTES = 256 * 1_024;
/** Questions under way at once, the same one of several people counted once; people whose turn has not come ask again. */
const MOST_AT_ONCE = 8;
const STATUS: Readonly<Record<string, number>> = { "no-such-application": 404, "several-applications": 400 };

/**
 * Passes questions of people on to the predictor whose plan is in use, and its answers back as they are: the page asks nobody but
 * the scaler. Whatever the predictor does, plans and KEDA's answers take other ways.
 */
export function setQuestions(server: FastifyInstance, ask: AskPredictor): void {
  let underWay = 0;
  const same = new Map<string, Promise<Reply>>();
  const answerTo = async (key: string, ...asked: Parameters<AskPredictor>): Promise<Reply> => {
    underWay += 1;
    const answering = ask(...asked).finally(() => {
      underWay -= 1;
      same.delete(key);
    });
    same.set(key, answering);
    return answering;
  };
  const pass = async (
    { caller, path }: { readonly caller: Caller; readonly path: string },
    reply: FastifyReply,
    query: unknown,
    body?: Buffer,
  ): Promise<unknown> => {
    const { application, namespace, ...others } = textsOf(query);
    if (caller.namespaces !== undefined && !may(caller, "read", namespace ?? "")) {
      const message = `ask with ?namespace=NAME, one that the token '${caller.name}' is for: ${caller.namespaces.join(", ")}`;
      return problem(reply, 403, "other-namespace", message);
    }
    const place = { ...(application && { name: application }), ...(namespace && { namespace }) };
    const key = JSON.stringify([path, query, body?.toString()]);
    const asked = same.get(key);
    if (asked === undefined && underWay >= MOST_AT_ONCE)
      return problem(reply, 429, "busy", "too many questions at once; ask again");
    try {
      const answer = await (asked ?? answerTo(key, place, { path, query: others, body }));
      return await reply.code(answer.status).type("application/json; charset=utf-8").send(answer.body);
    } catch (error) {
      if (!(error instanceof TradewindError)) throw error;
      return problem(reply, STATUS[error.code] ?? 502, error.code, describeError(error));
    }
  };
  for (const path of PATHS) {
    server.get(path, BY_NAMESPACE, async ({ caller, query }, reply) => pass({ caller, path }, reply, query));
  }
  const path = "/v1/what-if";
  server.post(
    path,
    { ...BY_NAMESPACE, bodyLimit: MAX_BODY_BYTES },
    async ({ body, caller, query }, reply) => {
      const { data: asked, error } = WhatIfRequest.safeParse(body ?? {});
      if (asked === undefined) return problem(reply, 400, "bad-request", issuesInWords(error.issues));
      const { application, namespace } = asked;
      const named = { ...(application && { application }), ...(namespace && { namespace }) };
      const sent = Buffer.from(JSON.stringify(asked));
      return pass({ caller, path }, reply, { ...named, ...textsOf(query) }, sent);
    },
  );
}

/** Those parts of a query or a body that are texts. */
const textsOf = (given: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(given ?? {}).filter((each): each is [string, string] => typeof each[1] === "string"),
  );
