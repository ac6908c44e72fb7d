import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { routeRules } from "@tradewind/core/contract/route-rules.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import { NO_RESOURCES } from "../../../predictor/window/resources.ts";
import { SPAN_KIND, SpanBatch } from "../../../predictor/window/span.ts";
import type { SpanRecord } from "../../../predictor/window/span.ts";
import { ARRIVAL_MS, T0, WINDOW_MS, batchOf, buildFirst, newBuilder, serviceIn, traceOf } from "./traced.ts";

const id = (value: number, digits = 16): string => value.toString(16).padStart(digits, "0");

const span = (more: Partial<SpanRecord> = {}): SpanRecord => ({
  traceId: "a".repeat(32),
  spanId: id(1),
  resource: { service: "a" },
  kind: SPAN_KIND.server,
  startMs: T0 + 100,
  durationMs: 10,
  ...more,
});

describe("spans refused on arrival", () => {
  it.each<{ reason: string; bad: SpanRecord }>([
    { reason: "invalid-id", bad: span({ traceId: "0".repeat(32) }) },
    { reason: "invalid-id", bad: span({ spanId: id(0) }) },
    { reason: "invalid-service", bad: span({ resource: { service: "" } }) },
    { reason: "invalid-service", bad: span({ resource: { service: "a\u0000b" } }) },
    { reason: "invalid-service", bad: span({ resource: { service: " \u00a0" } }) },
    { reason: "invalid-service", bad: span({ resource: { service: "s".repeat(201) } }) },
    { reason: "negative-duration", bad: span({ durationMs: -1 }) },
    { reason: "negative-duration", bad: span({ durationMs: NaN }) },
    { reason: "too-long", bad: span({ durationMs: 3_600_001 }) },
    { reason: "too-long", bad: span({ durationMs: Infinity }) },
    { reason: "too-old", bad: span({ startMs: 0 }) },
    { reason: "too-old", bad: span({ startMs: NaN }) },
    { reason: "too-far-ahead", bad: span({ startMs: T0 + 86_400_000 }) },
    { reason: "too-far-ahead", bad: span({ startMs: 1e300 }) },
  ])("one that is $reason is refused and counted, and the others are taken", ({ reason, bad }) => {
    const builder = newBuilder();
    const result = builder.add(batchOf([span({ spanId: id(7) }), bad]), ARRIVAL_MS);
    expect(result).toEqual({ accepted: 1, rejected: 1, reasons: { [reason]: 1 } });
    expect(builder.totals().drops).toEqual({ [reason]: 1 });
    expect(serviceIn(buildFirst(builder), "a").ownLatency?.count).toBe(1);
  });

  it("late: the trace was evaluated, and the span was counted or is no request", () => {
    const builder = newBuilder({ traceGraceSeconds: 5 });
    builder.add(batchOf([span()]), ARRIVAL_MS);
    builder.add(new SpanBatch(), ARRIVAL_MS + 5_000);
    const inner = span({ spanId: id(2), parentId: id(1), kind: SPAN_KIND.client });
    expect(builder.add(batchOf([span(), inner]), ARRIVAL_MS + 5_001).reasons).toEqual({ late: 2 });
    const another = span({ spanId: id(3), parentId: id(1) });
    expect(builder.add(batchOf([another]), ARRIVAL_MS + 5_002).reasons).toEqual({});
    expect(serviceIn(buildFirst(builder), "a").ownLatency?.count).toBe(2);
  });

  it("trace-too-large", () => {
    const builder = newBuilder({ maxSpansPerTrace: 100 });
    const kind = SPAN_KIND.internal;
    const inner = Array.from({ length: 250 }, (_, index) =>
      span({ spanId: id(index + 2), parentId: id(1), kind }),
    );
    expect(builder.add(batchOf([span(), ...inner]), ARRIVAL_MS)).toMatchObject({
      accepted: 200,
      reasons: { "trace-too-large": 51 },
    });
  });

  it("service-limit: a million service names fill the table and no more, and known services go on", () => {
    const builder = newBuilder({ maxServices: 50 });
    builder.add(batchOf([span()]), ARRIVAL_MS);
    const batch = batchOf(
      Array.from({ length: 10_000 }, (_, index) =>
        span({ traceId: id(index + 1, 32), resource: { service: "" } }),
      ),
    );
    for (let round = 0; round < 100; round += 1) {
      batch.resources.forEach((resource, index) => {
        resource.service = `s${round}-${index}`;
        batch.traceId[4 * index] = round;
      });
      builder.add(batch, ARRIVAL_MS);
    }
    builder.add(batchOf([span({ traceId: "b".repeat(32) })]), ARRIVAL_MS);
    expect(builder.totals()).toMatchObject({
      services: 50,
      spansAccepted: 51,
      drops: { "service-limit": 999_951 },
    });
    expect(serviceIn(buildFirst(builder), "a").ownLatency?.count).toBe(2);
  });

  it("service-limit: idle services make room", () => {
    const builder = newBuilder({ maxServices: 1, idleSeconds: 1 });
    builder.add(batchOf([span()]), ARRIVAL_MS);
    buildFirst(builder);
    const laterMs = T0 + 100 * WINDOW_MS;
    builder.build(laterMs - WINDOW_MS, laterMs, NO_RESOURCES, laterMs + 10_000);
    const other = span({ traceId: "b".repeat(32), resource: { service: "b" }, startMs: laterMs });
    expect(builder.add(batchOf([other]), laterMs + 10_000)).toMatchObject({ accepted: 1 });
    const set = builder.build(laterMs, laterMs + WINDOW_MS, NO_RESOURCES, laterMs + WINDOW_MS + 10_000);
    expect(set.windows.map(({ service }) => service)).toEqual(["b"]);
  });
});

