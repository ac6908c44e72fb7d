import type { WindowSet } from "@tradewind/core/contract/window.ts";
import fc from "fast-check";
import { routeRules } from "@tradewind/core/contract/route-rules.ts";
import { describe, expect, it } from "vitest";
import { NO_RESOURCES } from "../../../predictor/window/resources.ts";
import type { ResourceView } from "../../../predictor/window/resources.ts";
import { SpanBatch } from "../../../predictor/window/span.ts";
import type { SpanRecord } from "../../../predictor/window/span.ts";
import {
  ARRIVAL_MS,
  BUILD_MS,
  T0,
  WINDOW_MS,
  batchOf,
  buildFirst,
  flowIn,
  newBuilder,
  serviceIn,
  traceOf,
  windowsOf,
} from "./traced.ts";
import type { Example } from "./traced.ts";

/** `a` calls `b` twice at once and then `c`; 3 ms of way on each call of `b`. */
const fanOut = (at: number, more: Partial<Example> = {}): Example => ({
  service: "a",
  kind: "server",
  name: "GET /a",
  at,
  for: 100,
  children: [
    call("a", at + 10, 33, "b"),
    call("a", at + 20, 33, "b"),
    {
      service: "a",
      kind: "client",
      at: at + 60,
      for: 20,
      children: [{ service: "c", kind: "server", at: at + 60, for: 20 }],
    },
  ],
  ...more,
});
const call = (from: string, at: number, duration: number, to: string): Example => ({
  service: from,
  kind: "client",
  at,
  for: duration,
  children: [{ service: to, kind: "server", at: at + 1, for: duration - 3 }],
});

const requests = (count: number, more: (index: number) => Partial<Example> = () => ({})) =>
  Array.from({ length: count }, (_, index) => traceOf(fanOut(100 * index, more(index)))).flat();

const twoReplicas: ResourceView = {
  services: new Map([
    [
      "a",
      {
        namespace: "front",
        replicasReady: 2,
        replicasWanted: 3,
        lastStartedAtMs: T0,
        containers: [{ id: "a-1", cpuLimitCores: 0.5 }, { id: "a-2" }],
      },
    ],
    ["idle", { namespace: "front", replicasReady: 1, containers: [] }],
  ]),
};

