import { routeRules } from "@tradewind/core/contract/route-rules.ts";
import { describe, expect, it } from "vitest";
import { SPAN_KIND } from "../../../predictor/window/span.ts";
import type { SpanRecord } from "../../../predictor/window/span.ts";
import type { WindowBuilderOptions } from "../../../predictor/window/builder-options.ts";
import { flowIn, serviceIn, traceOf, windowsOf } from "./traced.ts";
import type { Example } from "./traced.ts";

type More = Partial<Example>;
const span =
  (kind: Example["kind"]) =>
  (service: string, at: number, duration: number, more: More = {}): Example => ({
    service,
    kind,
    at,
    for: duration,
    ...more,
  });
const server = span("server");
const client = span("client");
const internal = span("internal");
const pod = (instance: string): More => ({ resource: { instance, isPod: true } });

const SECONDS = 15;
const COUNT = 30;
/** Thirty traces of one shape in the window of 15 s: 2 per second. */
const many = (root: (at: number) => Example): SpanRecord[] =>
  Array.from({ length: COUNT }, (_, index) => traceOf(root(100 * index))).flat();
const PER_SECOND = COUNT / SECONDS;

const bakery: Partial<WindowBuilderOptions> = {
  entries: () => ["storefront"],
  knownServices: () => ["storefront", "oven", "ledger"],
};

/** `storefront` asks `oven`, which takes 20 of its 60 ms. */
const order = (at: number, more: More = {}): Example =>
  server("storefront", at, 60, {
    name: "POST /order",
    children: [client("storefront", at + 10, 30, { children: [server("oven", at + 15, 20)] })],
    ...more,
  });

describe("the objective holds at the entry", () => {
  it("wherever its span stands in a trace: below a traced caller that is outside of the application", () => {
    const set = windowsOf(
      many((at) => client("browser", at, 90, { name: "fetch", children: [order(at + 10)] })),
      bakery,
    );
    const flow = flowIn(set, "POST /order");
    expect(flow).toMatchObject({ entryService: "storefront", requestsPerSecond: PER_SECOND });
    expect(flow.latency.p95Seconds).toBeCloseTo(0.06, 3);
    expect(flow.services).toEqual(["oven", "storefront"]);
    expect(serviceIn(set, "storefront").beganPerSecond).toBe(PER_SECOND);
  });

  it("below a gateway that has a workload, but that no request of the entry leads to", () => {
    const set = windowsOf(
      many((at) =>
        server("gateway", at, 90, {
          children: [client("gateway", at + 5, 80, { children: [order(at + 10)] })],
        }),
      ),
      { ...bakery, knownServices: () => ["gateway", "storefront", "oven"] },
    );
    expect(flowIn(set, "POST /order").requestsPerSecond).toBe(PER_SECOND);
  });

  it("not where a service inside of the application calls it back", () => {
    const callBack = (at: number): Example =>
      client("oven", at, 8, { children: [server("storefront", at + 1, 6, { name: "GET /price" })] });
    const set = windowsOf(
      many((at) =>
        server("storefront", at, 60, {
          name: "POST /order",
          children: [
            client("storefront", at + 10, 30, {
              children: [server("oven", at + 15, 20, { children: [callBack(at + 20)] })],
            }),
          ],
        }),
      ),
      bakery,
    );
    expect(set.flows.map(({ flow }) => flow)).toEqual(["POST /order"]);
    expect(serviceIn(set, "storefront").requestsPerSecond).toBe(2 * PER_SECOND);
  });

  it("not where a workload that handles a message calls it back, in a trace of its own", () => {
    const handled = (at: number): Example =>
      span("consumer")("oven", at, 90, {
        name: "orders process",
        children: [
          client("oven", at + 5, 40, {
            children: [server("storefront", at + 6, 30, { name: "POST /done" })],
          }),
        ],
      });
    const set = windowsOf([...many((at) => order(at)), ...many(handled)], bakery);
    expect(set.flows.map(({ flow }) => flow)).not.toContain("POST /done");
    expect(serviceIn(set, "storefront").requestsPerSecond).toBe(2 * PER_SECOND);
    const outside = windowsOf(many(handled), { ...bakery, knownServices: () => ["storefront"] });
    expect(flowIn(outside, "POST /done").requestsPerSecond).toBe(PER_SECOND);
  });

  it("for each request of a trace id that all share, with or without a parent that never comes", () => {
    const traceId = "ab".repeat(16);
    const set = windowsOf(
      Array.from({ length: COUNT }, (_, index) =>
        traceOf(order(100 * index), index % 2 === 0 ? undefined : "cd".repeat(8), traceId),
      ).flat(),
      bakery,
    );
    expect(flowIn(set, "POST /order").requestsPerSecond).toBe(PER_SECOND);
    expect(serviceIn(set, "oven").requestsPerSecond).toBe(PER_SECOND);
  });
});

