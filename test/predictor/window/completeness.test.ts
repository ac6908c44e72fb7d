import { describe, expect, it } from "vitest";
import { NO_RESOURCES } from "../../../predictor/window/resources.ts";
import type { SpanRecord } from "../../../predictor/window/span.ts";
import type { WindowBuilderOptions } from "../../../predictor/window/builder-options.ts";
import type { WindowBuilder } from "../../../predictor/window/window-builder.ts";
import { T0, WINDOW_MS, batchOf, newBuilder, serviceIn, traceOf } from "./traced.ts";

const options: Partial<WindowBuilderOptions> = {
  entries: () => ["desk"],
  knownServices: () => ["desk", "vault"],
  traceGraceSeconds: 5,
};

/** A request of `desk` that asks `vault`, `atMs` after T0. */
const request = (atMs: number): SpanRecord[] =>
  traceOf({
    service: "desk",
    kind: "server",
    name: "GET /key",
    at: atMs,
    for: 40,
    children: [
      {
        service: "desk",
        kind: "client",
        at: atMs + 5,
        for: 30,
        children: [{ service: "vault", kind: "server", at: atMs + 7, for: 20 }],
      },
    ],
  });

const build = (builder: WindowBuilder, number: number, nowMs = T0 + (number + 1) * WINDOW_MS + 5_000) =>
  builder.build(T0 + number * WINDOW_MS, T0 + (number + 1) * WINDOW_MS, NO_RESOURCES, nowMs);

type Delay = number | ((span: SpanRecord) => number);
const delayOf = (span: SpanRecord, delays: Readonly<Record<string, Delay>>): number => {
  const delay = delays[span.resource.service] ?? 0;
  return typeof delay === "number" ? delay : delay(span);
};

/**
 * Two requests a second; the spans of each service come `delays` after their end, and windows are built when they are due.
 * @returns what the windows say of each service
 */
function follow(builder: WindowBuilder, delays: Readonly<Record<string, Delay>>, windows: number) {
  const sent = Array.from({ length: 30 * windows }, (_, index) => request(500 * index)).flat();
  const due = sent
    .map((span) => ({
      span,
      atMs: span.startMs + span.durationMs + 1e3 * delayOf(span, delays),
    }))
    .sort((a, b) => a.atMs - b.atMs);
  const sets: ReturnType<typeof build>[] = [];
  for (let nowMs = T0; sets.length < windows; nowMs += 250) {
    while (due[0] !== undefined && due[0].atMs <= nowMs) builder.add(batchOf([due.shift()!.span]), nowMs);
    const endMs = T0 + (sets.length + 1) * WINDOW_MS;
    if (nowMs >= endMs + 1e3 * builder.graceSeconds) sets.push(build(builder, sets.length, nowMs));
  }
  return sets;
}

