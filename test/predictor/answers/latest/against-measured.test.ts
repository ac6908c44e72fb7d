import { describe, expect, it } from "vitest";
import { atLoad } from "@tradewind/predictor/decide/cost/price/cost-inputs.ts";
import { WhatIf } from "@tradewind/predictor/decide/cost/price/what-if.ts";
import { lastWindowOf, warningsOf } from "@tradewind/predictor/answers/latest/against-measured.ts";
import { chain, options, queueing, service } from "../../decide/priced.ts";
import { flow, window } from "../../measurements.ts";

/** One service of 2 replicas with 60 requests/s, self time 30 ms without load, 20 ms of CPU each: 75 ms at 60 % used. */
const models = new WhatIf((loadRatio = 1) =>
  chain([service("only", { own: queueing(0.03, 0.02, 0.2) })], atLoad(options(), loadRatio)),
);
const measuredAs = (p95Seconds: number, replicas = 2) => ({
  flows: [flow(["only"], p95Seconds, { flow: models.models(1).routeOf(0).graph.flow })],
  windows: [window({ service: "only", replicas })],
});
const of = (p95Seconds: number, replicas?: number) => [
  ...lastWindowOf(models, measuredAs(p95Seconds, replicas), 0.95).values(),
];
const codes = (p95Seconds: number, windows: Record<string, number> = { only: 10 }): string[] =>
  warningsOf(lastWindowOf(models, measuredAs(p95Seconds), 0.95), new Map(Object.entries(windows))).map(
    ({ code }) => code,
  );

describe("what the models say of the last window", () => {
  it("is beside what was measured, with its interval", () => {
    const [last] = of(0.06);
    expect(last!.measuredSeconds).toBeCloseTo(0.06, 9);
    expect(last!.predicted!.latencySeconds).toBeCloseTo(0.075, 9);
    expect(last!.predicted!.highSeconds).toBeGreaterThan(last!.predicted!.latencySeconds);
  });

  it("is left out where another number of replicas ran than the models start from", () => {
    expect(of(0.06, 1)).toEqual([{ measuredSeconds: expect.closeTo(0.06, 9) as number }]);
  });
});

describe("warnings about a prediction", () => {
  it("name what is twice or half of what was measured, or beyond", () => {
    expect(codes(0.075)).toEqual([]);
    expect(codes(0.04)).toEqual([]);
    expect(codes(0.037)).toEqual(["far-from-measured"]);
    expect(codes(0.16)).toEqual(["far-from-measured"]);
  });

  it("give both numbers", () => {
    const [far] = warningsOf(lastWindowOf(models, measuredAs(0.006), 0.95), new Map());
    expect(far!.words).toContain("75 ms");
    expect(far!.words).toContain("6 ms was measured");
  });

  it("name models of fewer than ten windows, the youngest first", () => {
    expect(codes(0.075, { only: 9 })).toEqual(["few-windows"]);
    const [few] = warningsOf(
      new Map(),
      new Map([
        ["a", 7],
        ["b", 2],
        ["c", 10],
      ]),
    );
    expect(few!.words).toContain("of 'b', 'a' have seen 2 windows");
  });
});
