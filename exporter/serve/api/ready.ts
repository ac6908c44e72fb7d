import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { ApplicationRef } from "@tradewind/core/contract/application-list.ts";
import { askForOne } from "@tradewind/core/contract/application-list.ts";
import { ObjectName } from "@tradewind/core/contract/quantity.ts";
import { readiness } from "../../decide/course/ready.ts";
import type { ReadyFacts } from "../../decide/course/ready.ts";
import { problem } from "./problem.ts";
import { BY_NAMESPACE, visible } from "./visible.ts";

/** What is known of applications. */
export interface ReadyPort {
  /** Those that decisions are in force for. */
  readonly places: () => readonly ApplicationRef[];
  readonly facts: (place: ApplicationRef) => Promise<Omit<ReadyFacts, "neededSeconds">>;
}

const Asked = z.object({
  namespace: ObjectName.optional(),
  application: ObjectName.optional(),
  needed: z.coerce.number().min(0).max(86_400),
});

/** `GET /v1/ready`: whether an application can be set to `act`. @param neededSeconds time that must have been seen where nobody says */
export function setReady(server: FastifyInstance, { facts, places }: ReadyPort, neededSeconds: number): void {
  server.get("/v1/ready", BY_NAMESPACE, async ({ caller, query }, reply) => {
    const { data: asked } = Asked.safeParse({ needed: neededSeconds, ...(query as object) });
    if (asked === undefined)
      return problem(
        reply,
        400,
        "bad-request",
        "ask with ?namespace=&application=&needed=SECONDS, at most 86400",
      );
    const all = visible(places(), caller);
    const found = all.filter(
      ({ application, namespace }) =>
        application === (asked.application ?? application) && namespace === (asked.namespace ?? namespace),
    );
    const [place, ...others] = found;
    const names = askForOne(all.map(({ application, namespace }) => `${namespace}/${application}`));
    if (others.length > 0) return problem(reply, 400, "several-applications", names);
    if (place === undefined)
      return all.length === 0
        ? problem(
            reply,
            503,
            "no-plan-yet",
            "no decision yet; the first comes with the first window of requests",
          )
        : problem(reply, 404, "no-such-application", names);
    return readiness({ ...(await facts(place)), neededSeconds: asked.needed });
  });
}