describe("late spans", () => {
  it("are waited for as long as nearly all of them take, once that is known", () => {
    const builder = newBuilder({ ...options, maxGraceSeconds: 60 });
    const sets = follow(builder, { desk: 9, vault: 7 }, 6);
    for (const set of sets.slice(2)) {
      expect(serviceIn(set, "desk")).toMatchObject({ requestsPerSecond: 2 });
      expect(serviceIn(set, "vault")).toMatchObject({ requestsPerSecond: 2 });
      expect(set.windows.every(({ missing }) => missing === undefined)).toBe(true);
    }
    expect(builder.graceSeconds).toBeCloseTo(10.25, 9);
  });

  it("are waited for in the first window already, where exports come every five seconds", () => {
    const builder = newBuilder({ ...options, maxGraceSeconds: 60 });
    const exported = ({ startMs }: SpanRecord): number => 9 - ((startMs / 1e3) % 5);
    const sets = follow(builder, { desk: exported, vault: exported }, 2);
    for (const set of sets) expect(serviceIn(set, "desk")).toMatchObject({ requestsPerSecond: 2 });
  });

  it("that were held up once, beside others that come in time, are waited for 15 s at most", () => {
    const builder = newBuilder({ ...options, maxGraceSeconds: 60 });
    const held = ({ startMs }: SpanRecord): number => (startMs < T0 + 10_000 ? 30 - (startMs - T0) / 1e3 : 1);
    follow(builder, { desk: held, vault: held }, 1);
    expect(builder.graceSeconds).toBeLessThanOrEqual(15.25);
  });

  it("of an entry are waited for through the half minute that a tail sampler takes, before the second window", () => {
    const builder = newBuilder({ ...options, maxGraceSeconds: 60 });
    const [, second] = follow(builder, { desk: 30, vault: 30 }, 3);
    expect(serviceIn(second!, "desk")).toMatchObject({ requestsPerSecond: 2 });
    expect(second!.flows).toMatchObject([{ flow: "GET /key", requestsPerSecond: 2 }]);
  });

  it("of one service that is no entry hold up the others for 15 s at most, and are named with the flag that heals it", () => {
    const builder = newBuilder({ ...options, maxGraceSeconds: 60 });
    const sets = follow(builder, { desk: 1, vault: 40 }, 8);
    expect(builder.graceSeconds).toBe(15);
    expect(serviceIn(sets[7]!, "vault").missing).toMatch(/^\d+ of \d+ requests of vault .* --grace 42s$/);
    expect(serviceIn(sets[7]!, "desk")).toMatchObject({ requestsPerSecond: 2 });
    expect(serviceIn(sets[7]!, "desk").missing).toBeUndefined();
  });

  it("are named of the service whose requests they are where the grace is configured", () => {
    const sets = follow(newBuilder(options), { desk: 1, vault: 6 }, 5);
    expect(serviceIn(sets[4]!, "vault").missing).toContain("--grace 7s");
    expect(serviceIn(sets[4]!, "desk").missing).toBeUndefined();
  });

  it("that all come at once after a pause change nothing of how long is waited", () => {
    const builder = newBuilder({ ...options, maxGraceSeconds: 60 });
    follow(builder, { desk: 1, vault: 1 }, 3);
    const nowMs = T0 + 3.9 * WINDOW_MS;
    for (let index = 0; index < 60; index += 1)
      builder.add(batchOf(request(3 * WINDOW_MS - 20_000 + 100 * index)), nowMs);
    for (let index = 0; index < 25; index += 1) builder.add(batchOf(request(3.8 * WINDOW_MS + index)), nowMs);
    build(builder, 3);
    build(builder, 4);
    expect(builder.graceSeconds).toBe(5);
  });
});

describe("spans that cannot be taken", () => {
  const refusedOf = (broken: (span: SpanRecord) => SpanRecord, share: number) => {
    const builder = newBuilder(options);
    const spans = Array.from({ length: 100 }, (_, index) => {
      const made = request(100 * index);
      return index < 100 * share
        ? made.map((each) => (each.resource.service === "desk" ? broken(each) : each))
        : made;
    }).flat();
    builder.add(batchOf(spans), T0 + WINDOW_MS);
    const set = build(builder, 0);
    return { set, drops: builder.totals().drops };
  };
  const open = (span: SpanRecord): SpanRecord => ({ ...span, durationMs: -span.startMs });

  it("without an end are counted apart, and named where they are over 2 % of a service", () => {
    const { drops, set } = refusedOf(open, 0.3);
    expect(drops).toMatchObject({ unfinished: 60 });
    expect(serviceIn(set, "desk").missing).toMatch(/^30 of 100 requests of desk have no end/);
    expect(serviceIn(set, "vault").missing).toBeUndefined();
  });

  it("are not named below that", () => {
    const { set } = refusedOf(open, 0.02);
    expect(serviceIn(set, "desk").missing).toBeUndefined();
  });

  it("that end before they start are named as such", () => {
    const { set } = refusedOf((span) => ({ ...span, durationMs: -3 }), 0.1);
    expect(serviceIn(set, "desk").missing).toMatch(/^10 of 100 requests of desk end before they start$/);
  });
});

