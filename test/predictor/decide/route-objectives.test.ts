import { describe, expect, it } from "vitest";
import type { FlowWindow, WindowSet } from "@tradewind/core/contract/window.ts";
import { Period } from "@tradewind/predictor/answers/report/period.ts";
import { judgedRequests } from "@tradewind/predictor/decide/facts/accounts.ts";
import { PolicySettings } from "@tradewind/predictor/decide/facts/settings.ts";
import { judge, sloStanding } from "@tradewind/predictor/decide/facts/verdict.ts";
import { application, flow } from "../measurements.ts";
import { course, last, made, replicasOf, SHOP, unchanged, wishOf } from "./decisions.ts";
import type { Change } from "./decisions.ts";

/** As many requests as of the others, of a route of its own through the same services. */
const EXPORT = { flow: "GET /report/export", requestsPerSecond: 20 };

/** The windows of the shop with a second route that takes so long. */
const withRoute =
  (tailSeconds: number, other: Partial<FlowWindow> = EXPORT): Change =>
  (set) => {
    const [first] = set.flows;
    const { latency } = flow([], tailSeconds);
    return { ...set, flows: [first!, { ...first!, ...other, latency }] };
  };
const BUSY = [SHOP[0]!, made("backend", { requestsPerSecond: 100 })];
const held = (...objectives: readonly object[]) => ({ application: application({ objectives }) });
const EXCLUDED = { route: "*/export", exclude: true };

describe("an excluded route", () => {
  it("makes no miss however slow it is, and without being excluded it does", () => {
    const counted = last(course(12, SHOP, withRoute(8)));
    expect(counted.plan.measuredLatencySeconds).toBe(8);
    expect(counted.slo?.ratio).toBe(40);
    const left = last(course(12, SHOP, withRoute(8), held(EXCLUDED)));
    const alone = last(course(12));
    expect(left.plan.measuredLatencySeconds).toBe(alone.plan.measuredLatencySeconds);
    expect(left.slo).toEqual(alone.slo);
  });

  it("grows nothing for it by queue balancing, which would", () => {
    const choice = { choice: "queue" as const };
    const counted = last(course(6, BUSY, withRoute(8), choice));
    const left = last(course(6, BUSY, withRoute(8), { ...held(EXCLUDED), ...choice }));
    expect(replicasOf(counted)).toBeGreaterThan(4);
    expect(replicasOf(left)).toBeLessThanOrEqual(4);
  });

  it("is load of the services that it passes all the same", () => {
    const busy = [SHOP[0]!, made("backend", { requestsPerSecond: 160 })];
    const [calm, loaded] = [SHOP, busy].map((services) =>
      last(course(12, services, withRoute(8, { ...EXPORT, requestsPerSecond: 140 }), held(EXCLUDED))),
    );
    expect(replicasOf(loaded!)).toBeGreaterThan(replicasOf(calm!));
    expect(wishOf(loaded!, "backend").policy).toBe("planner-prior");
  });

  it("leaves services that only it passes to their own CPU demand", () => {
    const only: Change = (set) => {
      const [first] = set.flows;
      const calls: NonNullable<FlowWindow["calls"]> = [];
      const own = {
        ...first!,
        flow: "GET /",
        calls,
        services: ["frontend"],
        latency: flow([], 0.05).latency,
      };
      return { ...set, flows: [own, { ...first!, ...EXPORT }] };
    };
    const left = last(course(12, SHOP, only, held(EXCLUDED)));
    expect(wishOf(left, "backend")).toMatchObject({ policy: "reactive" });
    expect(wishOf(left, "backend").reasons).toContainEqual({ code: "no-user-request" });
  });

  it("that is the only one leaves no latency to decide by, and the plan says so", () => {
    const { plan } = last(course(3, SHOP, unchanged, held({ route: "GET *", exclude: true })));
    expect(plan.policy).toBe("reactive");
    expect(plan.policyReason).toContain("no route is held to an objective: 'GET /' is excluded or a stream");
    expect(plan).not.toHaveProperty("measuredLatencySeconds");
  });

  it("counts in no account of requests", () => {
    const set = withRoute(8)(oneWindow(), 0);
    const all = judgedRequests(set, application());
    expect([all.good + all.bad, all.objectiveRatio]).toEqual([600, 0.95]);
    const rest = judgedRequests(set, held(EXCLUDED).application);
    expect(rest.good + rest.bad).toBe(300);
    expect(rest.bad).toBeLessThan(all.bad);
  });
});

