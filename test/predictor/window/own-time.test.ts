import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ownMs, serviceIn, traceOf, windowsOf } from "./traced.ts";
import type { Example } from "./traced.ts";

const server = (service: string, at: number, duration: number, children: Example[] = []): Example => ({
  service,
  kind: "server",
  at,
  for: duration,
  children,
});
const client = (service: string, at: number, duration: number, children: Example[] = []): Example => ({
  ...server(service, at, duration, children),
  kind: "client",
});
const internal = (service: string, at: number, duration: number, children: Example[] = []): Example => ({
  ...server(service, at, duration, children),
  kind: "internal",
});

describe("own time of a request", () => {
  it.each<{ when: string; root: Example; own: number }>([
    { when: "nothing is called", root: server("a", 0, 100), own: 100 },
    {
      when: "calls follow each other: 100 - 20 - 30",
      root: server("a", 0, 100, [client("a", 10, 20), client("a", 50, 30)]),
      own: 50,
    },
    {
      when: "calls run at the same time, the time is taken off once: 100 - 40",
      root: server("a", 0, 100, [client("a", 10, 40), client("a", 10, 40)]),
      own: 60,
    },
    {
      when: "calls overlap: 100 - (10..60)",
      root: server("a", 0, 100, [client("a", 10, 30), client("a", 30, 30)]),
      own: 50,
    },
    {
      when: "one call lies inside another: 100 - (10..60)",
      root: server("a", 0, 100, [client("a", 20, 10), client("a", 10, 50)]),
      own: 50,
    },
    {
      when: "inner work calls out, the inner work counts and its call does not: 100 - 30",
      root: server("a", 0, 100, [internal("a", 10, 60, [client("a", 20, 30)]), internal("a", 80, 10)]),
      own: 70,
    },
    {
      when: "the inner span ended before the call it began",
      root: server("a", 0, 100, [internal("a", 10, 1, [client("a", 11, 50)])]),
      own: 50,
    },
    {
      when: "a call goes on after the answer: 100 - (80..100)",
      root: server("a", 0, 100, [client("a", 80, 500)]),
      own: 80,
    },
    {
      when: "a call begins after the answer, nobody waits for it",
      root: server("a", 0, 100, [client("a", 150, 50)]),
      own: 100,
    },
    {
      when: "a message is put on a queue, it is read elsewhere at leisure",
      root: server("a", 0, 100, [
        {
          service: "a",
          kind: "producer",
          at: 10,
          for: 5,
          children: [{ service: "b", kind: "consumer", at: 12, for: 60 }],
        },
      ]),
      own: 100,
    },
    {
      when: "the caller makes no CLIENT span, then the callee's span is what it waited for: 100 - 30",
      root: server("a", 0, 100, [server("b", 10, 30)]),
      own: 70,
    },
    {
      when: "the caller makes a CLIENT span, then the way there and back is not its own either: 100 - 50",
      root: server("a", 0, 100, [client("a", 10, 50, [server("b", 20, 30)])]),
      own: 50,
    },
    {
      when: "a CLIENT span lies within a CLIENT span: 100 - 50",
      root: server("a", 0, 100, [client("a", 10, 50, [client("a", 15, 40, [server("b", 20, 30)])])]),
      own: 50,
    },
    {
      when: "the callee's clock is behind and it seems to start before its caller: 100 - 40",
      root: server("a", 1_000, 100, [server("b", 970, 40)]),
      own: 60,
    },
    {
      when: "the callee's clock is a little ahead: clipped to the caller, 100 - (80..100)",
      root: server("a", 0, 100, [server("b", 80, 30)]),
      own: 80,
    },
    { when: "all of it was waiting", root: server("a", 0, 100, [client("a", 0, 100)]), own: 0 },
    { when: "it took no time", root: server("a", 0, 0), own: 0 },
    {
      when: "a load generator is all CLIENT span: what the service took is not its own",
      root: client("load", 0, 100, [server("a", 10, 70)]),
      own: 30,
    },
  ])("$when", ({ root, own }) => {
    expect(ownMs(root, root.service)).toBeCloseTo(own, 6);
  });

  it("is each service's own in a chain, and the way between belongs to none", () => {
    const root = server("a", 0, 100, [
      client("a", 10, 80, [server("b", 15, 70, [client("b", 20, 50, [server("c", 25, 40)])])]),
    ]);
    expect(["a", "b", "c"].map((service) => ownMs(root, service))).toEqual([20, 20, 40]);
  });

  it("is what the documentation works out", () => {
    const root = server("frontend", 0, 100, [
      client("frontend", 10, 50, [server("search", 14, 42)]),
      client("frontend", 30, 40),
    ]);
    expect([ownMs(root, "frontend"), ownMs(root, "search")]).toEqual([40, 42]);
    const [call] = serviceIn(windowsOf(traceOf(root)), "frontend").callees;
    expect(call).toMatchObject({ callee: "search", parallelRatio: 1 });
    expect(call?.transitSeconds).toBeCloseTo(0.008, 9);
  });

  it("is taken per request when a service is entered twice in a trace", () => {
    const root = server("a", 0, 100, [
      client("a", 10, 80, [server("b", 20, 60, [client("b", 30, 40, [server("a", 40, 20)])])]),
    ]);
    const a = serviceIn(windowsOf(traceOf(root)), "a");
    expect(a.ownLatency).toMatchObject({ count: 2, meanSeconds: 0.02 });
    expect(a.requestsPerSecond).toBeCloseTo(2 / 15, 9);
  });

  it("folds a second SERVER span of the same service that no call leads to", () => {
    const root = server("a", 0, 100, [server("a", 1, 98, [client("a", 10, 50)])]);
    expect(serviceIn(windowsOf(traceOf(root)), "a").ownLatency).toMatchObject({
      count: 1,
      meanSeconds: 0.05,
    });
  });

  it("is taken from spans without a kind by the change of service", () => {
    const span = (service: string, at: number, duration: number, children: Example[] = []): Example => ({
      ...server(service, at, duration, children),
      kind: "unspecified",
    });
    const root = span("a", 0, 100, [span("a", 10, 60, [span("b", 20, 40)])]);
    expect([ownMs(root, "a"), ownMs(root, "b")]).toEqual([60, 40]);
  });
});

