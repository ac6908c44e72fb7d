import { describe, expect, it } from "vitest";
import { demandMillis } from "@tradewind/local/application/demand.ts";

describe("demandMillis", () => {
  const draws = Array.from({ length: 20_000 }, (_, seed) => demandMillis(seed * 7919 + 1, "rate", 5));

  it("has the asked mean, and the spread of a log-normal number with sigma 0.5", () => {
    const mean = draws.reduce((sum, each) => sum + each, 0) / draws.length;
    const variance = draws.reduce((sum, each) => sum + (each - mean) ** 2, 0) / draws.length;
    expect(mean).toBeGreaterThan(4.9);
    expect(mean).toBeLessThan(5.1);
    // Squared coefficient of variation of a log-normal number: exp(sigma²) - 1 = 0.284.
    expect(variance / mean ** 2).toBeCloseTo(0.284, 1);
    expect(Math.min(...draws)).toBeGreaterThan(0);
  });

  it("is the same for the same request and service, and independent between services", () => {
    expect(demandMillis(42, "rate", 5)).toBe(demandMillis(42, "rate", 5));
    const geo = draws.map((_, seed) => demandMillis(seed * 7919 + 1, "geo", 5));
    const correlation =
      draws.reduce((sum, each, index) => sum + (each - 5) * (geo[index]! - 5), 0) /
      draws.length /
      (0.284 * 25);
    expect(Math.abs(correlation)).toBeLessThan(0.05);
  });
});