it("a CLIENT span of a service without a workload, below a request, is time of the request, and a call where it is answered", () => {
  const below = (children: readonly Example[]) => (at: number) =>
    order(at, { children: [client("mysql", at + 10, 40, { name: "SELECT", children })] });
  const own = windowsOf(many(below([])), bakery);
  expect(own.windows.map(({ service }) => service)).toEqual(["storefront"]);
  expect(serviceIn(own, "storefront").ownLatency?.p50Seconds).toBeCloseTo(0.06, 3);
  const answered = windowsOf(
    many((at) => below([server("ledger", at + 12, 30)])(at)),
    bakery,
  );
  expect(serviceIn(answered, "storefront").ownLatency?.p50Seconds).toBeCloseTo(0.02, 3);
  expect(serviceIn(answered, "storefront").callees).toMatchObject([{ callee: "ledger" }]);
});

describe("spans of Zipkin, whose client and server have one id", () => {
  /** As Brave sends a call: both sides with one id, the server's parent is that of the client. */
  const shared = (at: number): SpanRecord[] => {
    const spans = traceOf(
      server("storefront", at, 60, {
        children: [
          client("storefront", at + 10, 40, {
            children: [
              server("oven", at + 12, 35, {
                children: [client("oven", at + 20, 15, { children: [server("ledger", at + 22, 10)] })],
              }),
            ],
          }),
        ],
      }),
    );
    const idOf = new Map<string, { id: string; parentId: string | undefined }>();
    for (const each of spans) {
      const parent = spans.find(({ spanId }) => spanId === each.parentId);
      const isAnswer = each.kind === SPAN_KIND.server && parent?.kind === SPAN_KIND.client;
      const above = isAnswer ? idOf.get(parent.spanId) : undefined;
      idOf.set(each.spanId, above ?? { id: each.spanId, parentId: idOf.get(each.parentId ?? "")?.id });
    }
    return spans.map((each) => {
      const { id, parentId } = idOf.get(each.spanId) ?? { id: each.spanId, parentId: undefined };
      return { ...each, spanId: id, parentId };
    });
  };
  const spans = Array.from({ length: COUNT }, (_, index) => shared(100 * index)).flat();

  it.each([
    ["as they were made", spans],
    ["the other way round", [...spans].reverse()],
  ])("are two spans each, and children belong to the side of their service: %s", (_, sent) => {
    const set = windowsOf(sent);
    for (const [name, own, callee] of [
      ["storefront", 20, "oven"],
      ["oven", 20, "ledger"],
    ] as const) {
      const window = serviceIn(set, name);
      expect(window.requestsPerSecond).toBe(PER_SECOND);
      expect(window.ownLatency?.meanSeconds).toBeCloseTo(own / 1e3, 9);
      expect(window.callees).toMatchObject([{ callee, callsPerSecond: PER_SECOND }]);
      expect(window.unresolvedCallsPerSecond).toBe(0);
    }
    expect(serviceIn(set, "ledger").requestsPerSecond).toBe(PER_SECOND);
  });

  it("sent twice count once", () => {
    expect(windowsOf([...spans, ...spans])).toEqual(windowsOf(spans));
  });
});