/** Any tree of spans, times in whole ms, children anywhere. */
const anyExample: fc.Arbitrary<Example> = fc.letrec<{ span: Example }>((tie) => ({
  span: fc.record(
    {
      service: fc.constantFrom("a", "b", "c"),
      kind: fc.constantFrom("unspecified", "internal", "server", "client", "producer", "consumer"),
      at: fc.integer({ min: 0, max: 400 }),
      for: fc.integer({ min: 0, max: 400 }),
      children: fc.oneof(
        { maxDepth: 4, depthSize: "medium" },
        fc.constant([]),
        fc.array(tie("span"), { maxLength: 4 }),
      ),
    },
    { noNullPrototype: true },
  ),
})).span;

describe("own time, whatever the trace", () => {
  it("lies between nothing and the response time", () => {
    fc.assert(
      fc.property(anyExample, (root) => {
        for (const { ownLatency, responseLatency } of windowsOf(traceOf(root)).windows) {
          expect(ownLatency?.count).toBe(responseLatency?.count);
          expect(ownLatency?.meanSeconds).toBeGreaterThanOrEqual(0);
          expect(ownLatency?.meanSeconds).toBeLessThanOrEqual((responseLatency?.meanSeconds ?? 0) + 1e-12);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("sums up to the response time of the root when calls follow each other and cost no way", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(50), fc.nat(50)), { minLength: 1, maxLength: 8 }), (parts) => {
        let at = 0;
        const children = parts.map(([before, duration], index) => {
          at += before;
          const call = client("root", at, duration, [server(`s${index}`, at, duration)]);
          at += duration;
          return call;
        });
        const set = windowsOf(traceOf(server("root", 0, at + 7, children)));
        const sum = set.windows.reduce(
          (total, { ownLatency }) => total + (ownLatency?.meanSeconds ?? NaN),
          0,
        );
        expect(sum).toBeCloseTo((at + 7) / 1e3, 9);
      }),
      { numRuns: 200 },
    );
  });
});
