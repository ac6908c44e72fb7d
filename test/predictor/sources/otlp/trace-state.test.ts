import { describe, expect, it } from "vitest";
import { adjustedCount, traceStateOf } from "../../../../predictor/sources/otlp/trace-state.ts";

/** Thresholds and probabilities from OpenTelemetry's "TraceState: Probability Sampling": T = (1 - p) 2^56. */
describe("adjusted count of a trace state", () => {
  it.each([
    { traceState: "ot=th:0", count: 1 },
    { traceState: "ot=th:8", count: 2 },
    { traceState: "ot=th:c", count: 4 },
    { traceState: "ot=th:e", count: 8 },
    { traceState: "ot=th:fd70a3d70a3d71", count: 100 },
    { traceState: "vendor=x,ot=rv:9b8233f7e3a151;th:c;k:v,other=th:8", count: 4 },
    { traceState: "ot=th:ffffffffffffff", count: 2 ** 56 },
    { traceState: "dd=s:1,ot=r:6;p:3", count: 8 },
    { traceState: "ot=p:0", count: 1 },
    { traceState: "ot=th:c;p:1", count: 4 },
    { traceState: "ot=p:63", count: 0 },
    { traceState: "ot=p:-1", count: 0 },
    { traceState: "", count: 0 },
    { traceState: "vendor=th:8", count: 0 },
    { traceState: "ot=rv:9b8233f7e3a151", count: 0 },
    { traceState: "ot=th:", count: 0 },
    { traceState: "ot=th:xyz", count: 0 },
    { traceState: "ot=th:0123456789abcde", count: 0 },
  ])("'$traceState' is $count", ({ traceState, count }) => {
    expect(adjustedCount(traceState)).toBeCloseTo(count, 6);
  });
});

it.each([1, 2, 3, 4, 10, 100, 1_000, 99_999.5, 1e12, 1e30])(
  "a count of %d survives its way through a trace state",
  (count) => {
    const expected = Math.min(count, 2 ** 53);
    expect(Math.abs(adjustedCount(traceStateOf(count)) / expected - 1)).toBeLessThan(1e-4);
  },
);