describe("what no user waits for", () => {
  const polls = many((at) => client("storefront", at, 900, { name: "BLPOP" }));
  const sweeps = many((at) =>
    internal("storefront", at, 700, {
      name: "sweep carts",
      children: [client("storefront", at + 100, 50, { children: [server("ledger", at + 110, 20)] })],
    }),
  );

  it("polls and timers are work of their service: neither its requests nor its latency, but their calls count", () => {
    const set = windowsOf([...many((at) => order(at)), ...polls, ...sweeps], bakery);
    const window = serviceIn(set, "storefront");
    expect(window.requestsPerSecond).toBe(PER_SECOND);
    expect(window.responseLatency?.p95Seconds).toBeCloseTo(0.06, 3);
    expect(window.beganPerSecond).toBe(PER_SECOND);
    expect(set.flows.map(({ flow }) => flow)).toEqual(["POST /order"]);
    expect(window.callees.map(({ callee }) => callee)).toEqual(["ledger", "oven"]);
    expect(serviceIn(set, "ledger").requestsPerSecond).toBe(PER_SECOND);
  });

  it("work is what a service does that nobody has ever asked", () => {
    const set = windowsOf(sweeps, bakery);
    expect(serviceIn(set, "storefront")).toMatchObject({
      requestsPerSecond: PER_SECOND,
      beganPerSecond: PER_SECOND,
    });
    expect(flowIn(set, "sweep carts").latency.p95Seconds).toBeCloseTo(0.7, 2);
  });

  it("a request inside of work is a request, as a server under a scheduler's span", () => {
    const set = windowsOf(
      many((at) => internal("storefront", at, 500, { children: [order(at + 100)] })),
      bakery,
    );
    expect(serviceIn(set, "storefront").requestsPerSecond).toBe(PER_SECOND);
    expect(flowIn(set, "POST /order").latency.p95Seconds).toBeCloseTo(0.06, 3);
  });

  it("a receive span is a wait, and the message that is processed below it a request", () => {
    const set = windowsOf(
      many((at) =>
        span("receive")("ledger", at, 600, {
          children: [span("consumer")("ledger", at + 600, 25, { name: "book" })],
        }),
      ),
    );
    const window = serviceIn(set, "ledger");
    expect(window.requestsPerSecond).toBe(PER_SECOND);
    expect(window.responseLatency?.p95Seconds).toBeCloseTo(0.025, 3);
    expect(flowIn(set, "book").requestsPerSecond).toBe(PER_SECOND);
  });

  it("a message that the entry handles in a trace of its own is a request of it, and no user's where users ask it", () => {
    const consumer = span("consumer");
    const jobs = many((at) => consumer("storefront", at, 900, { name: "run/report" }));
    const set = windowsOf([...many((at) => order(at)), ...jobs], bakery);
    expect(set.flows.map(({ flow }) => flow)).toEqual(["POST /order"]);
    expect(serviceIn(set, "storefront").requestsPerSecond).toBe(2 * PER_SECOND);
    expect(windowsOf(jobs, bakery).flows.map(({ flow }) => flow)).toEqual(["run/report"]);
  });

  it("a receive span below the span that sent the message handles it, where no other span of its service does", () => {
    const handled = (at: number): Example => ({
      ...span("producer")("storefront", at, 5),
      children: [span("receive")("ledger", at + 10, 30, { children: [client("ledger", at + 12, 20)] })],
    });
    const set = windowsOf(many(handled), bakery);
    expect(serviceIn(set, "ledger").requestsPerSecond).toBe(PER_SECOND);
    expect(serviceIn(set, "ledger").responseLatency?.p50Seconds).toBeCloseTo(0.03, 3);
  });

  it("a stream has no latency and is no request, but what it calls is called", () => {
    const feeds = many((at) =>
      span("stream")("storefront", at, 9_000, {
        name: "GET /feed",
        children: [client("storefront", at + 100, 50, { children: [server("oven", at + 110, 20)] })],
      }),
    );
    const set = windowsOf([...many((at) => order(at)), ...feeds], bakery);
    expect(serviceIn(set, "storefront")).toMatchObject({
      requestsPerSecond: PER_SECOND,
      beganPerSecond: PER_SECOND,
    });
    expect(serviceIn(set, "storefront").responseLatency?.p99Seconds).toBeCloseTo(0.06, 3);
    expect(serviceIn(set, "oven").requestsPerSecond).toBe(2 * PER_SECOND);
    expect(set.flows.map(({ flow }) => flow)).toEqual(["POST /order"]);
  });

  it("an operation that always lasts half a minute is a stream without saying so, one that answered sooner is slow", () => {
    const watches = Array.from({ length: 5 }, (_, index) =>
      traceOf(server("storefront", -20_000 - index, 30_000, { name: "shop.Feed/Watch" })),
    ).flat();
    const slow = traceOf(server("storefront", -20_000, 30_000, { name: "POST /order" }));
    const set = windowsOf([...many((at) => order(at)), ...watches, ...slow], {
      ...bakery,
      routes: () => routeRules({ objective: { percentile: 0.95, milliseconds: 300 }, objectives: [] }),
    });
    expect(set.flows.map(({ flow }) => flow)).toEqual(["POST /order"]);
    expect(serviceIn(set, "storefront").responseLatency?.count).toBe(COUNT + 1);
  });
});

