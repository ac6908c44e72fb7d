import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NameTable } from "../../../predictor/window/name-table.ts";
import { NO_RESOURCES } from "../../../predictor/window/resources.ts";
import type { ResourceView } from "../../../predictor/window/resources.ts";
import { SPAN_KIND } from "../../../predictor/window/span.ts";
import type { SpanRecord } from "../../../predictor/window/span.ts";
import type { WindowBuilder } from "../../../predictor/window/window-builder.ts";
import { T0, WINDOW_MS, batchOf, newBuilder } from "./traced.ts";

let traces = 0;
/** One request of a service, a trace of its own, that ends at `atMs`. */
function request(service: string, atMs: number, name = "GET /"): SpanRecord {
  traces += 1;
  return {
    traceId: traces.toString(16).padStart(32, "0"),
    spanId: traces.toString(16).padStart(16, "0"),
    resource: { service },
    name,
    kind: SPAN_KIND.server,
    startMs: atMs - 10,
    durationMs: 10,
  };
}

function invent(builder: WindowBuilder, count: number, atMs: number): void {
  const spans = Array.from({ length: count }, (_, index) => request(`invented-${atMs}-${index}`, atMs));
  builder.add(batchOf(spans), atMs);
}

const resourcesOf = (...services: string[]): ResourceView => ({
  services: new Map(
    services.map((service) => [service, { namespace: "shop", replicasReady: 1, containers: [] }]),
  ),
});

/** Rates by service of the window that begins at `startMs`. */
function rates(
  builder: WindowBuilder,
  startMs: number,
  resources = NO_RESOURCES,
): Map<string, number | undefined> {
  const endMs = startMs + WINDOW_MS;
  const { windows } = builder.build(startMs, endMs, resources, endMs + 5_000);
  return new Map(windows.map(({ service, requestsPerSecond }) => [service, requestsPerSecond]));
}

