import { Application } from "@tradewind/core/contract/application.ts";
import { ApplicationContext, MOST_CONTEXT_SERVICES } from "@tradewind/core/contract/context.ts";
import { PLAN_SCHEMA } from "@tradewind/core/contract/plan.ts";
import type { Plan } from "@tradewind/core/contract/plan.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { contextOf } from "@tradewind/predictor/run/application/context.ts";
import type { ContextParts } from "@tradewind/predictor/run/application/context.ts";
import { SKETCH_SCHEMA } from "@tradewind/predictor/answers/reason/sketch.ts";
import { describe, expect, it } from "vitest";

/** Monday, 2 March 2026, 08:00 UTC. */
const AT_MS = Date.UTC(2026, 2, 2, 8);
const times = { startMs: AT_MS - 15_000, endMs: AT_MS };

const window = (service: string, requestsPerSecond: number): Window => ({
  namespace: "shop",
  service,
  ...times,
  replicasReady: 2,
  requestsPerSecond,
  callees: [],
  containers: [{ id: `${service}-0`, cpuLimitCores: 0.5 }],
});

const application = Application.parse({
  name: "hotel",
  namespace: "shop",
  entry: "web",
  objective: { milliseconds: 100 },
  calendars: [
    { name: "morning", from: "30 7 * * 1-5", until: "30 9 * * 1-5", floor: { replicas: 4 } },
    { name: "night", from: "0 22 * * *", until: "0 5 * * *", ceiling: { replicas: 2 } },
  ],
});

const plan: Plan = {
  schema: PLAN_SCHEMA,
  application: "hotel",
  namespace: "shop",
  sequence: 1,
  predictorStartedAtMs: 0,
  plannedAtMs: AT_MS,
  policy: "planner",
  policyReason: "the cheapest sizes",
  objective: { percentile: 0.95, seconds: 0.1 },
  measuredLatencySeconds: 0.2,
  missing: ["spans of 'geo' came late"],
  wishes: [],
};

const parts = (extra: Partial<ContextParts> = {}): ContextParts => ({
  application,
  plan,
  windowSet: { ...times, windows: [window("web", 40), window("geo", 20)], flows: [] },
  sketch: {
    schema: SKETCH_SCHEMA,
    application: "hotel",
    endMs: AT_MS,
    objective: { percentile: 0.95, seconds: 0.1 },
    services: [
      {
        id: 1,
        name: "geo",
        signals: [
          { signal: "throttledRatio", value: 0.6, baseline: 0.01, z: 12, bin: "high" },
          { signal: "errorRatio", value: 0, z: 0, bin: "medium" },
        ],
      },
      { id: 2, name: "web", signals: [] },
    ],
    calls: [{ from: 2, to: 1, perRequest: 0.5 }],
  },
  patterns: [],
  forecast: undefined,
  incidents: [
    {
      onsetMs: AT_MS - 9e6,
      endMs: AT_MS - 8e6,
      worstRatio: 2,
      patterns: [],
      changes: [],
      ended: "growth",
      signs: { "geo throttledRatio": 1 },
    },
  ],
  ...extra,
});

describe("the context of an application", () => {
  it("has what is unusual first, the calls, calendars with their times, and what happened before", () => {
    const context = contextOf(parts());
    expect(ApplicationContext.parse(context)).toEqual(context);
    expect(context.services.map(({ service }) => service)).toEqual(["geo", "web"]);
    expect(context.services[0]).toMatchObject({
      replicasReady: 2,
      cpuCores: 0.5,
      requestsPerSecond: 20,
      unusual: [{ signal: "throttledRatio", value: 0.6, baseline: 0.01, bin: "high" }],
    });
    expect(context.services[0]).not.toHaveProperty("errorRatio");
    expect(context.calls).toEqual([{ from: "web", to: "geo", perRequest: 0.5 }]);
    expect(context.calendars).toMatchObject([
      { calendar: { name: "morning" }, holds: true, fromMs: Date.UTC(2026, 2, 2, 7, 30) },
      { calendar: { name: "night" }, holds: false, fromMs: Date.UTC(2026, 2, 2, 22) },
    ]);
    expect(context.precedents).toMatchObject({ known: 1, nearest: [{ ended: "growth", similarity: 1 }] });
    expect(context.missing).toEqual(["spans of 'geo' came late"]);
  });

  it("has no precedents while nothing is unusual, and no state before there is a sketch", () => {
    const context = contextOf(parts({ sketch: undefined }));
    expect(context).not.toHaveProperty("precedents");
    expect(context).not.toHaveProperty("sketchHash");
    expect(context.calls).toEqual([]);
  });

  it("stays bounded with thousands of services", () => {
    const windows = Array.from({ length: 2_500 }, (_, at) => window(`service-${at}`, at));
    const context = contextOf(parts({ windowSet: { ...times, windows, flows: [] } }));
    expect(context.services).toHaveLength(MOST_CONTEXT_SERVICES);
    expect(context.moreServices).toBe(2_500 - MOST_CONTEXT_SERVICES);
    expect(context.services[0]!.service).toBe("service-2499");
    expect(JSON.stringify(context).length).toBeLessThan(300_000);
  });
});