describe("windows", () => {
  it("hold rate, latency, errors and in-flight of every service", () => {
    const set = windowsOf(requests(30, (index) => ({ error: index % 10 === 0 })));
    const a = serviceIn(set, "a");
    expect(set.windows.map(({ service }) => service)).toEqual(["a", "b", "c"]);
    expect(a).toMatchObject({ namespace: "shop", startMs: T0, endMs: T0 + WINDOW_MS, requestsPerSecond: 2 });
    expect(a.errorRatio).toBeCloseTo(0.1, 9);
    expect(a.responseLatency?.meanSeconds).toBeCloseTo(0.1, 9);
    // 100 less 10..53 and 60..80
    expect(a.ownLatency?.meanSeconds).toBeCloseTo(0.037, 9);
    expect(a.inFlight).toBeCloseTo(0.2, 9);
    expect(a.ownInFlight).toBeCloseTo(0.074, 9);
    expect(serviceIn(set, "b")).toMatchObject({ requestsPerSecond: 4, errorRatio: 0, callees: [] });
  });

  it("hold the call graph with the share of parallel calls and the way between", () => {
    const { callees } = serviceIn(windowsOf(requests(15)), "a");
    expect(callees).toHaveLength(2);
    expect(callees[0]).toMatchObject({ callee: "b", callsPerSecond: 2, parallelRatio: 1 });
    expect(callees[0]?.transitSeconds).toBeCloseTo(0.003, 9);
    expect(callees[1]).toEqual({ callee: "c", callsPerSecond: 1, parallelRatio: 0, transitSeconds: 0 });
  });

  it("hold the flows with all services that took part", () => {
    const flow = flowIn(windowsOf(requests(15, (index) => ({ error: index < 3 }))), "GET /a");
    expect(flow).toMatchObject({ entryService: "a", requestsPerSecond: 1, services: ["a", "b", "c"] });
    expect(flow.errorRatio).toBeCloseTo(0.2, 9);
    expect(flow.latency).toMatchObject({ count: 15 });
  });

  it("begin a flow at the first entry when the span above it is never sent", () => {
    const [, ...withoutRoot] = traceOf({
      service: "load",
      kind: "client",
      at: 0,
      for: 120,
      children: [fanOut(5)],
    });
    const set = windowsOf(withoutRoot);
    expect(set.flows.map(({ flow, entryService }) => [flow, entryService])).toEqual([["GET /a", "a"]]);
  });

  it("begin one flow per root of a trace", () => {
    const traceId = "1".repeat(32);
    const set = windowsOf([
      ...traceOf({ service: "a", kind: "server", name: "GET /one", at: 0, for: 10 }, undefined, traceId),
      ...traceOf({ service: "b", kind: "server", name: "GET /two", at: 0, for: 10 }, undefined, traceId),
    ]);
    expect(set.flows.map(({ flow }) => flow)).toEqual(["GET /one", "GET /two"]);
  });

  it("carry replicas and containers of the resource view, of idle services too", () => {
    const builder = newBuilder();
    builder.add(batchOf(requests(15)), ARRIVAL_MS);
    const set = buildFirst(builder, twoReplicas);
    expect(serviceIn(set, "a")).toMatchObject({
      namespace: "front",
      replicasReady: 2,
      replicasWanted: 3,
      lastStartedAtMs: T0,
      containers: [{ id: "a-1", cpuLimitCores: 0.5 }, { id: "a-2" }],
    });
    expect(serviceIn(set, "idle")).toEqual({
      namespace: "front",
      service: "idle",
      startMs: T0,
      endMs: T0 + WINDOW_MS,
      replicasReady: 1,
      callees: [],
      containers: [],
    });
  });

  it("say nothing of the requests of a service that sent no span, whoever else sent some", () => {
    const builder = newBuilder();
    builder.add(batchOf(requests(15)), ARRIVAL_MS);
    buildFirst(builder);
    const second = T0 + WINDOW_MS;
    builder.add(
      batchOf(traceOf({ service: "z", kind: "server", at: WINDOW_MS + 10, for: 10 })),
      second + WINDOW_MS,
    );
    const withZ = builder.build(second, second + WINDOW_MS, twoReplicas, second + WINDOW_MS + 10_000);
    expect(serviceIn(withZ, "a").requestsPerSecond).toBeUndefined();
    expect(serviceIn(withZ, "a").errorRatio).toBeUndefined();
    expect(serviceIn(withZ, "idle").requestsPerSecond).toBeUndefined();
  });

  it("count the calls of which no span of the called service came, apart from those that were answered", () => {
    const call = (answered: boolean, at: number): Example => ({
      service: "a",
      kind: "client",
      at,
      for: 10,
      children: answered ? [{ service: "b", kind: "server", at: at + 1, for: 8 }] : [],
    });
    const trace: Example = {
      service: "a",
      kind: "server",
      at: 0,
      for: 100,
      children: [call(true, 10), call(false, 30), call(false, 50)],
    };
    const set = windowsOf(Array.from({ length: 15 }, () => traceOf(trace)).flat());
    expect(serviceIn(set, "a").unresolvedCallsPerSecond).toBeCloseTo(2, 9);
    expect(serviceIn(set, "a").callees[0]?.callsPerSecond).toBeCloseTo(1, 9);
    expect(serviceIn(set, "b").unresolvedCallsPerSecond).toBe(0);
  });

  it("begin anew when the clock was set: nothing of before counts, and times of before can be built again", () => {
    const builder = newBuilder();
    builder.add(batchOf(requests(15)), ARRIVAL_MS);
    buildFirst(builder);
    builder.restart();
    expect(builder.totals()).toMatchObject({ openSpans: 0, openTraces: 0 });
    builder.add(batchOf(requests(30)), ARRIVAL_MS);
    expect(serviceIn(buildFirst(builder), "a").requestsPerSecond).toBeCloseTo(2, 9);
  });

  it("count a sampled span for the requests it stands for", () => {
    const half = windowsOf(requests(15, () => ({ adjustedCount: 2 })));
    expect(serviceIn(half, "a").requestsPerSecond).toBeCloseTo(2, 9);
    expect(serviceIn(half, "a").callees[0]?.callsPerSecond).toBeCloseTo(4, 9);
    expect(serviceIn(half, "a").ownLatency?.count).toBe(15);
    const assumed = windowsOf(requests(15), { assumedSamplingRatio: 0.1 });
    expect(serviceIn(assumed, "b").requestsPerSecond).toBeCloseTo(20, 9);
  });

  it("count a request where it ended", () => {
    const builder = newBuilder();
    const crossing = traceOf({
      service: "a",
      kind: "server",
      at: WINDOW_MS - 50,
      for: 100,
      children: [call("a", WINDOW_MS - 40, 30, "b"), call("a", WINDOW_MS + 10, 30, "b")],
    });
    builder.add(batchOf(crossing), ARRIVAL_MS + 100);
    const first = buildFirst(builder);
    expect(first.windows.map(({ service }) => service)).toEqual(["b"]);
    const second = T0 + WINDOW_MS;
    const next = builder.build(second, second + WINDOW_MS, NO_RESOURCES, second + WINDOW_MS + 10_000);
    expect(serviceIn(next, "a").callees).toMatchObject([{ callee: "b", parallelRatio: 0 }]);
    expect(serviceIn(next, "b").ownLatency?.count).toBe(1);
  });

  it("count as begun what traces begin with, ended or not, once and as sampled", () => {
    const builder = newBuilder();
    const request = (at: number, length: number): SpanRecord[] =>
      traceOf({
        service: "a",
        kind: "server",
        at,
        for: length,
        adjustedCount: 2,
        children: [call("a", at + 1, 10, "b")],
      });
    // One ends within the window, one after it, one began before it.
    const spans = [request(100, 50), request(WINDOW_MS - 100, 300), request(-100, 200)].flat();
    builder.add(batchOf(spans), ARRIVAL_MS + 300);
    builder.add(batchOf(spans.slice(0, 2)), ARRIVAL_MS + 400);
    const first = buildFirst(builder);
    expect(serviceIn(first, "a").beganPerSecond).toBeCloseTo((2 * 2) / 15, 9);
    expect(serviceIn(first, "a").requestsPerSecond).toBeCloseTo((2 * 2) / 15, 9);
    expect(serviceIn(first, "b").beganPerSecond).toBeUndefined();
    const second = T0 + WINDOW_MS;
    const next = builder.build(second, second + WINDOW_MS, NO_RESOURCES, second + WINDOW_MS + 10_000);
    expect(serviceIn(next, "a").requestsPerSecond).toBeCloseTo(2 / 15, 9);
    expect(serviceIn(next, "a").beganPerSecond).toBeUndefined();
  });

  it.each([false, true])(
    "count as begun requests of whose traces nothing ended within the window; prepared: %s",
    (isPrepared) => {
      const builder = newBuilder();
      const ended = traceOf({ service: "a", kind: "server", at: 0, for: 300 });
      const crossing = [100, 200].flatMap((before) =>
        traceOf({ service: "a", kind: "server", at: WINDOW_MS - before, for: 300 }),
      );
      const second = T0 + WINDOW_MS;
      builder.add(batchOf([...ended, ...crossing]), second + 300);
      if (isPrepared) builder.prepare(second, () => second + 300).next();
      const first = builder.build(T0, second, NO_RESOURCES, second + 1_000);
      expect(serviceIn(first, "a").beganPerSecond).toBeCloseTo(3 / 15, 9);
      expect(serviceIn(first, "a").requestsPerSecond).toBeCloseTo(1 / 15, 9);
      const next = builder.build(second, second + WINDOW_MS, NO_RESOURCES, second + WINDOW_MS + 1_000);
      expect(serviceIn(next, "a").requestsPerSecond).toBeCloseTo(2 / 15, 9);
      expect(serviceIn(next, "a").beganPerSecond).toBeUndefined();
    },
  );

  it("count as begun what they count as answered where some callers send no spans, also of traces known late", () => {
    const builder = newBuilder({ traceGraceSeconds: 5 });
    const requests = (count: number, from: number, parentId?: string): SpanRecord[] =>
      Array.from({ length: count }, (_, index) =>
        traceOf(
          { service: "a", kind: "server", at: from + 100 * index, for: 50, adjustedCount: 2 },
          parentId,
        ),
      ).flat();
    const unknown = "f".repeat(16);
    builder.add(batchOf([...requests(8, 0), ...requests(2, 1_000, unknown)]), ARRIVAL_MS);
    // Not quiet for the grace yet when their window is built.
    builder.add(batchOf(requests(1, WINDOW_MS - 200, unknown)), BUILD_MS - 1_000);
    const answered = ({ flows }: WindowSet): number =>
      flows.reduce((sum, { requestsPerSecond }) => sum + requestsPerSecond, 0);
    const first = buildFirst(builder);
    expect(answered(first)).toBeCloseTo((10 * 2) / 15, 9);
    expect(serviceIn(first, "a").beganPerSecond).toBeCloseTo((10 * 2) / 15, 9);
    const [second, third] = [T0 + WINDOW_MS, T0 + 2 * WINDOW_MS];
    builder.add(batchOf(requests(4, WINDOW_MS + 5_000)), BUILD_MS);
    const next = builder.build(second, third, NO_RESOURCES, third + 10_000);
    expect(answered(next)).toBeCloseTo((5 * 2) / 15, 9);
    expect(serviceIn(next, "a").beganPerSecond).toBeCloseTo((5 * 2) / 15, 9);
  });

  it("do not say how many began where requests take too long to be known in time", () => {
    const builder = newBuilder({ traceGraceSeconds: 5 });
    const requests = [0, 1_000, 2_000].flatMap((at) =>
      traceOf({ service: "a", kind: "server", at, for: 9_000 }),
    );
    builder.add(batchOf(requests), ARRIVAL_MS);
    const first = buildFirst(builder);
    expect(serviceIn(first, "a").requestsPerSecond).toBeCloseTo(3 / 15, 9);
    expect(serviceIn(first, "a").beganPerSecond).toBeUndefined();
  });

  it("count a request that ended exactly at the boundary in the later window", () => {
    const set = windowsOf(traceOf({ service: "a", kind: "server", at: WINDOW_MS - 10, for: 10 }));
    expect(set.windows).toEqual([]);
  });

  it("hold what ended inside a trace that is still running", () => {
    const builder = newBuilder();
    const [root, ...rest] = traceOf({
      service: "a",
      kind: "server",
      at: 0,
      for: 40_000,
      children: [call("a", 10, 30, "b")],
    });
    builder.add(batchOf(rest), ARRIVAL_MS + 9_000);
    expect(serviceIn(buildFirst(builder), "b").ownLatency?.count).toBe(1);
    builder.add(batchOf([root!]), ARRIVAL_MS + 12_000);
    const [second, third] = [T0 + WINDOW_MS, T0 + 2 * WINDOW_MS];
    expect(builder.build(second, third, NO_RESOURCES, third + 10_000).windows).toEqual([]);
    const last = builder.build(third, third + WINDOW_MS, NO_RESOURCES, third + WINDOW_MS + 10_000);
    expect(serviceIn(last, "a")).toMatchObject({ ownLatency: { count: 1 }, callees: [{ callee: "b" }] });
    expect(last.windows).toHaveLength(1);
    expect(builder.totals().drops).toEqual({});
  });

  it.each([
    { when: "not aligned", startMs: T0 + 1, endMs: T0 + WINDOW_MS + 1 },
    { when: "of another length", startMs: T0, endMs: T0 + 2 * WINDOW_MS },
  ])("refuse an interval $when", ({ startMs, endMs }) => {
    expect(() => newBuilder().build(startMs, endMs, NO_RESOURCES, BUILD_MS)).toThrow(RangeError);
  });
});

