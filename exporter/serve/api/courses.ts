import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { askForOne } from "@tradewind/core/contract/application-list.ts";
import { FLEET_SCHEMA, worstFirst } from "@tradewind/core/contract/fleet.ts";
import type { Fleet, FleetRow } from "@tradewind/core/contract/fleet.ts";
import { ObjectName, ServiceName } from "@tradewind/core/contract/quantity.ts";
import type { Courses } from "../../decide/course/courses.ts";
import { problem } from "./problem.ts";
import { BY_NAMESPACE, visible } from "./visible.ts";

/** The applications of another scaler, or why there are none. */
export type OtherFleet = Pick<Fleet, "applications" | "unreachable">;

/** What is known of the last day. */
export interface CoursesPort {
  readonly courses: Pick<Courses, "course" | "places">;
  /** Worst first. */
  readonly fleet: () => readonly FleetRow[];
  /** Of the scalers that `--fleet` names. */
  readonly others: () => Promise<OtherFleet>;
}

const Asked = z.object({
  namespace: ObjectName.optional(),
  application: ObjectName.optional(),
  service: ServiceName.optional(),
  since: z.coerce.number().min(0).optional(),
});

/** `GET /v1/course` and `/v1/fleet`: both from memory, whatever becomes of the predictor. */
export function setCourses(server: FastifyInstance, { courses, fleet, others }: CoursesPort): void {
  server.get("/v1/course", BY_NAMESPACE, async ({ caller, query }, reply) => {
    const { data: asked } = Asked.safeParse(query);
    if (asked === undefined)
      return problem(reply, 400, "bad-request", "ask with ?namespace=&application=&service=&since=MS");
    const { application, namespace, service, since: sinceMs } = asked;
    const all = visible(courses.places(), caller);
    const found = all.filter(
      (each) =>
        each.application === (application ?? each.application) &&
        each.namespace === (namespace ?? each.namespace),
    );
    const [place, ...more] = found;
    if (more.length > 0)
      return problem(
        reply,
        400,
        "several-applications",
        askForOne(all.map((each) => `${each.namespace}/${each.application}`)),
      );
    const course = place && courses.course(place, { service, sinceMs });
    return (
      course ??
      problem(reply, 404, "no-course", "no window of it was seen since the scaler was started; ask again")
    );
  });
  server.get<{ Querystring: { own?: unknown } }>(
    "/v1/fleet",
    BY_NAMESPACE,
    async ({ caller, query }): Promise<Fleet> => {
      const ownRows = visible(fleet(), caller);
      const isOwn = query.own !== undefined || caller.namespaces !== undefined;
      const { applications, unreachable } = isOwn ? { applications: [], unreachable: [] } : await others();
      return {
        schema: FLEET_SCHEMA,
        applications: [...ownRows, ...applications].toSorted(worstFirst),
        unreachable,
      };
    },
  );
}
