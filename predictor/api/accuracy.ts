import { CauseLabel } from "@tradewind/core/contract/accuracy.ts";
import { issuesInWords } from "@tradewind/core/values/errors.ts";
import type { Need } from "@tradewind/core/net/http-door.ts";
import type { FastifyInstance } from "fastify";
import type { Applications } from "../run/applications.ts";
import { chosen } from "./asked.ts";
import type { Asked } from "./asked.ts";
import { fail } from "./replies.ts";

/** A token that only reads says nothing of causes. */
const JUDGING = { config: { scope: "approve" } as Need };

/** How right named causes were, how well self times are known, and what somebody knows of what the cause was. */
export function addAccuracy(server: FastifyInstance, applications: Applications): void {
  server.get("/v1/accuracy", async (request, reply) => {
    const found = chosen(applications, request.query as Asked);
    if ("problem" in found) return fail(reply, found.status, found.code, found.problem);
    const { application, explaining, profiles, routeErrors } = found.one;
    const { name, namespace } = application;
    return reply.send({
      ...explaining.accuracy({ application: name, namespace }),
      services: profiles.list(),
      routes: routeErrors.list(),
    });
  });
  server.post("/v1/labels", JUDGING, async (request, reply) => {
    const { data: label, error } = CauseLabel.safeParse(request.body);
    if (label === undefined) return fail(reply, 400, "bad-request", issuesInWords(error.issues));
    const found = chosen(applications, request.query as Asked);
    if ("problem" in found) return fail(reply, found.status, found.code, found.problem);
    const judged = found.one.explaining.label(label);
    if (judged === undefined)
      return fail(
        reply,
        404,
        "not-found",
        "no missed objective of that time was explained, or it is not kept",
      );
    return reply.send(judged);
  });
}
