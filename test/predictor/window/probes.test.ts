import { expect, it } from "vitest";
import { ArrivalCounter } from "../../../predictor/window/arrival-counter.ts";
import { ARRIVAL_MS, batchOf, buildFirst, newBuilder, serviceIn, T0, traceOf, windowsOf } from "./traced.ts";
import type { Example } from "./traced.ts";

/** A probe of the frontend that asks its database and another service whether they are there. */
const PROBE: Example = {
  service: "frontend",
  kind: "server",
  at: 100,
  for: 30,
  name: "GET /readyz",
  userAgent: "kube-probe/1.34",
  children: [
    { service: "frontend", kind: "client", at: 101, for: 2 },
    {
      service: "frontend",
      kind: "client",
      at: 105,
      for: 20,
      children: [{ service: "geo", kind: "server", at: 106, for: 15 }],
    },
  ],
};
const REQUEST: Example = { service: "frontend", kind: "server", at: 1_000, for: 40, name: "GET /" };

it("what a probe makes its service call is no request either", () => {
  const { flows, windows } = windowsOf([...traceOf(PROBE), ...traceOf(REQUEST)]);
  expect(flows.map(({ flow }) => flow)).toEqual(["GET /"]);
  expect(
    windows.map(({ callees, requestsPerSecond, service }) => [service, requestsPerSecond, callees]),
  ).toEqual([
    ["frontend", 1 / 15, []],
    ["geo", 0, []],
  ]);
});

it("the spans of a probe count alike in whichever order and batch they come", () => {
  const spans = [...traceOf(PROBE), ...traceOf(REQUEST)];
  const builder = newBuilder();
  for (const span of spans.toReversed()) builder.add(batchOf([span]), ARRIVAL_MS);
  expect(buildFirst(builder)).toEqual(windowsOf(spans));
});

it("a service of which probes alone are seen had no requests for certain", () => {
  const window = serviceIn(windowsOf(traceOf(PROBE)), "frontend");
  expect(window.requestsPerSecond).toBe(0);
  expect(window.responseLatency).toBeUndefined();
});

it("a user's request that shares its trace with a probe is counted", () => {
  const traceId = "f".repeat(32);
  const spans = [...traceOf(PROBE, undefined, traceId), ...traceOf(REQUEST, undefined, traceId)];
  for (const order of [spans, spans.toReversed()]) {
    expect(windowsOf(order).flows.map(({ flow }) => flow)).toContain("GET /");
  }
});

it("a gRPC health check is a probe, with or without a slash before its name, and though nobody declares it", () => {
  const check = { ...PROBE, userAgent: "", children: [] };
  const names = [
    "grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Check",
    "grpc.health.v1.Health/Watch",
  ];
  const spans = names.flatMap((name) => traceOf({ ...check, name }));
  expect(windowsOf(spans).flows).toEqual([]);
});

it.each(["ELB-HealthChecker/2.0", "GoogleHC/1.0", "Envoy/HC", "Consul Health Check", "Prometheus/2.42.0"])(
  "what %s asks for is no request",
  (userAgent) => {
    const check = { ...PROBE, name: "GET /status", userAgent };
    expect(windowsOf([...traceOf(check), ...traceOf(REQUEST)]).flows.map(({ flow }) => flow)).toEqual([
      "GET /",
    ]);
  },
);

it.each(["GET /healthz", "/livez", "GET /actuator/health", "GET /-/ready"])(
  "%s is a probe by its name, unless a browser asks for it",
  (name) => {
    const check = { ...PROBE, name, children: [] };
    expect(windowsOf(traceOf({ ...check, userAgent: "curl/8.5.0" })).flows).toEqual([]);
    expect(windowsOf(traceOf({ ...check, userAgent: "Mozilla/5.0 (X11)" })).flows).toHaveLength(1);
  },
);

it("paths that become known later are asked for again", () => {
  const declared = new Map([["frontend", ["/warm"]]]);
  let isKnown = false;
  const builder = newBuilder({ probePaths: () => (isKnown ? declared : undefined) });
  const probe = { ...PROBE, name: "GET /warm", userAgent: "", children: [] };
  builder.add(batchOf(traceOf(probe)), ARRIVAL_MS);
  isKnown = true;
  builder.add(batchOf(traceOf(probe)), ARRIVAL_MS + 2_000);
  expect(builder.totals().probes).toEqual({ "user-agent": 0, path: 1 });
});

it("probes that arrive are no surge, whatever they are known by", () => {
  const arrivals = new ArrivalCounter({ services: () => ["frontend"], slotMs: 1_000, keepMs: 15_000 });
  const builder = newBuilder({ probePaths: () => new Map([["frontend", ["/readyz"]]]) });
  const batch = batchOf([PROBE, { ...PROBE, userAgent: "" }, REQUEST].flatMap((each) => traceOf(each)));
  builder.add(batch, ARRIVAL_MS);
  arrivals.add(batch, ARRIVAL_MS);
  expect(arrivals.between(T0, ARRIVAL_MS)).toEqual({ spans: 1, requests: 1 });
});