describe("what the application says of a route", () => {
  const objective = { percentile: 0.95, milliseconds: 300 };
  const saying = (...objectives: Parameters<typeof routeRules>[0]["objectives"]) => ({
    ...bakery,
    routes: () => routeRules({ objective, objectives }),
  });
  const long = (name: string): SpanRecord[] =>
    Array.from({ length: 5 }, (_, index) =>
      traceOf(
        server("storefront", -20_000 - index, 30_000, {
          name,
          children: [client("storefront", -index, 50, { children: [server("oven", 5 - index, 20)] })],
        }),
      ),
    ).flat();

  it("makes a stream of it, however soon its requests end: only its calls count", () => {
    const feeds = many((at) =>
      server("storefront", at, 900, {
        name: "GET /feed/7",
        children: [client("storefront", at + 100, 50, { children: [server("oven", at + 110, 20)] })],
      }),
    );
    const set = windowsOf(
      [...many((at) => order(at)), ...feeds],
      saying({ route: "GET /feed/*", stream: true }),
    );
    expect(set.flows.map(({ flow }) => flow)).toEqual(["POST /order"]);
    expect(serviceIn(set, "storefront").requestsPerSecond).toBe(PER_SECOND);
    expect(serviceIn(set, "storefront").responseLatency?.p99Seconds).toBeCloseTo(0.06, 3);
    expect(serviceIn(set, "oven").requestsPerSecond).toBe(2 * PER_SECOND);
  });

  it("keeps a route that always lasts half a minute from being taken for a stream", () => {
    const spans = [...many((at) => order(at)), ...long("GET /export")];
    const flowsOf = (options: Partial<WindowBuilderOptions>): string[] =>
      windowsOf(spans, options).flows.map(({ flow }) => flow);
    expect(flowsOf(saying())).toEqual(["POST /order"]);
    expect(flowsOf(saying({ route: "GET /export", exclude: true }))).toEqual(["GET /export", "POST /order"]);
    expect(flowsOf(saying({ route: "GET /export", milliseconds: 60_000 }))).toEqual([
      "GET /export",
      "POST /order",
    ]);
  });

  it("counts its requests over its own objective, and those of an excluded one over none", () => {
    const overOf = (options: Partial<WindowBuilderOptions>) =>
      flowIn(
        windowsOf(
          many((at) => order(at)),
          options,
        ),
        "POST /order",
      ).overObjectiveRatio;
    expect(overOf(saying())).toBe(0);
    expect(overOf(saying({ route: "POST *", milliseconds: 30 }))).toBe(1);
    expect(overOf(saying({ route: "POST *", exclude: true }))).toBeUndefined();
  });
});

describe("streams that do not say so", () => {
  const WATCH = { name: "shop.Feed/Watch" };

  it("between services are none of the callee's requests, nor calls to it", () => {
    const watch = (at: number): Example =>
      client("storefront", at - 40_000, 40_000, { children: [server("oven", at - 39_999, 39_000, WATCH)] });
    const set = windowsOf([...many((at) => order(at)), ...many((at) => watch(at + 100))], {
      ...bakery,
      routes: () => routeRules({ objective: { percentile: 0.95, milliseconds: 300 }, objectives: [] }),
    });
    expect(serviceIn(set, "oven").requestsPerSecond).toBe(PER_SECOND);
    expect(serviceIn(set, "storefront").callees).toMatchObject([
      { callee: "oven", callsPerSecond: PER_SECOND },
    ]);
  });

  it("are still streams where they end in failure", () => {
    const watches = Array.from({ length: 6 }, (_, index) =>
      traceOf(server("storefront", -25_000 + index, 30_000, { ...WATCH, error: index > 3 })),
    ).flat();
    const set = windowsOf([...many((at) => order(at)), ...watches], {
      ...bakery,
      routes: () => routeRules({ objective: { percentile: 0.95, milliseconds: 300 }, objectives: [] }),
    });
    expect(serviceIn(set, "storefront").errorRatio).toBe(0);
    expect(serviceIn(set, "storefront").requestsPerSecond).toBe(PER_SECOND);
  });
});

describe("spans whose parent was never sent", () => {
  it("are of the request of their service within which they lie", () => {
    const set = windowsOf(
      many((at) => order(at)).map((span) =>
        span.kind === SPAN_KIND.client ? { ...span, parentId: "00000000000000f1" } : span,
      ),
      bakery,
    );
    const storefront = serviceIn(set, "storefront");
    expect(storefront.callees).toMatchObject([{ callee: "oven", callsPerSecond: PER_SECOND }]);
    expect(storefront.ownLatency?.meanSeconds).toBeCloseTo(0.03, 9);
    expect(flowIn(set, "POST /order").calls).toMatchObject([{ caller: "storefront", callee: "oven" }]);
  });
});