describe("spans left out of a trace", () => {
  it("orphan: inner spans whose parent never came are no requests", () => {
    const builder = newBuilder();
    builder.add(
      batchOf([
        span({ spanId: id(1), parentId: id(99), kind: SPAN_KIND.internal }),
        span({ spanId: id(2), parentId: id(99), kind: SPAN_KIND.client }),
        span({ spanId: id(3), parentId: id(2), resource: { service: "b" } }),
      ]),
      ARRIVAL_MS,
    );
    const set = buildFirst(builder);
    builder.add(new SpanBatch(), ARRIVAL_MS + 130_000);
    expect(set.windows.map(({ service }) => service)).toEqual(["b"]);
    expect(builder.totals().drops).toEqual({ orphan: 2 });
  });

  it("cyclic-parent: own parents and circles are left out, what hangs below them is not", () => {
    const builder = newBuilder();
    builder.add(
      batchOf([
        span({ spanId: id(1), parentId: id(1) }),
        span({ spanId: id(2), parentId: id(3) }),
        span({ spanId: id(3), parentId: id(4) }),
        span({ spanId: id(4), parentId: id(2) }),
        span({ spanId: id(5), parentId: id(4) }),
        span({ spanId: id(6), parentId: id(5), kind: SPAN_KIND.internal }),
      ]),
      ARRIVAL_MS,
    );
    const set = buildFirst(builder);
    builder.add(new SpanBatch(), ARRIVAL_MS + 130_000);
    expect(serviceIn(set, "a").ownLatency?.count).toBe(1);
    expect(builder.totals().drops).toEqual({ "cyclic-parent": 4 });
  });

  it("late-request: its window was built", () => {
    const builder = newBuilder();
    buildFirst(builder);
    builder.add(batchOf([span()]), ARRIVAL_MS + 11_000);
    builder.add(new SpanBatch(), ARRIVAL_MS + 130_000);
    expect(builder.totals().drops).toEqual({ "late-request": 1 });
  });

  it("flow-limit: operations named after every request", () => {
    const builder = newBuilder({ maxFlows: 3 });
    const traces = Array.from({ length: 10 }, (_, index) =>
      traceOf({ service: "a", kind: "server", name: `GET /${index}`, at: index, for: 10 }),
    );
    builder.add(batchOf(traces.flat()), ARRIVAL_MS);
    const set = buildFirst(builder);
    expect(set.flows).toHaveLength(3);
    expect(serviceIn(set, "a").ownLatency?.count).toBe(10);
    expect(builder.totals().drops).toEqual({ "flow-limit": 7 });
  });

  it("callee-limit: a service that calls thousands of others lists the thousand it calls most", () => {
    const builder = newBuilder({ maxSpansPerTrace: 5_000 });
    const children = Array.from({ length: 1_003 }, (_, index) => ({
      service: `s${index}`,
      kind: "server" as const,
      at: 10,
      for: 1,
    }));
    const often = { service: "often", kind: "server" as const, at: 11, for: 1 };
    builder.add(
      batchOf(
        traceOf({ service: "a", kind: "server", at: 0, for: 100, children: [...children, often, often] }),
      ),
      ARRIVAL_MS,
    );
    const { callees } = serviceIn(buildFirst(builder), "a");
    expect(callees).toHaveLength(1_000);
    expect(callees.map(({ callee }) => callee)).toContain("often");
    expect(builder.totals().drops).toEqual({ "callee-limit": 4 });
  });
});