const oneWindow = (): WindowSet => ({
  startMs: 0,
  endMs: 15_000,
  windows: [],
  flows: [flow(["frontend"], 0.15)],
});

describe("a route's own objective", () => {
  it("that is shorter grows the services behind it where that of the others does not", () => {
    const [strict, usual] = [55, 200].map((milliseconds) =>
      last(course(16, BUSY, unchanged, held({ route: "GET /", milliseconds }))),
    );
    expect(replicasOf(strict!)).toBeGreaterThan(replicasOf(usual!));
    expect(last(course(16, BUSY)).plan.wishes).toEqual(usual!.plan.wishes);
  });

  it("that is longer is met by a route that would miss that of the others", () => {
    const { plan, slo } = last(
      course(12, SHOP, withRoute(8), held({ route: "*/export", milliseconds: 60_000 })),
    );
    expect(slo).toMatchObject({ route: "GET /" });
    expect(slo?.ratio).toBeLessThan(1);
    expect(plan.objective).toEqual({ percentile: 0.95, seconds: 0.2 });
  });

  it("is what the plan tells once it stands worst, with the route's name", () => {
    const given = {
      ...held({ route: "*/export", milliseconds: 4_000, percentile: 0.9 }),
      choice: "queue" as const,
    };
    const { plan } = last(course(3, SHOP, withRoute(8), given));
    expect(plan.objective).toEqual({ percentile: 0.9, seconds: 4 });
    expect(plan.measuredLatencySeconds).toBeGreaterThan(4);
    expect(plan.policyReason).toContain("p90 of 'GET /report/export' is");
    expect(plan.policyReason).toContain("objective 4.0 s");
  });

  it("decides which failures count: by the share that it allows", () => {
    const failing = { ...EXPORT, errorRatio: 0.03 };
    const set = withRoute(0.05, failing)(oneWindow(), 0);
    const { application: own } = held({ route: "*/export", milliseconds: 200, percentile: 0.99 });
    const settings = PolicySettings.parse({});
    expect(judge(set.flows, application(), settings).severity).toBeLessThan(1);
    const verdict = judge(set.flows, own, settings);
    expect(verdict.severity).toBeCloseTo(3, 9);
    expect(sloStanding(verdict)).toMatchObject({ route: "GET /report/export", failedRatio: 0.03 });
    expect(verdict.objective.percentile).toBe(0.99);
  });

  it("sets the share of all requests that must be within their objectives", () => {
    const { application: own } = held({ route: "*/export", milliseconds: 9_000, percentile: 0.99 });
    expect(judgedRequests(withRoute(8)(oneWindow(), 0), own)).toMatchObject({ objectiveRatio: 0.97 });
    expect(judgedRequests(withRoute(8)(oneWindow(), 0), own).bad).toBeLessThan(30);
  });

  it("judges the route in the report of a time, which names it", () => {
    const { application: own } = held({ route: "GET /", milliseconds: 100 }, EXCLUDED);
    const period = new Period(own);
    for (const each of withRoute(8)(oneWindow(), 0).flows)
      period.addFlow({ ...each, startMs: 0, endMs: 15_000 });
    const report = period.report();
    expect(report?.routes).toMatchObject([
      { route: "GET /", objective: { percentile: 0.95, seconds: 0.1 }, missedSeconds: 15 },
    ]);
    expect(report?.requests).toBe(300);
  });
});

describe("several entries", () => {
  const both = application({ entries: ["frontend", "api"] });
  const flows = [flow(["frontend"], 0.1), flow(["api"], 0.3, { entryService: "api" })];

  it("have routes each, told apart by the entry's name, and all of their requests are load", () => {
    const { flows: judged, requestsPerSecond } = judge(flows, both, PolicySettings.parse({}));
    expect(judged.map((each) => each.flow.flow)).toEqual(["GET /", "api: GET /"]);
    expect(requestsPerSecond).toBe(40);
  });

  it("may be meant by a route's name with the entry or without it", () => {
    const of = (route: string) =>
      judge(
        flows,
        application({ entries: ["frontend", "api"], objectives: [{ route, exclude: true }] }),
        PolicySettings.parse({}),
      );
    expect(of("api: *").flows.map((each) => each.flow.flow)).toEqual(["GET /"]);
    expect(of("GET /").flows).toEqual([]);
  });
});