describe("spans of one service below each other", () => {
  it("are two requests of two pods, though the clock of the second is ahead", () => {
    const set = windowsOf(
      many((at) =>
        server("storefront", at, 60, {
          ...pod("front-a"),
          children: [server("storefront", at + 400, 25, pod("front-b"))],
        }),
      ),
    );
    expect(serviceIn(set, "storefront").requestsPerSecond).toBe(2 * PER_SECOND);
    expect(serviceIn(set, "storefront").callees).toMatchObject([{ callsPerSecond: PER_SECOND }]);
  });

  it("are one request where a sidecar of its name stands in front of it in the same pod", () => {
    const set = windowsOf(
      many((at) =>
        server("storefront", at, 60, {
          children: [
            client("storefront", at + 5, 50, {
              children: [
                server("oven", at + 7, 45, {
                  ...pod("oven-x"),
                  children: [
                    client("oven", at + 8, 43, {
                      ...pod("oven-x"),
                      children: [
                        server("oven", at + 9, 40, {
                          ...pod("oven-x"),
                          children: [
                            client("oven", at + 20, 10, {
                              ...pod("oven-x"),
                              children: [server("ledger", at + 22, 6)],
                            }),
                          ],
                        }),
                      ],
                    }),
                  ],
                }),
              ],
            }),
          ],
        }),
      ),
    );
    const oven = serviceIn(set, "oven");
    expect(oven.requestsPerSecond).toBe(PER_SECOND);
    expect(oven.callees).toMatchObject([{ callee: "ledger", callsPerSecond: PER_SECOND }]);
    expect(oven.ownLatency?.meanSeconds).toBeCloseTo(0.035, 9);
  });

  it("are two requests where another pod of the service was asked, whose caller made no CLIENT span", () => {
    const set = windowsOf(
      many((at) =>
        server("storefront", at, 60, {
          ...pod("front-a"),
          children: [server("storefront", at + 10, 25, pod("front-b"))],
        }),
      ),
    );
    const window = serviceIn(set, "storefront");
    expect(window.requestsPerSecond).toBe(2 * PER_SECOND);
    expect(window.ownLatency?.meanSeconds).toBeCloseTo((35 + 25) / 2e3, 9);
  });

  it("are one request where only instance ids differ, which a pod may have several of", () => {
    const set = windowsOf(
      many((at) =>
        server("storefront", at, 60, {
          resource: { instance: "one" },
          children: [server("storefront", at + 10, 25, { resource: { instance: "two" } })],
        }),
      ),
    );
    expect(serviceIn(set, "storefront").requestsPerSecond).toBe(PER_SECOND);
  });

  it("are two requests where the one below begins after the other is over: a context that leaked", () => {
    const set = windowsOf(
      many((at) =>
        server("storefront", at, 40, { children: [server("storefront", at + 50, 40, { name: "next" })] }),
      ),
      bakery,
    );
    expect(serviceIn(set, "storefront").requestsPerSecond).toBe(2 * PER_SECOND);
    expect(flowIn(set, "next").requestsPerSecond).toBe(PER_SECOND);
  });
});

