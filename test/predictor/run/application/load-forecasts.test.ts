import { LoadForecast } from "@tradewind/core/contract/forecast.ts";
import { createLog } from "@tradewind/core/process/log.ts";
import { emptyOutlook } from "@tradewind/predictor/decide/cost/learn/outlook.ts";
import { CostSettings } from "@tradewind/predictor/decide/facts/cost-settings.ts";
import { emptyMemory } from "@tradewind/predictor/decide/cost/learn/state.ts";
import { emptyForesight, observe } from "@tradewind/predictor/forecast/foresight.ts";
import {
  LoadForecasts,
  registerForecastMetrics,
} from "@tradewind/predictor/run/application/load-forecasts.ts";
import { emptyState } from "@tradewind/predictor/decide/state.ts";
import type { PolicyState } from "@tradewind/predictor/decide/state.ts";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { START_MS } from "../../measurements.ts";

const SETTINGS = CostSettings.parse({});

/** After so many windows of 15 s with these loads. */
function stateAfter(windows: number, load: (window: number) => number): PolicyState {
  let foresight = emptyForesight();
  for (let at = 0; at < windows; at += 1) {
    const startMs = START_MS + 15_000 * at;
    const one = { startMs, endMs: startMs + 15_000, perSecond: load(at) };
    foresight = observe(foresight, one, { reachMs: 195_000, holdMs: 300_000 });
  }
  const cost = { ...emptyMemory(75), outlook: { ...emptyOutlook(), foresight } };
  return { ...emptyState("shop", "market"), windowEndMs: START_MS + 15_000 * windows, cost };
}

const forecastsOf = (state: PolicyState, settings = SETTINGS): LoadForecasts => {
  const forecasts = new LoadForecasts(settings);
  forecasts.adopt(state);
  return forecasts;
};

const rush = (at: number): number => (at % 120 >= 60 && at % 120 < 76 ? 100 : 20);

describe("the load forecast", () => {
  it("does not exist before a window was decided on by cost", () => {
    expect(new LoadForecasts(SETTINGS).latest()).toBeUndefined();
    expect(forecastsOf(emptyState("shop", "market")).latest()).toBeUndefined();
  });

  it("has five times ahead after minutes, and a steady load is forecast as it is", () => {
    const made = forecastsOf(stateAfter(120, () => 40)).latest();
    expect(LoadForecast.parse(made)).toEqual(made);
    expect(made).toMatchObject({ application: "shop", namespace: "market", stepSeconds: 60 });
    expect(made?.points.map(({ aheadSeconds }) => aheadSeconds)).toEqual([300, 600, 900, 1_200, 1_500]);
    for (const { errors, high, low, middle } of made?.points ?? []) {
      expect([low, middle, high].map((each) => Math.round(each))).toEqual([40, 40, 40]);
      expect(errors?.bias).toBeCloseTo(0, 9);
      expect(errors?.coverage).toBe(1);
    }
  });

  it("goes on to steps of five minutes after four hours", () => {
    expect(forecastsOf(stateAfter(930, () => 40)).latest()?.stepSeconds).toBe(60);
    expect(forecastsOf(stateAfter(990, () => 40)).latest()?.stepSeconds).toBe(300);
  });

  it("names the season that the decision is ready for, and none where seasons are switched off", () => {
    const state = stateAfter(412, rush);
    expect(forecastsOf(state).latest()?.season).toMatchObject({
      seasonSeconds: 1_800,
      reachSeconds: 195,
      perSecond: 100,
    });
    expect(forecastsOf(state, CostSettings.parse({ seasons: false })).latest()?.season).toBeUndefined();
  });

  it("is measured: expected load, bias, coverage and season", async () => {
    const registry = new Registry();
    const forecasts = forecastsOf(stateAfter(412, rush));
    registerForecastMetrics(registry, { forecasts, log: createLog("test", "silent") });
    const text = await registry.metrics();
    const labels = `namespace="market",application="shop"`;
    expect(text).toContain(`tradewind_load_season_seconds{${labels}} 1800`);
    for (const name of ["requests_per_second", "bias_ratio", "coverage_ratio", "mase_ratio"])
      expect(text).toContain(`tradewind_load_forecast_${name}{${labels},ahead_seconds="300"} `);
  });
});
