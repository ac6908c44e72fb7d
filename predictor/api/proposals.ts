import { MOST_PROPOSALS, Proposal } from "@tradewind/core/contract/proposal.ts";
import type { CheckedProposal, SamplingRequest } from "@tradewind/core/contract/proposal.ts";
import type { Need } from "@tradewind/core/net/http-door.ts";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Applications } from "../run/applications.ts";
import type { PlannedApplication } from "../run/application/planned-application.ts";
import { chosen } from "./asked.ts";
import type { Asked } from "./asked.ts";
import { fail } from "./replies.ts";

/** A proposal takes 600 bytes, one with all its fields full 2 kB. */
const MAX_BYTES = 128 * 1_024;
const NO_PLAN_YET = "no window has closed since the start; ask again";

/** Who asks for changes is somebody who may. */
const ASKING = { bodyLimit: MAX_BYTES, config: { scope: "approve" } as Need };

/**
 * Proposals in InfraLLM's form: GET gives those of the last plan, POST checks others' and changes nothing, and to `/v1/proposals/ask` has what
 * holds of them wait for a person; finer sampling begins at once.
 */
export function addProposals(server: FastifyInstance, applications: Applications): void {
  server.get("/v1/proposals", async (request, reply) => {
    const found = chosen(applications, request.query as Asked);
    if ("problem" in found) return fail(reply, found.status, found.code, found.problem);
    const list = found.one.proposing.list();
    return list === undefined ? fail(reply, 503, "no-plan-yet", NO_PLAN_YET) : reply.send(list);
  });
  const post = (isAsking: boolean) => async (request: FastifyRequest, reply: FastifyReply) => {
    const { body } = request;
    const values: readonly unknown[] = Array.isArray(body) ? body : [body];
    if (body === undefined || values.length > MOST_PROPOSALS)
      return fail(reply, 400, "bad-request", `send a proposal, null, or a list of up to ${MOST_PROPOSALS}`);
    const found = chosen(applications, request.query as Asked);
    if ("problem" in found) return fail(reply, found.status, found.code, found.problem);
    const check = found.one.proposing.check(values);
    if (check === undefined) return fail(reply, 503, "no-plan-yet", NO_PLAN_YET);
    if (!isAsking) return reply.send(check);
    const proposals = check.proposals.map((each, at) => withChanges(found.one, each, values[at]));
    return reply.send({ ...check, proposals });
  };
  server.post("/v1/proposals", { bodyLimit: MAX_BYTES }, post(false));
  server.post("/v1/proposals/ask", ASKING, post(true));
}

/** What of a proposal that holds is growth is asked for. */
function withChanges(one: PlannedApplication, checked: CheckedProposal, value: unknown): CheckedProposal {
  const { data: proposal } = Proposal.safeParse(value);
  const { now, sampling, service, then, verdict } = checked;
  if (sampling !== undefined && service !== undefined) return withSampling(one, checked, service, sampling);
  if (proposal === undefined || service === undefined || then === undefined || verdict !== "kept")
    return checked;
  const fromMs = Date.parse(proposal.time);
  const asking = {
    by: `proposal ${proposal.name}`.slice(0, 200),
    isOfModel: false,
    notBeforeMs: fromMs > checkedAtMs(one) ? fromMs : undefined,
  };
  const sizes = [
    ["replicas", now?.replicas, then.replicas],
    ["cpu", now?.cpuCores, then.cpuCores],
    ["memory", now?.memoryBytes, then.memoryBytes],
  ] as const;
  const changes = sizes.flatMap(([resource, from = Infinity, to = 0]) =>
    to > from ? one.ask([{ service, resource, to }], asking) : [],
  );
  return changes.length === 0 ? checked : { ...checked, changes: changes.map(({ id }) => id) };
}

/** Agents are asked at once: no size changes, so nobody need approve it. */
function withSampling(
  one: PlannedApplication,
  checked: CheckedProposal,
  service: string,
  request: SamplingRequest,
): CheckedProposal {
  if (one.sampleFiner(service, request)) return checked;
  const why = "as many other services are read more often as may be at once";
  return { service, verdict: "no-room", why };
}

const checkedAtMs = ({ published }: PlannedApplication): number => published.plan()?.plannedAtMs ?? Infinity;