describe("whose spans they are", () => {
  const pods = () => [["storefront-7f", "storefront"] as const, ["oven-1", "oven"] as const];

  it("spans that name another namespace are foreign, those that name none are not", () => {
    const staging = many((at) => order(at, { for: 800, resource: { namespace: "staging" } }));
    const set = windowsOf(
      [...many((at) => order(at, { resource: { namespace: "shop" } })), ...staging],
      bakery,
    );
    expect(serviceIn(set, "storefront").requestsPerSecond).toBe(PER_SECOND);
    expect(serviceIn(set, "storefront").responseLatency?.p99Seconds).toBeCloseTo(0.06, 3);
  });

  it("spans that name another cluster are foreign, by the setting or by the pods that they name", () => {
    const here = many((at) => order(at, { resource: { cluster: "eu", ...pod("storefront-7f").resource } }));
    const there = many((at) =>
      order(at, { for: 900, resource: { cluster: "us", instance: "storefront-99" } }),
    );
    for (const options of [
      { ...bakery, pods },
      { ...bakery, cluster: "eu" },
    ]) {
      const set = windowsOf([...here, ...there], options);
      expect(flowIn(set, "POST /order").requestsPerSecond).toBe(PER_SECOND);
    }
  });

  it("spans of another environment are foreign where ours name our pods, and a doubt where no pod is named", () => {
    const here = many((at) =>
      order(at, { resource: { environment: "production", ...pod("storefront-7f").resource } }),
    );
    const there = (instance: string) =>
      many((at) => order(at, { for: 900, resource: { environment: "staging", instance } }));
    const set = windowsOf([...here, ...there("storefront-99")], { ...bakery, pods });
    expect(flowIn(set, "POST /order").requestsPerSecond).toBe(PER_SECOND);
    const both = windowsOf([...here, ...there("storefront-7f")], { ...bakery, environment: "production" });
    expect(flowIn(both, "POST /order").requestsPerSecond).toBe(PER_SECOND);
  });

  it("spans of another region are foreign where ours name our pods", () => {
    const here = many((at) => order(at, { resource: { region: "eu-1", ...pod("storefront-7f").resource } }));
    const there = many((at) =>
      order(at, { for: 900, resource: { region: "us-1", instance: "storefront-99" } }),
    );
    const set = windowsOf([...here, ...there], { ...bakery, pods });
    expect(flowIn(set, "POST /order").requestsPerSecond).toBe(PER_SECOND);
  });

  it("spans whose service.namespace is another one than the application's namespace, which the service names as well, are foreign", () => {
    const here = many((at) => order(at, { resource: { group: "shop" } }));
    const there = many((at) => order(at, { for: 900, resource: { group: "staging" } }));
    const set = windowsOf([...here, ...there], bakery);
    expect(flowIn(set, "POST /order").requestsPerSecond).toBe(PER_SECOND);
  });

  it("a service.namespace that a service alone names says nothing", () => {
    const set = windowsOf(
      many((at) => order(at, { resource: { group: "sales" } })),
      bakery,
    );
    expect(flowIn(set, "POST /order").requestsPerSecond).toBe(PER_SECOND);
  });

  it("pods that only the host's name tells are pods: a proxy beside its application is one request", () => {
    const host = (name: string): More => ({ resource: { instance: `id-of-${name}`, host: name } });
    const set = windowsOf(
      many((at) =>
        server("storefront", at, 60, {
          ...host("storefront-7f"),
          children: [
            client("storefront", at + 1, 58, {
              ...host("storefront-7f"),
              children: [server("storefront", at + 2, 56, host("storefront-7f"))],
            }),
          ],
        }),
      ),
      { ...bakery, pods },
    );
    expect(serviceIn(set, "storefront").requestsPerSecond).toBe(PER_SECOND);
  });

  it("NAME.NAMESPACE is the service of that name", () => {
    const named = (name: string) =>
      many((at) => server(name, at, 60, { name: "GET /", children: [client(name, at + 10, 20)] }));
    const set = windowsOf([...named("storefront.shop"), ...named("oven.shop.svc.cluster.local")], bakery);
    expect(set.windows.map(({ service, requestsPerSecond }) => [service, requestsPerSecond])).toEqual([
      ["oven", PER_SECOND],
      ["storefront", PER_SECOND],
    ]);
    expect(flowIn(set, "GET /").entryService).toMatch(/^(oven|storefront)$/);
  });

  it("what the process of a workload does under another name is its own time, unless somebody else answers", () => {
    for (const resource of [{ instance: "oven-1" }, { instance: "3f2a-61", host: "oven-1" }]) {
      const set = windowsOf(
        many((at) =>
          server("storefront", at, 90, {
            children: [
              client("storefront", at + 5, 80, {
                children: [
                  server("oven", at + 10, 70, {
                    ...pod("oven-1"),
                    children: [
                      client("dough-lock", at + 15, 30, { resource }),
                      client("dough-db", at + 50, 20, {
                        resource,
                        children: [server("ledger", at + 55, 10)],
                      }),
                    ],
                  }),
                ],
              }),
            ],
          }),
        ),
        { ...bakery, pods },
      );
      expect(set.windows.map(({ service }) => service)).toEqual(["ledger", "oven", "storefront"]);
      expect(serviceIn(set, "oven").ownLatency?.meanSeconds).toBeCloseTo(0.05, 9);
      expect(serviceIn(set, "oven").callees).toMatchObject([
        { callee: "ledger", callsPerSecond: PER_SECOND },
      ]);
    }
  });
});