it("a trace of thousands of long requests below each other is a stream throughout", () => {
  const objective = { percentile: 0.95, milliseconds: 300 };
  const builder = newBuilder({ routes: () => routeRules({ objective, objectives: [] }) });
  const chain = Array.from({ length: 8_000 }, (_, index) =>
    span({
      spanId: id(index + 1),
      parentId: index === 0 ? undefined : id(index),
      resource: { service: index % 2 === 0 ? "a" : "b" },
      startMs: T0 - 20_000,
      durationMs: 30_000,
    }),
  );
  builder.add(batchOf(chain), ARRIVAL_MS);
  const set = buildFirst(builder);
  for (const service of ["a", "b"]) {
    expect(serviceIn(set, service).callees).toEqual([]);
    expect(serviceIn(set, service).responseLatency).toBeUndefined();
  }
});

describe("room for open traces", () => {
  it("is made by evaluating the trace that was quiet longest", () => {
    const builder = newBuilder({ maxOpenTraces: 10, maxOpenSpans: 1_000 });
    const spans = Array.from({ length: 25 }, (_, index) => span({ traceId: id(index + 1, 32) }));
    builder.add(batchOf(spans), ARRIVAL_MS);
    expect(builder.totals()).toMatchObject({ openTraces: 10, openSpans: 10, tracesEvaluatedEarly: 15 });
    expect(serviceIn(buildFirst(builder), "a").ownLatency?.count).toBe(25);
  });

  it("is bounded in spans, and a trace as large as all of it does no harm", () => {
    const builder = newBuilder({ maxOpenSpans: 50, maxSpansPerTrace: 100 });
    const spans = Array.from({ length: 80 }, (_, index) => span({ spanId: id(index + 1) }));
    builder.add(batchOf(spans), ARRIVAL_MS);
    expect(builder.totals().openSpans).toBeLessThanOrEqual(50);
    expect(builder.totals().drops).toEqual({});
    expect(serviceIn(buildFirst(builder), "a").ownLatency?.count).toBe(80);
  });

  it("is given back by a trace that never ends, of requests that are over the grace after they ended", () => {
    const builder = newBuilder({ maxTraceSeconds: 60, traceGraceSeconds: 5 });
    for (let second = 0; second <= 60; second += 1) {
      const startMs = T0 + 1e3 * second;
      builder.add(batchOf([span({ spanId: id(second + 1), startMs })]), startMs + 10);
    }
    expect(builder.totals()).toMatchObject({ openTraces: 1, openSpans: 6 });
  });

  it("does not grow when nobody asks for windows", () => {
    const builder = newBuilder();
    for (let minute = 0; minute < 200; minute += 1) {
      const startMs = T0 + 60e3 * minute;
      builder.add(batchOf([span({ traceId: id(minute + 1, 32), startMs })]), startMs + 10);
    }
    expect(Reflect.get(builder, "intervals")).toHaveProperty(
      "measured.size",
      expect.toSatisfy((size: number) => size < 30),
    );
  });
});

describe("any spans at all", () => {
  const word = fc.integer({ min: 0, max: 4 });
  const anySpan: fc.Arbitrary<SpanRecord> = fc.record({
    traceId: word.map((value) => id(value, 32)),
    spanId: word.map((value) => id(value)),
    parentId: fc.option(
      word.map((value) => id(value)),
      { nil: undefined },
    ),
    resource: fc.record({ service: fc.oneof(fc.constantFrom("a", "b"), fc.string()) }),
    name: fc.option(fc.string(), { nil: undefined }),
    kind: fc.constantFrom(...Object.values(SPAN_KIND)),
    startMs: fc.oneof(fc.integer({ min: T0, max: T0 + WINDOW_MS }), fc.double()),
    durationMs: fc.oneof(fc.nat(1_000), fc.double()),
    error: fc.boolean(),
    adjustedCount: fc.double(),
  });

  it("give valid windows, and every span is accepted or counted", () => {
    fc.assert(
      fc.property(fc.array(fc.array(anySpan, { maxLength: 20 }), { maxLength: 4 }), (batches) => {
        const builder = newBuilder({ maxOpenSpans: 12, maxOpenTraces: 3, maxServices: 4, maxFlows: 4 });
        batches.forEach((spans, index) => {
          const result = builder.add(batchOf(spans), ARRIVAL_MS + 2_000 * index);
          expect(result.accepted + result.rejected).toBe(spans.length);
        });
        buildFirst(builder);
        const second = T0 + WINDOW_MS;
        WindowSet.parse(builder.build(second, second + WINDOW_MS, NO_RESOURCES, second + 200_000));
        expect(builder.totals()).toMatchObject({ openTraces: 0, openSpans: 0 });
      }),
      { numRuns: 500 },
    );
  });
});
