import { PredictionRecord } from "@tradewind/predictor/models/residual/accuracy.ts";
import { normalQuantile } from "@tradewind/simulator/engine/random.ts";
import { describe, expect, it } from "vitest";

describe("how well self times were predicted", () => {
  it("is not known before the first window", () => {
    expect(new PredictionRecord().accuracy).toBeUndefined();
  });

  it("is worked out by hand: errors 0.1, -0.3 and 0.2 with a deviation of 0.2", () => {
    const record = new PredictionRecord();
    for (const error of [0.1, -0.3, 0.2]) record.add(error, 0.2);
    // 1.2816 · 0.2 = 0.256: the second is outside.
    const { bias, coverage, error, windows } = record.accuracy!;
    expect([error, bias, coverage]).toEqual([
      expect.closeTo(0.2, 12),
      expect.closeTo(0, 12),
      expect.closeTo(2 / 3, 12),
    ]);
    expect(windows).toBe(3);
  });

  it("covers 0.8 of normal errors of the stated deviation", () => {
    const record = new PredictionRecord();
    for (let at = 0; at < 40; at += 1) record.add(0.3 * normalQuantile((at + 0.5) / 40), 0.3);
    expect(record.accuracy!.coverage).toBe(0.8);
  });

  it("forgets what is older than its last 40 windows", () => {
    const record = new PredictionRecord();
    for (let at = 0; at < 50; at += 1) record.add(at < 10 ? 5 : 0, 0.1);
    expect(record.accuracy).toEqual({ error: 0, bias: 0, coverage: 1, windows: 40 });
  });
});