describe("invented service names", () => {
  it("6,000 of them before the first real span lock no service out that has a workload", () => {
    const builder = newBuilder();
    invent(builder, 6_000, T0 + 100);
    expect(builder.totals()).toMatchObject({ services: 5_000, drops: { "service-limit": 1_000 } });
    // The workloads are known from the first window on.
    rates(builder, T0 - WINDOW_MS, resourcesOf("frontend", "geo"));
    const accepted = ["frontend", "geo"].map(
      (service) => builder.add(batchOf([request(service, T0 + 6_000)]), T0 + 6_000).accepted,
    );
    expect(accepted).toEqual([1, 1]);
    expect(rates(builder, T0, resourcesOf("frontend", "geo")).get("geo")).toBe(1 / 15);
  });

  it("lock no service out that the application names, even before a workload is known", () => {
    const builder = newBuilder({ maxServices: 50, knownServices: () => ["frontend"] });
    invent(builder, 60, T0 + 100);
    expect(builder.add(batchOf([request("frontend", T0 + 200)]), T0 + 200).accepted).toBe(1);
    expect(rates(builder, T0).get("frontend")).toBe(1 / 15);
  });

  it("are forgotten once their window is built, so that services without a workload find places too", () => {
    const builder = newBuilder({ maxServices: 50 });
    invent(builder, 60, T0 + 100);
    const late = (atMs: number): number => builder.add(batchOf([request("legacy", atMs)]), atMs).accepted;
    expect(late(T0 + 2_000)).toBe(0);
    rates(builder, T0);
    const next = T0 + WINDOW_MS + 6_000;
    expect(late(next)).toBe(1);
    expect(builder.totals().services).toBeLessThanOrEqual(27);
  });

  it("do not drive out services in use, however many come in every window", () => {
    const builder = newBuilder({ maxServices: 10 });
    for (let window = 0; window < 20; window += 1) {
      const startMs = T0 + window * WINDOW_MS;
      builder.add(batchOf([request("steady", startMs + 100)]), startMs + 100);
      invent(builder, 50, startMs + 5_000);
      builder.add(batchOf([request("steady", startMs + 9_000)]), startMs + 9_000);
      expect(rates(builder, startMs).get("steady")).toBe(2 / 15);
      expect(builder.totals().services).toBeLessThanOrEqual(10);
    }
  });

  it("operations invented by the thousand make room when their window is built", () => {
    const builder = newBuilder({ maxFlows: 20 });
    for (let index = 0; index < 30; index += 1) {
      builder.add(batchOf([request("frontend", T0 + 100, `GET /${index}`)]), T0 + 100 + index);
    }
    expect(builder.build(T0, T0 + WINDOW_MS, NO_RESOURCES, T0 + WINDOW_MS + 5_000).flows).toHaveLength(20);
    const next = T0 + WINDOW_MS;
    builder.add(batchOf([request("frontend", next + 100, "GET /real")]), next + 100);
    const { flows } = builder.build(next, next + WINDOW_MS, NO_RESOURCES, next + WINDOW_MS + 5_000);
    expect(flows.map(({ flow }) => flow)).toEqual(["GET /real"]);
  });

  it("never take the numbers of services that a window still to be built speaks of", () => {
    const step = fc.record({
      service: fc.nat(30).map((number) => `s${number}`),
      callee: fc.option(
        fc.nat(30).map((number) => `s${number}`),
        { nil: undefined },
      ),
      pauseMs: fc.constantFrom(0, 1, 500, 1_500, 4_000),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 30, maxLength: 120 }), (steps) => {
        const builder = newBuilder({ maxServices: 8, maxFlows: 8, traceGraceSeconds: 2 });
        const expected = new Map<string, number>();
        let nowMs = T0;
        let startMs = T0;
        for (const { callee, pauseMs, service } of steps) {
          nowMs += pauseMs;
          while (nowMs >= startMs + WINDOW_MS + 2_000) {
            const set = builder.build(startMs, startMs + WINDOW_MS, NO_RESOURCES, nowMs);
            for (const { requestsPerSecond, ...window } of set.windows) {
              const key = `${startMs} ${window.service}`;
              expect([key, Math.round((requestsPerSecond ?? 0) * 15)]).toEqual([key, expected.get(key) ?? 0]);
            }
            startMs += WINDOW_MS;
          }
          const root = request(service, nowMs);
          const spans = [root];
          if (callee !== undefined && callee !== service) {
            spans.push({ ...request(callee, nowMs), traceId: root.traceId, parentId: root.spanId });
          }
          for (const span of spans) {
            if (builder.add(batchOf([span]), nowMs).accepted === 0) continue;
            const key = `${Math.floor(nowMs / WINDOW_MS) * WINDOW_MS} ${span.resource.service}`;
            expected.set(key, (expected.get(key) ?? 0) + 1);
          }
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe("a table of names", () => {
  it("gives every reserved name a place beside those that are shared", () => {
    const table = new NameTable(2);
    table.reserve(new Set(["a", "b", "c"]));
    expect(["a", "b", "c", "x", "y", "z"].map((name) => table.intern(name, 0))).toEqual([0, 1, 2, 3, 4, -1]);
    // Names that lose their place of their own need one of the others'.
    table.reserve(new Set(["a"]));
    expect(table.intern("z", 1)).toBe(-1);
    expect(table.makeRoom(2, () => false)).toEqual([1, 2, 3]);
    expect(table.intern("z", 2)).toBeGreaterThan(0);
    expect([...table.entries()].map(([name]) => name)).toEqual(["a", "y", "z"]);
  });

  it("keeps what is held and what was used just now", () => {
    const table = new NameTable(4);
    for (const [index, name] of ["a", "b", "c", "d"].entries()) table.intern(name, index);
    expect(table.makeRoom(3, (id) => id === 0)).toEqual([1, 2]);
  });
});