describe("requests that take longer than the grace", () => {
  /** `a` waits 20 s for something that sends no spans, long after its call of `b` ended. */
  const slow = (): SpanRecord[] =>
    traceOf({
      service: "a",
      kind: "server",
      name: "GET /slow",
      at: 0,
      for: 20_000,
      children: [call("a", 10, 30, "b")],
    });
  const [second, third] = [T0 + WINDOW_MS, T0 + 2 * WINDOW_MS];

  it("keep the calls that were seen before", () => {
    const builder = newBuilder();
    const [root, ...rest] = slow();
    builder.add(batchOf(rest), T0 + 100);
    builder.add(new SpanBatch(), T0 + 10_000);
    builder.add(batchOf([root!]), T0 + 20_100);
    expect(serviceIn(builder.build(T0, second, NO_RESOURCES, second + 5_000), "b").ownLatency?.count).toBe(1);
    const set = builder.build(second, third, NO_RESOURCES, third + 5_000);
    expect(serviceIn(set, "a").ownLatency?.count).toBe(1);
    expect(serviceIn(set, "a").ownLatency?.meanSeconds).toBeCloseTo(19.97, 9);
    expect(serviceIn(set, "a").callees).toMatchObject([{ callee: "b" }]);
    expect(set.flows.map(({ flow }) => flow)).toEqual(["GET /slow"]);
    expect(builder.totals().drops).toEqual({});
  });

  it("begin no flow in the middle, where the callers usually send their spans", () => {
    const builder = newBuilder();
    builder.add(batchOf(requests(5)), T0 + 1_000);
    const [root, client, server] = slow();
    builder.add(batchOf([server!]), T0 + 6_500);
    builder.add(batchOf([client!, root!]), T0 + 20_100);
    const first = builder.build(T0, second, NO_RESOURCES, second + 6_000);
    expect(first.flows.map(({ flow }) => flow)).toEqual(["GET /a"]);
    const next = builder.build(second, third, NO_RESOURCES, third + 5_000);
    expect(next.flows.map(({ flow }) => flow)).toEqual(["GET /slow"]);
    expect(builder.totals().drops).toEqual({});
  });

  it("are counted as lost-root when their beginning never comes", () => {
    const builder = newBuilder();
    builder.add(batchOf(requests(5)), T0 + 1_000);
    builder.add(batchOf(slow().slice(2)), T0 + 6_500);
    expect(serviceIn(builder.build(T0, second, NO_RESOURCES, second + 5_000), "b").ownLatency?.count).toBe(
      11,
    );
    builder.add(new SpanBatch(), T0 + 6_500 + 119_000);
    expect(builder.totals()).toMatchObject({ openTraces: 1, drops: {} });
    builder.add(new SpanBatch(), T0 + 6_500 + 120_000);
    expect(builder.totals()).toMatchObject({ openTraces: 0, drops: { "lost-root": 1 } });
  });
});