describe("a trace that never ends", () => {
  const traceId = "5e".repeat(16);
  const leaked = (atMs: number): SpanRecord[] => request(atMs).map((span) => ({ ...span, traceId }));
  const sendFrom = (builder: WindowBuilder, fromMs: number, toMs: number, everyMs: number): void => {
    for (let atMs = fromMs; atMs < toMs; atMs += everyMs) {
      const [root, ...inner] = leaked(atMs);
      builder.add(batchOf([...inner.reverse(), root!]), T0 + atMs + 1_000);
    }
  };

  it("counts each of its requests, also after a pause longer than the grace and after its longest time", () => {
    const builder = newBuilder(options);
    for (let number = 0; number < 12; number += 1) {
      const fromMs = number * WINDOW_MS;
      sendFrom(builder, fromMs, fromMs + 6_000, 500);
      const set = build(builder, number, T0 + fromMs + WINDOW_MS + 5_000);
      expect(serviceIn(set, "desk")).toMatchObject({ requestsPerSecond: 0.8, unresolvedCallsPerSecond: 0 });
      expect(serviceIn(set, "vault").requestsPerSecond).toBe(0.8);
      expect(set.flows).toMatchObject([{ flow: "GET /key", requestsPerSecond: 0.8 }]);
    }
    expect(builder.totals().drops).toEqual({});
  });

  it("holds no more than a trace may, whatever its rate, and loses no call by that", () => {
    const builder = newBuilder({ ...options, maxSpansPerTrace: 600, maxTraceSeconds: 30 });
    let most = 0;
    for (let number = 0; number < 6; number += 1) {
      for (let second = 0; second < 15; second += 1) {
        sendFrom(builder, 1e3 * (15 * number + second), 1e3 * (15 * number + second + 1), 40);
        most = Math.max(most, builder.totals().openSpans);
      }
      if (number === 0) continue;
      const set = build(builder, number - 1, T0 + number * WINDOW_MS + 5_000);
      // What ends with the first window belongs to the second.
      if (number === 1) continue;
      expect(serviceIn(set, "desk").requestsPerSecond).toBe(25);
      expect(serviceIn(set, "desk").callees[0]?.callsPerSecond).toBeCloseTo(25, 0);
    }
    expect(most).toBeLessThan(1_200);
  });

  it("takes what is sent again once", () => {
    const builder = newBuilder(options);
    const first = leaked(0);
    builder.add(batchOf(first), T0 + 1_000);
    builder.add(batchOf(request(7_000)), T0 + 8_000);
    expect(builder.add(batchOf(first), T0 + 9_000)).toMatchObject({ accepted: 0, reasons: { late: 3 } });
    expect(serviceIn(build(builder, 0), "desk").requestsPerSecond).toBe(2 / 15);
  });
});

describe("a request of more spans than a trace may hold", () => {
  const spansOf = (queries: number): SpanRecord[] => {
    const [root, ...children] = traceOf({
      service: "desk",
      kind: "server",
      name: "GET /keys",
      at: 1_000,
      for: 900,
      children: Array.from({ length: queries }, (_, index) => ({
        service: "desk",
        kind: "client" as const,
        at: 1_050 + 0.5 * index,
        for: 0.4,
      })),
    });
    return [...children, root!];
  };

  it("counts with its latency, its calls and its own time, though its entry comes last", () => {
    const builder = newBuilder({ ...options, maxSpansPerTrace: 500 });
    expect(builder.add(batchOf(spansOf(1_500)), T0 + 2_000).rejected).toBe(0);
    expect(builder.totals().openSpans).toBeLessThan(510);
    const desk = serviceIn(build(builder, 0), "desk");
    expect(desk.responseLatency).toMatchObject({ count: 1, meanSeconds: 0.9 });
    expect(desk.ownLatency?.meanSeconds).toBeCloseTo(0.3, 2);
    expect(desk.unresolvedCallsPerSecond).toBeCloseTo(1_500 / 15, 9);
  });

  it.each([
    { kind: "internal", isEntryTaken: true, refused: 20 },
    { kind: "server", isEntryTaken: false, refused: 11 },
  ] as const)(
    "counts beyond its inner spans of kind $kind, and is named where its entry cannot be taken: $isEntryTaken",
    ({ isEntryTaken, kind, refused }) => {
      const builder = newBuilder({ ...options, maxSpansPerTrace: 20 });
      for (let index = 0; index < 5; index += 1) {
        const [root, ...children] = traceOf({
          service: "desk",
          kind: "server",
          at: 0,
          for: 50,
          children: Array.from({ length: isEntryTaken ? 60 : 90 }, () => ({
            service: "desk",
            kind,
            at: 1,
            for: 1,
          })),
        });
        const made = [...children, { ...root!, parentId: "ab".repeat(8) }];
        expect(builder.add(batchOf(made), T0 + 1_000).reasons).toEqual({ "trace-too-large": refused });
      }
      const resources = {
        services: new Map([["desk", { namespace: "shop", replicasReady: 1, containers: [] }]]),
      };
      const set = builder.build(T0, T0 + WINDOW_MS, resources, T0 + WINDOW_MS + 5_000);
      const { missing = "", requestsPerSecond } = serviceIn(set, "desk");
      expect(requestsPerSecond === 5 / 15).toBe(isEntryTaken);
      expect(missing.includes("requests of desk are of traces")).toBe(!isEntryTaken);
    },
  );
});
