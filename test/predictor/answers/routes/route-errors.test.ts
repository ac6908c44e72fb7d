import type { RouteAccuracy } from "@tradewind/core/contract/accuracy.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { RouteErrors } from "@tradewind/predictor/answers/routes/route-errors.ts";
import type { PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import { expect, it } from "vitest";
import { chained } from "../../decide/modelled.ts";
import { application, inputs, START_MS, WINDOW_MS } from "../../measurements.ts";

/** A shop of two services under so many requests per second. */
const shopAt = (requestsPerSecond: number, at = 0): WindowSet =>
  chained(
    [
      { service: "frontend", replicas: 1, cores: 1, cpuSecondsPerRequest: 0.005, baseSeconds: 0.01 },
      { service: "backend", replicas: 1, cores: 1, cpuSecondsPerRequest: 0.015, baseSeconds: 0.03 },
    ].map((each) => Object.assign(each, { requestsPerSecond })),
    START_MS + at * WINDOW_MS,
  );

/** What is known of its routes after windows under these loads. @param hasModels false: none decides */
function errorsAfter(loads: readonly number[], hasModels = true): RouteAccuracy[] {
  const ours = application();
  const errors = new RouteErrors();
  let outcome: PolicyOutcome | undefined;
  for (const [at, requestsPerSecond] of loads.entries()) {
    const windowSet = shopAt(requestsPerSecond, at);
    outcome = decide(inputs(windowSet, { application: ours, ...(outcome && { state: outcome.state }) }));
    errors.adopt({ application: ours, windowSet, models: hasModels ? outcome.whatIf : undefined });
  }
  return errors.list();
}

it("models and the window before know a route whose load and sizes stay", () => {
  const [route, ...others] = errorsAfter(Array.from({ length: 60 }, () => 30));
  expect(others).toEqual([]);
  expect(route?.windows).toBeGreaterThan(40);
  expect(route?.ruleError).toBeLessThan(0.001);
  expect(route?.modelError).toBeLessThan(0.1);
});

it("the rule of one line is off by what the latency changes from window to window", () => {
  const [route] = errorsAfter(Array.from({ length: 60 }, (_, at) => (at % 2 === 0 ? 20 : 45)));
  const latencyAt = (load: number): number => shopAt(load).flows[0]!.latency.p95Seconds;
  expect(route?.ruleError).toBeCloseTo(Math.log(latencyAt(45) / latencyAt(20)), 6);
  expect(route?.modelError).toBeGreaterThan(0);
});

it("nothing is said of a route that no models predicted", () => {
  expect(errorsAfter([20, 20, 20], false)).toEqual([]);
});
