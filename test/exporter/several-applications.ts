import { APPLICATION_LIST_SCHEMA } from "@tradewind/core/contract/application-list.ts";
import type { ApplicationList } from "@tradewind/core/contract/application-list.ts";
import { COURSE_SCHEMA, MEASURED_SCHEMA } from "@tradewind/core/contract/measured.ts";
import type { Course, Measured } from "@tradewind/core/contract/measured.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { Behaviour } from "./fake-predictor.ts";
import { planOf, wishOf } from "./wish.ts";

/** An application with the services frontend, checkout and catalog, like every other one. */
export interface LikeApplication {
  /** Of the namespace too. */
  readonly name: string;
  /** Measured, at an objective of 0.2 s. */
  readonly latencySeconds: number;
  /** From 2 replicas of frontend to this many; the other services keep theirs. */
  readonly frontendReplicas: number;
}

const SERVICES = ["frontend", "checkout", "catalog"];
const WINDOW_MS = 15_000;

/** What a predictor of these applications answers. */
export function planning(applications: readonly LikeApplication[]): Behaviour {
  const endMs = Date.now();
  return (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://predictor");
    const one = applications.find(({ name }) => name === searchParams.get("application"));
    const bodies: Record<string, () => object> = {
      "/v1/applications": () => listOf(applications),
      ...(one !== undefined && {
        "/v1/plan": () => planned(one, endMs),
        "/v1/course": () => courseOf(one, endMs, Number(searchParams.get("since"))),
        "/v1/measured": () => measuredOf(one, endMs),
      }),
    };
    const body = bodies[pathname];
    response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(body?.() ?? {}));
  };
}

const listOf = (applications: readonly LikeApplication[]): ApplicationList => ({
  schema: APPLICATION_LIST_SCHEMA,
  several: true,
  applications: applications.map(({ name }) => ({ name, namespace: name, origin: name, state: "planned" })),
});

function planned({ frontendReplicas, latencySeconds, name }: LikeApplication, endMs: number): Plan {
  const wishes = SERVICES.map((service) =>
    wishOf({
      namespace: name,
      service,
      allocation: { replicas: service === "frontend" ? frontendReplicas : 2 },
      reason: `${name} needs it`,
      latencyBeforeSeconds: latencySeconds,
      observed: { replicasReady: 2, replicasWanted: 2, cpuCores: 0.5, memoryBytes: 2e8, complete: true },
    }),
  );
  return planOf(wishes, {
    application: name,
    namespace: name,
    plannedAtMs: endMs,
    measuredLatencySeconds: latencySeconds,
    mode: "act",
  });
}

const courseOf = ({ latencySeconds, name }: LikeApplication, endMs: number, sinceMs: number): Course => ({
  schema: COURSE_SCHEMA,
  application: name,
  namespace: name,
  points: Array.from({ length: 20 }, (_, index) => ({
    atMs: endMs - (19 - index) * WINDOW_MS,
    latencySeconds,
    objectiveSeconds: 0.2,
    requestsPerSecond: 40,
    overRatio: latencySeconds > 0.2 ? 0.4 : 0.01,
    costPerHour: 0.1,
    recommendedCostPerHour: 0.12,
    policy: "planner",
  })).filter(({ atMs }) => atMs > sinceMs),
  deploys: [],
});

const measuredOf = ({ name }: LikeApplication, endMs: number): Measured => ({
  schema: MEASURED_SCHEMA,
  application: name,
  namespace: name,
  entry: "frontend",
  startMs: endMs - WINDOW_MS,
  endMs,
  services: SERVICES.map((service) => ({ service, requestsPerSecond: 40, cpuUsedRatio: 0.5 })),
  calls: [],
});
