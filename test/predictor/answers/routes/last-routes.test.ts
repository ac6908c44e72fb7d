import { describe, expect, it } from "vitest";
import { RouteList } from "@tradewind/core/contract/route-list.ts";
import type { FlowWindow } from "@tradewind/core/contract/window.ts";
import { LastRoutes } from "@tradewind/predictor/answers/routes/last-routes.ts";
import type { SetAside } from "@tradewind/predictor/window/set-aside.ts";
import { application, flow, windowSet } from "../../measurements.ts";

const named = (name: string, tailSeconds: number, more: Partial<FlowWindow> = {}): FlowWindow =>
  flow(["frontend"], tailSeconds, { flow: name, ...more });
const PROBE: SetAside = {
  class: "probe",
  service: "frontend",
  operation: "GET /readyz",
  perSecond: 0.5,
  latency: flow([], 0.01).latency,
};
const FEED: SetAside = { class: "stream", service: "frontend", operation: "GET /events", perSecond: 2 };

/** What is listed after windows of an application with these objectives. */
function listed(
  objectives: readonly object[],
  flows: readonly FlowWindow[],
  setAside: readonly SetAside[] = [],
) {
  const routes = new LastRoutes();
  routes.adopt({ application: application({ objectives }), windowSet: windowSet([], flows), setAside });
  return RouteList.parse(routes.list());
}
const aboutOf = ({ surprises }: RouteList): string[] => surprises.map(({ about }) => about);

describe("the list of routes", () => {
  it("has what each is, its rate and latency, its objective, the share over it, and why it counts", () => {
    const { routes } = listed(
      [{ route: "GET /api/*", percentile: 0.99, milliseconds: 100, weight: 2 }],
      [named("GET /", 0.1), named("GET /api/users", 0.3, { requestsPerSecond: 5, overObjectiveRatio: 0.2 })],
    );
    expect(routes).toMatchObject([
      {
        route: "GET /",
        service: "frontend",
        class: "request",
        counts: true,
        why: "users wait for it: the application's objective",
        requestsPerSecond: 20,
        p95Seconds: 0.1,
        objective: { percentile: 0.95, seconds: 0.2 },
        weight: 1,
      },
      {
        route: "GET /api/users",
        why: 'users wait for it: an objective of its own by "GET /api/*" of objectives',
        objective: { percentile: 0.99, seconds: 0.1 },
        weight: 2,
        overRatio: 0.2,
      },
    ]);
  });

  it("has excluded routes, streams, probes, work and what begins elsewhere, after those that count", () => {
    const { routes } = listed(
      [
        { route: "GET /export", exclude: true },
        { route: "GET /events", stream: true },
      ],
      [
        named("GET /", 0.1, { requestsPerSecond: 1 }),
        named("GET /export", 9),
        named("book", 0.1, { entryService: "ledger", requestsPerSecond: 3 }),
      ],
      [PROBE, FEED, { ...PROBE, class: "work", operation: "sweep carts", perSecond: 0.1 }],
    );
    expect(routes.map((each) => [each.route, each.class, each.counts])).toEqual([
      ["GET /", "request", true],
      ["GET /export", "request", false],
      ["book", "other", false],
      ["GET /events", "stream", false],
      ["GET /readyz", "probe", false],
      ["sweep carts", "work", false],
    ]);
    expect(routes[1]!.why).toBe('excluded by "GET /export" of objectives: load, and nothing else');
    expect(routes[2]!.why).toContain("begins at 'ledger', which is no entry");
    expect(routes[3]!.why).toContain('a stream by "GET /events" of objectives');
    for (const each of routes.slice(1)) expect(each).not.toHaveProperty("objective");
    expect(routes[3]).not.toHaveProperty("p95Seconds");
  });

  it("has 500 at most, and says how many are left out", () => {
    const many = Array.from({ length: 640 }, (_, at) => named(`GET /user/${at}`, 0.1));
    const { moreRoutes, routes } = listed([], many);
    expect([routes.length, moreRoutes]).toEqual([500, 140]);
  });
});

describe("a surprise", () => {
  it.each([
    ["GET /healthz", "a health check", "exclude: true"],
    ["shop.Feed/WatchOrders", "a stream", "stream: true"],
    ["POST /orders/export.csv", "an export or a job", "exclude: true"],
  ])("is %s over its objective, which looks like %s", (route, what, say) => {
    const [surprise, ...others] = listed([], [named("GET /", 0.1), named(route, 9)]).surprises;
    expect(others).toEqual([]);
    expect(surprise).toMatchObject({ about: route });
    expect(surprise?.message).toContain(`by its name it is ${what}`);
    expect(surprise?.remedy).toContain(`objectives: [{ route: "${route}", ${say} }]`);
  });

  it("is none where such a route is within its objective, excluded, or only called alike", () => {
    expect(aboutOf(listed([], [named("GET /healthz", 0.05)]))).toEqual([]);
    expect(aboutOf(listed([{ route: "*z", exclude: true }], [named("GET /healthz", 9)]))).toEqual([]);
    expect(aboutOf(listed([], [named("GET /eventsource-docs-watcher", 9)]))).toEqual([]);
  });

  it("is an item of objectives that has fitted no route, and none once it has", () => {
    const routes = new LastRoutes();
    const given = application({ objectives: [{ route: "GET /orders/*", milliseconds: 50 }] });
    const adopt = (...flows: FlowWindow[]) =>
      routes.adopt({ application: given, windowSet: windowSet([], flows), setAside: [] });
    adopt(named("GET /", 0.1));
    expect(routes.list()?.surprises).toMatchObject([
      { about: "GET /orders/*", remedy: expect.stringContaining('routes are "GET /"') as string },
    ]);
    adopt(named("GET /orders/7", 0.01));
    adopt(named("GET /", 0.1));
    expect(routes.list()?.surprises).toEqual([]);
  });

  it("is an entry without requests; streams alone are some", () => {
    const given = application({ entries: ["frontend", "api"] });
    const routes = new LastRoutes();
    const flows = [named("GET /", 0.1)];
    routes.adopt({ application: given, windowSet: windowSet([], flows), setAside: [] });
    expect(routes.list()?.surprises.map(({ about }) => about)).toEqual(["api"]);
    const setAside = [{ ...FEED, service: "api" }];
    routes.adopt({ application: given, windowSet: windowSet([], flows), setAside });
    expect(routes.list()?.surprises).toEqual([]);
  });
});
