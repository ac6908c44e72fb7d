import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Window } from "@tradewind/core/contract/window.ts";
import { mergeFlows, mergeWindows } from "@tradewind/predictor/store/downsample.ts";
import { aSet, aWindow } from "./windows-of.ts";

describe("mergeWindows", () => {
  it("weighs latency by calls and errors by load", () => {
    const latency = (count: number, seconds: number) => ({
      count,
      meanSeconds: seconds,
      p50Seconds: seconds,
      p95Seconds: seconds,
      p99Seconds: seconds,
    });
    const merged = mergeWindows(
      [
        aWindow({ startMs: 0, requestsPerSecond: 30, errorRatio: 0.1, responseLatency: latency(450, 0.1) }),
        aWindow({
          startMs: 15_000,
          requestsPerSecond: 10,
          errorRatio: 0.5,
          responseLatency: latency(150, 0.5),
        }),
      ],
      0,
      30_000,
    );
    expect(merged?.requestsPerSecond).toBe(20);
    expect(merged?.errorRatio).toBeCloseTo(0.2, 12);
    expect(merged?.responseLatency).toMatchObject({ count: 600 });
    expect(merged?.responseLatency?.meanSeconds).toBeCloseTo(0.2, 12);
  });

  it("leaves absent what no window knew, and takes what some knew", () => {
    const { requestsPerSecond: _, ...unknown } = aWindow({ startMs: 0 });
    const merged = mergeWindows([unknown, { ...unknown, startMs: 15_000, replicasReady: 3 }], 0, 30_000);
    expect(merged).not.toHaveProperty("requestsPerSecond");
    expect(merged).not.toHaveProperty("ownLatency");
    expect(merged?.replicasReady).toBe(3);
  });

  it("counts a window without an edge as one without such calls", () => {
    const merged = mergeWindows(
      [aWindow({ startMs: 0 }), aWindow({ startMs: 15_000, callees: [] })],
      0,
      30_000,
    );
    expect(merged?.callees).toEqual([{ callee: "stock", callsPerSecond: 5, parallelRatio: 0 }]);
  });

  it("stays within the extremes of its parts and within the contract", () => {
    const seconds = fc.double({ min: 0, max: 100, noNaN: true });
    const part = fc.record({
      rate: seconds,
      error: fc.double({ min: 0, max: 1, noNaN: true }),
      p95: seconds,
      calls: fc.integer({ min: 1, max: 1e6 }),
    });
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 20 }), (parts) => {
        const windows = parts.map(({ rate, error, p95, calls }, index) =>
          aWindow({
            startMs: index * 15_000,
            requestsPerSecond: rate,
            errorRatio: error,
            responseLatency: {
              count: calls,
              meanSeconds: p95,
              p50Seconds: p95,
              p95Seconds: p95,
              p99Seconds: p95,
            },
          }),
        );
        const merged = Window.parse(mergeWindows(windows, 0, 15_000 * parts.length));
        const p95s = parts.map(({ p95 }) => p95);
        expect(merged.responseLatency!.p95Seconds).toBeGreaterThanOrEqual(Math.min(...p95s));
        expect(merged.responseLatency!.p95Seconds).toBeLessThanOrEqual(Math.max(...p95s));
      }),
    );
  });

  it("has nothing to say of no windows", () => {
    expect(mergeWindows([], 0, 1)).toBeUndefined();
    expect(mergeFlows([], 0, 1)).toBeUndefined();
    const [only] = aSet(0, ["cart", "stock"]).flows;
    const flow = { ...only!, startMs: 0, endMs: 15_000 };
    expect(mergeFlows([flow], 0, 15_000)?.services).toEqual(["cart", "stock"]);
  });

  it("has as many requests of a rare route, and as many over the objective, as there were", () => {
    const [only] = aSet(0, ["cart"]).flows;
    const window = {
      ...only!,
      startMs: 30_000,
      endMs: 45_000,
      requestsPerSecond: 1 / 15,
      overObjectiveRatio: 1,
    };
    const merged = mergeFlows([window], 0, 300_000)!;
    expect(merged.requestsPerSecond * 300).toBeCloseTo(1, 9);
    expect(merged.overObjectiveRatio).toBe(1);
  });
});
