import {
  expectedLoss,
  normalQuantile,
  shareOver,
} from "@tradewind/predictor/decide/cost/price/route-cost.ts";
import type { PredictedLatency } from "@tradewind/predictor/decide/cost/price/route-cost.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

const P95 = 1.644_853_627;
const latency = (overrides: Partial<PredictedLatency> = {}): PredictedLatency => ({
  tailSeconds: 0.2,
  quantile: P95,
  spread: 0.5,
  sigma: 0,
  ...overrides,
});

describe("the cost of a route's latency", () => {
  it.each([
    [0.5, 0],
    [0.95, 1.644_853_627],
    [0.99, 2.326_347_874],
  ])("the normal quantile of %s is %s", (probability, quantile) => {
    expect(normalQuantile(probability)).toBeCloseTo(quantile, 8);
  });

  it("a p95 that equals the objective leaves 5 % of the requests over it", () => {
    expect(shareOver(latency(), 0.2)).toBeCloseTo(0.05, 8);
  });

  it("an uncertain prediction of the same p95 expects more requests over the objective: 16.2 % at 0.3 and 0.4", () => {
    // Deviation √(0.3² + 0.4²) = 0.5, mean −1.6449 · 0.3 = −0.4935: Φ(−0.98691).
    expect(shareOver(latency({ spread: 0.3, sigma: 0.4 }), 0.2)).toBeCloseTo(0.161_843, 5);
  });

  it("the expected loss at a median equal to the objective is one half and 0.399 deviations", () => {
    const tailSeconds = 0.2 * Math.exp(P95 * 0.5);
    expect(shareOver(latency({ tailSeconds }), 0.2)).toBeCloseTo(0.5, 8);
    expect(expectedLoss(latency({ tailSeconds }), 0.2)).toBeCloseTo(0.5 + 0.5 * 0.398_942_28, 7);
  });

  it("the expected loss of a route ten times over its objective is one and the logarithm of its median over it", () => {
    const tailSeconds = 2 * Math.exp(P95 * 0.1);
    expect(expectedLoss(latency({ tailSeconds, spread: 0.1 }), 0.2)).toBeCloseTo(1 + Math.log(10), 6);
  });

  it("a route that takes no time is never over its objective", () => {
    expect(shareOver(latency({ tailSeconds: 0 }), 0.2)).toBe(0);
    expect(expectedLoss(latency({ tailSeconds: 0 }), 0.2)).toBe(0);
  });

  it("a slower route never costs less, and no share leaves [0, 1]", () => {
    const positive = fc.double({ min: 1e-3, max: 10, noNaN: true });
    const spread = fc.double({ min: 0.1, max: 3, noNaN: true });
    fc.assert(
      fc.property(positive, positive, spread, spread, (a, b, width, sigma) => {
        const [fast, slow] = [Math.min(a, b), Math.max(a, b)].map((tailSeconds) =>
          latency({ tailSeconds, spread: width, sigma }),
        ) as [PredictedLatency, PredictedLatency];
        const [fastOver, slowOver] = [shareOver(fast, 0.2), shareOver(slow, 0.2)];
        expect(fastOver).toBeGreaterThanOrEqual(0);
        expect(slowOver).toBeGreaterThanOrEqual(fastOver);
        expect(slowOver).toBeLessThanOrEqual(1);
        expect(expectedLoss(slow, 0.2)).toBeGreaterThanOrEqual(expectedLoss(fast, 0.2) - 1e-9);
        expect(expectedLoss(slow, 0.2)).toBeGreaterThanOrEqual(slowOver - 0.5);
      }),
    );
  });

  it("a less certain prediction within the objective never has a smaller expected loss", () => {
    const positive = fc.double({ min: 1e-2, max: 0.2, noNaN: true });
    const sigma = fc.double({ min: 0, max: 2, noNaN: true });
    fc.assert(
      fc.property(positive, sigma, sigma, (tailSeconds, a, b) => {
        const sure = expectedLoss(latency({ tailSeconds, sigma: Math.min(a, b) }), 0.2);
        expect(expectedLoss(latency({ tailSeconds, sigma: Math.max(a, b) }), 0.2)).toBeGreaterThanOrEqual(
          sure - 1e-9,
        );
      }),
    );
  });
});
