import { describe, expect, it } from "vitest";
import { measureCross } from "../../bench/profile/cross.ts";
import type { CrossRow } from "../../bench/profile/cross.ts";
import { rankCorrelation } from "../../bench/statistics.ts";

/** A place whose p95 is off by so much by each model. */
const rowOf = (truth: number, curve: number, network: number, isKnee = false): CrossRow => ({
  kind: "load",
  truth,
  curve: truth + curve,
  network: truth + network,
  anchored: truth,
  rules: { lastValue: truth + 1, median: truth + 1, kernel: truth + 1, logLinear: truth + 1 },
  low: truth - 0.1,
  high: truth + (isKnee ? -0.05 : 0.1),
  isKnee,
});

describe("the measure of sizes and loads not seen", () => {
  const service = [0, -1, -2, -3, -4].map((truth, i) => rowOf(truth, 0.4, -0.2, i === 4));

  it("has the mean error of each model, and of the geometric mean of two, everywhere and at the knee", () => {
    expect(measureCross([[service]])).toMatchObject({
      rows: 5,
      kneeRows: 1,
      mean: 0,
      both: { mean: 0.1, knee: 0.1 },
      curve: { mean: 0.4, knee: 0.4 },
      network: { mean: 0.2, knee: 0.2 },
      rules: { median: { mean: 1 } },
      coverage: { all: 0.8, knee: 0 },
    });
  });

  it("ranks gains within each application", () => {
    const slow = service.map((row) => ({ ...row, truth: row.truth + 2, anchored: row.truth - 2 }));
    const { bestGainShare, gainRank } = measureCross([[service, slow]]);
    expect(gainRank).toBeCloseTo(-0.6, 5);
    expect(bestGainShare).toBeCloseTo(0.135, 2);
  });
});

describe("rank correlation", () => {
  it("is 1 for the same order, -1 for the opposite, whatever the distances", () => {
    expect(rankCorrelation([1, 2, 30], [5, 6, 7])).toBeCloseTo(1, 12);
    expect(rankCorrelation([1, 2, 30], [7, 6, -5])).toBeCloseTo(-1, 12);
  });

  it("gives equal values their mean rank", () => {
    expect(rankCorrelation([1, 1, 2], [1, 1, 2])).toBeCloseTo(1, 12);
    expect(rankCorrelation([1, 2, 3, 4], [1, 1, 2, 2])).toBeCloseTo(0.894, 3);
  });
});