describe("order and batching", () => {
  const spans = requests(12);

  it("do not matter", () => {
    const whole = windowsOf(spans);
    const order = fc.shuffledSubarray(spans, { minLength: spans.length, maxLength: spans.length });
    fc.assert(
      fc.property(order, fc.array(fc.nat(spans.length), { maxLength: 6 }), (shuffled, cuts) => {
        const builder = newBuilder();
        const bounds = [0, ...cuts.sort((a, b) => a - b), spans.length];
        bounds.slice(1).forEach((end, index) => {
          builder.add(batchOf(shuffled.slice(bounds[index], end), T0 + 1_234 * index), ARRIVAL_MS + index);
        });
        expect(buildFirst(builder)).toEqual(whole);
      }),
      { numRuns: 60 },
    );
  });

  it("do not matter when spans come twice", () => {
    const builder = newBuilder();
    builder.add(batchOf(spans), ARRIVAL_MS);
    builder.add(batchOf([...spans].reverse()), ARRIVAL_MS + 1);
    expect(buildFirst(builder)).toEqual(windowsOf(spans));
    expect(builder.totals().drops).toEqual({ duplicate: spans.length });
  });

  it("do not matter for which of two different spans with one id is kept", () => {
    const [one] = traceOf({ service: "a", kind: "server", at: 0, for: 10 });
    const other = { ...one!, durationMs: 30, resource: { service: "b" } };
    expect(windowsOf([one!, other])).toEqual(windowsOf([other, one!]));
  });
});

describe("requests over the objective", () => {
  const fast = requests(9);
  const slow = traceOf(fanOut(2_000, { for: 400 }));

  it("are counted for each flow where there is an objective", () => {
    const builder = newBuilder({
      routes: () => routeRules({ objective: { percentile: 0.95, milliseconds: 300 }, objectives: [] }),
    });
    builder.add(batchOf([...fast, ...slow]), ARRIVAL_MS);
    expect(flowIn(buildFirst(builder), "GET /a").overObjectiveRatio).toBe(0.1);
  });

  it("are not counted where there is none", () => {
    expect(flowIn(windowsOf([...fast, ...slow]), "GET /a")).not.toHaveProperty("overObjectiveRatio");
  });
});
