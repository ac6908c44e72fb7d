import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { COURSE_SCHEMA, MEASURED_SCHEMA } from "@tradewind/core/contract/measured.ts";
import type { Course, Measured } from "@tradewind/core/contract/measured.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { NAMESPACE, planFor, serviceName } from "../scaler/plan.ts";

const PLAN_EVERY_MS = 15_000;
const PLANS = 16;
/** An hour, which the page asks for. */
const WINDOWS = 240;
/** Each service is called by one of those before it. */
const CALLERS = 40;

/** In the place of a predictor: a new plan once a window, and what the console asks besides. */
export async function serveLargeApplication(
  services: number,
  seed: number,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const startedAtMs = Date.now();
  const plans = Array.from({ length: PLANS }, (_, at) => ({
    ...planFor(services, at, startedAtMs, seed),
    plannedAtMs: startedAtMs + at * PLAN_EVERY_MS,
  })).map((plan) => Buffer.from(JSON.stringify(plan)));
  const measured = Buffer.from(JSON.stringify(measuredOf(services, startedAtMs, seed)));
  const course = Buffer.from(JSON.stringify(courseOf(startedAtMs, seed)));
  const server = createServer(({ headers, url }, response) => {
    const sequence = Math.min(PLANS - 1, Math.floor((Date.now() - startedAtMs) / PLAN_EVERY_MS));
    const tag = `"${sequence}"`;
    const path = url?.split("?")[0];
    if (path === "/v1/plan" && headers["if-none-match"] === tag) {
      response.writeHead(304).end();
      return;
    }
    const body = { "/v1/plan": plans[sequence], "/v1/measured": measured, "/v1/course": course }[path ?? ""];
    if (body === undefined) response.writeHead(404).end("{}");
    else response.writeHead(200, { "content-type": "application/json", etag: tag }).end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function measuredOf(count: number, endMs: number, seed: number): Measured {
  const rng = seededRng(seed);
  return {
    schema: MEASURED_SCHEMA,
    application: "bench",
    namespace: NAMESPACE,
    entry: serviceName(0),
    startMs: endMs - PLAN_EVERY_MS,
    endMs,
    services: Array.from({ length: count }, (_, at) => ({
      service: serviceName(at),
      requestsPerSecond: 500 * rng(),
      errorRatio: 0,
      selfTimeP95Seconds: 0.2 * rng(),
      cpuUsedRatio: rng(),
      memoryUsedRatio: rng(),
      interferenceRatio: rng(),
      interferenceIn: "cpu",
      tailShare: 1 / count,
    })),
    calls: Array.from({ length: count - 1 }, (_, at) => ({
      caller: serviceName(Math.max(0, at - Math.floor(CALLERS * rng()))),
      callee: serviceName(at + 1),
      callsPerSecond: 100 * rng(),
    })),
  };
}

function courseOf(endMs: number, seed: number): Course {
  const rng = seededRng(seed);
  return {
    schema: COURSE_SCHEMA,
    application: "bench",
    namespace: NAMESPACE,
    points: Array.from({ length: WINDOWS }, (_, at) => ({
      atMs: endMs - (WINDOWS - 1 - at) * PLAN_EVERY_MS,
      latencySeconds: 0.1 + 0.12 * rng(),
      objectiveSeconds: 0.2,
      requestsPerSecond: 1_000,
      overRatio: 0.02,
      costPerHour: 40,
      recommendedCostPerHour: 38,
      policy: "queue",
    })),
    deploys: [],
  };
}
