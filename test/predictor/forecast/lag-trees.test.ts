import { describe, expect, it } from "vitest";
import { LagForecast } from "@tradewind/predictor/forecast/lag-trees.ts";

/** Inputs of which the first says whether load will rise. */
const row = (at: number): number[] => [at % 2, at % 7, at % 11];

describe("a forecast by lag trees", () => {
  it("is no number before 96 examples, and tells then what the inputs tell", () => {
    const forecast = new LagForecast();
    for (let at = 0; at < 95; at += 1) forecast.learn(row(at), at % 2);
    expect(forecast.predict(row(0))).toBeNaN();
    forecast.learn(row(95), 1);
    expect(forecast.predict(row(0))).toBeLessThan(0.1);
    expect(forecast.predict(row(1))).toBeGreaterThan(0.9);
  });

  it("forgets what came before the newest examples that it keeps", () => {
    const forecast = new LagForecast(96);
    for (let at = 0; at < 500; at += 1) forecast.learn(row(at), -2);
    for (let at = 0; at < 240; at += 1) forecast.learn(row(at), 2);
    expect(forecast.predict(row(0))).toBe(2);
  });
});
