import { MOST_PROPOSALS } from "@tradewind/core/contract/proposal.ts";
import type { FastifyInstance } from "fastify";
import type { Applications } from "../run/applications.ts";
import { chosen } from "./asked.ts";
import type { Asked } from "./asked.ts";
import { fail } from "./replies.ts";

/** A proposal takes 600 bytes, one with all its fields full 2 kB. */
const MAX_BYTES = 128 * 1_024;
const NO_PLAN_YET = "no window has closed since the start; ask again";

/** Proposals in InfraLLM's form: GET gives those of the last plan, POST checks others' and changes nothing. */
export function addProposals(server: FastifyInstance, applications: Applications): void {
  server.get("/v1/proposals", async (request, reply) => {
    const found = chosen(applications, request.query as Asked);
    if ("problem" in found) return fail(reply, found.status, found.code, found.problem);
    const list = found.one.proposing.list();
    return list === undefined ? fail(reply, 503, "no-plan-yet", NO_PLAN_YET) : reply.send(list);
  });
  server.post("/v1/proposals", { bodyLimit: MAX_BYTES }, async (request, reply) => {
    const { body } = request;
    const values: readonly unknown[] = Array.isArray(body) ? body : [body];
    if (body === undefined || values.length > MOST_PROPOSALS)
      return fail(reply, 400, "bad-request", `send a proposal, null, or a list of up to ${MOST_PROPOSALS}`);
    const found = chosen(applications, request.query as Asked);
    if ("problem" in found) return fail(reply, found.status, found.code, found.problem);
    const check = found.one.proposing.check(values);
    return check === undefined ? fail(reply, 503, "no-plan-yet", NO_PLAN_YET) : reply.send(check);
  });
}
