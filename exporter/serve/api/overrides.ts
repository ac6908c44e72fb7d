import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { may } from "@tradewind/core/net/access-tokens.ts";
import { listedText } from "@tradewind/core/contract/override.ts";
import type { ListedOverride, Override, OverrideTarget } from "@tradewind/core/contract/override.ts";
import { ChangeId } from "@tradewind/core/contract/quantity.ts";
import { describeError, issuesInWords, TradewindError } from "@tradewind/core/values/errors.ts";
import type { Overrides } from "../../decide/override/overrides.ts";
import { OverrideOrder } from "../../decide/override/rules.ts";
import { problem } from "./problem.ts";
import { BY_NAMESPACE } from "./visible.ts";

/** What the API does with overrides. */
export interface OverridesPort {
  /** Whether requests must show a token; without one nobody can be told from anybody. */
  readonly hasToken: boolean;
  readonly overrides: Pick<Overrides, "list" | "order" | "release">;
  /** What stands in the way of an override, in words. */
  readonly notesOf: (target: OverrideTarget) => string[];
}

/** Numbers of a form are text. */
export const OverrideForm = OverrideOrder.extend({
  kind: z.enum([...OverrideOrder.shape.kind.options, "release"]),
  replicas: z.coerce.number().pipe(z.number().int().min(0).max(100_000)).optional(),
  cpuCores: z.coerce.number().pipe(z.number().positive().max(10_000)).optional(),
  memoryBytes: z.coerce
    .number()
    .pipe(
      z
        .number()
        .positive()
        .max(2 ** 50),
    )
    .optional(),
  forSeconds: z.coerce.number().pipe(z.number().positive()).optional(),
  reason: OverrideOrder.shape.reason.optional(),
  /** The same order, given to several scalers, has one id. */
  id: ChangeId.optional(),
});

/** A reason of any script takes nine bytes a character in a form. */
const MAX_BODY_BYTES = 4_096;

const STATUS: Readonly<Record<string, number>> = {
  "unknown-target": 404,
  "not-overridden": 409,
  "invalid-input": 400,
  "not-allowed": 403,
  "state-unwritable": 503,
};

/**
 * `GET /v1/overrides`, and `POST /v1/overrides` with a form. As with approvals only a bearer token counts, which no page from elsewhere can
 * make a browser send.
 */
export function setOverrides(server: FastifyInstance, { hasToken, notesOf, overrides }: OverridesPort): void {
  const listed = (each: Override): ListedOverride => {
    const { kept, ...rest } = each;
    const replicas = kept.length === 1 && each.target.service !== undefined ? kept[0]?.replicas : undefined;
    const notes = notesOf(each.target);
    return { ...rest, text: listedText({ ...each, replicas }), ...(notes.length > 0 && { notes }) };
  };
  server.get("/v1/overrides", BY_NAMESPACE, async ({ caller }) => ({
    overrides: overrides
      .list()
      .filter(({ target: { namespace } }) => namespace === undefined || may(caller, "read", namespace))
      .map(listed),
    takesOverrides: hasToken,
    ...(caller.name !== undefined && { token: { name: caller.name, scopes: caller.scopes } }),
  }));
  const need = { config: { byNamespace: true, scope: "override" }, bodyLimit: MAX_BODY_BYTES };
  server.post("/v1/overrides", need, async (request, reply) => {
    const { body, caller } = request;
    const { name: by } = caller;
    if (!hasToken || by === undefined || !isBearer(request)) {
      const how = "start the scaler with --http-token-file, and send Authorization: Bearer TOKEN";
      return problem(reply, 403, "token-needed", `overrides are taken with a token only: ${how}`);
    }
    const read = OverrideForm.safeParse(body);
    if (!read.success) return problem(reply, 400, "invalid-input", issuesInWords(read.error.issues));
    const { id, kind, reason, ...of } = read.data;
    const orderer = { by, id, namespaces: caller.namespaces };
    try {
      if (kind === "release") return { overrides: (await overrides.release(of, orderer)).map(listed) };
      if (reason === undefined) return await problem(reply, 400, "invalid-input", "say why: reason=TEXT");
      return { overrides: [listed(await overrides.order({ ...of, kind, reason }, orderer))] };
    } catch (error) {
      if (!(error instanceof TradewindError)) throw error;
      return problem(reply, STATUS[error.code] ?? 500, error.code, describeError(error));
    }
  });
}

const isBearer = ({ headers }: FastifyRequest): boolean =>
  headers.authorization?.startsWith("Bearer ") === true;
