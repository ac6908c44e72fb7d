import { flowObjective } from "@tradewind/predictor/facts/objective.ts";
import { PolicySettings } from "@tradewind/predictor/facts/settings.ts";
import { judge } from "@tradewind/predictor/facts/verdict.ts";
import type { FlowVerdict } from "@tradewind/predictor/facts/verdict.ts";
import { describe, expect, it } from "vitest";
import { application, flow } from "../measurements.ts";

const OBJECTIVE = flowObjective(application().objective);

/** Of a route of which all spans are well within the objective of 200 ms, p95 50 ms, and this share failed. */
function verdictOf(errorRatio: number, tailSeconds = 0.05): FlowVerdict {
  const flows = [flow(["frontend"], tailSeconds, { errorRatio })];
  return judge(flows, "frontend", OBJECTIVE, PolicySettings.parse({})).flows[0]!;
}

describe("a route of which requests fail", () => {
  it("misses its objective when more fail than may be late, however short their spans are", () => {
    expect(verdictOf(0.6)).toMatchObject({ isFailing: true });
    expect(verdictOf(0.6).severity).toBeCloseTo(12, 9);
    expect(verdictOf(0.051).severity).toBeGreaterThan(1);
  });

  it("is judged by its tail while fewer fail", () => {
    expect(verdictOf(0.04)).toMatchObject({ isFailing: false, severity: 0.25 });
    expect(verdictOf(0)).toMatchObject({ isFailing: false, severity: 0.25 });
  });

  it("is as far off as the worse of the two says", () => {
    expect(verdictOf(0.1, 2).severity).toBeCloseTo(10, 9);
    expect(verdictOf(0.1, 0.1).severity).toBeCloseTo(2, 9);
  });
});
