import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { Change } from "@tradewind/core/contract/change.ts";
import { changeText } from "@tradewind/core/contract/sentences.ts";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { isPrintable } from "@tradewind/core/values/printable.ts";
import { problem } from "./problem.ts";
import { BY_NAMESPACE, visible } from "./visible.ts";
import { unknownChange } from "../../decide/approval/change-queue.ts";
import type { Verdict } from "../../decide/approval/change-queue.ts";

/** What the API does with changes. */
export interface ChangesPort {
  /** Whether requests must show a token; without one nobody can be told from anybody. */
  readonly hasToken: boolean;
  readonly list: () => Change[];
  /** @throws TradewindError as the queue does */
  readonly decide: (id: string, verdict: Verdict) => Promise<Change>;
}

const Body = z.strictObject({
  verdict: z.enum(["approve", "refuse"]),
  /** What the sender says of himself or of the reason. Who he is the token says. */
  by: z.string().max(200).refine(isPrintable, { abort: true }).optional(),
  /** RFC 3339, with a zone. */
  at: z.iso.datetime({ offset: true }).optional(),
});

const STATUS: Readonly<Record<string, number>> = {
  "unknown-change": 404,
  "not-awaiting": 409,
  "invalid-input": 400,
  "journal-unusable": 503,
};

/**
 * `GET /v1/changes`, and `POST /v1/changes/{id}` with a form. A page from elsewhere can make a browser send a form with the password it
 * knows; it cannot make it send a bearer token, so only that counts.
 */
export function setChanges(server: FastifyInstance, { decide, hasToken, list }: ChangesPort): void {
  server.addContentTypeParser(
    "application/x-www-form-urlencoded",
    { parseAs: "string" },
    (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );
  server.get("/v1/changes", BY_NAMESPACE, async ({ caller }) => ({
    changes: visible(list(), caller).map((change) => Object.assign({}, change, { text: changeText(change) })),
    takesVerdicts: hasToken,
    ...(caller.name !== undefined && { token: { name: caller.name, scopes: caller.scopes } }),
  }));
  const need = { config: { byNamespace: true, scope: "approve" } };
  server.post<{ Params: { id: string } }>("/v1/changes/:id", need, async (request, reply) => {
    const { body, caller, headers, params } = request;
    const { name } = caller;
    if (!hasToken || name === undefined || headers.authorization?.startsWith("Bearer ") !== true) {
      const how = "start the exporter with --http-token-file, and send Authorization: Bearer TOKEN";
      return problem(reply, 403, "token-needed", `changes are approved with a token only: ${how}`);
    }
    const read = Body.safeParse(body);
    if (!read.success) {
      return problem(
        reply,
        400,
        "invalid-input",
        "send verdict=approve|refuse, at=TIME for later, and by=NOTE of at most 200 printable characters",
      );
    }
    const { at, by, verdict } = read.data;
    try {
      if (!visible(list(), caller).some(({ id }) => id === params.id)) throw unknownChange(params.id);
      return await decide(params.id, {
        verdict,
        by: name,
        ...(by !== undefined && by !== "" && { note: by }),
        notBeforeMs: at === undefined ? undefined : Date.parse(at),
      });
    } catch (error) {
      if (!(error instanceof TradewindError)) throw error;
      return problem(reply, STATUS[error.code] ?? 500, error.code, describeError(error));
    }
  });
}
