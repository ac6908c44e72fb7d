import { isIdle } from "@tradewind/predictor/decide/queue/idle.ts";
import { observe } from "@tradewind/predictor/decide/facts/observation.ts";
import { PolicySettings } from "@tradewind/predictor/decide/facts/settings.ts";
import { describe, expect, it } from "vitest";
import { inputs, window, windowSet } from "../../measurements.ts";

/** Two replicas with 20 requests per second. */
function isIdleWith(podUsageCores: number | undefined, ownSeconds: number): boolean {
  const facts = { service: "backend", replicas: 2, rate: 20, ownSeconds };
  const set = windowSet([window({ ...facts, ...(podUsageCores !== undefined && { podUsageCores }) })]);
  return isIdle(observe(inputs(set))[0]!, PolicySettings.parse({}));
}

describe("an idle service", () => {
  it.each([
    { why: "uses a tenth of its CPU and holds 0.2 requests", use: 0.1, own: 0.01, idle: true },
    { why: "is none where 3 requests are in it", use: 0.1, own: 0.15, idle: false },
    { why: "is none at half of its CPU", use: 0.5, own: 0.01, idle: false },
    { why: "is none where CPU use is not known", use: undefined, own: 0.01, idle: false },
  ])("$why", ({ idle, own, use }) => {
    expect(isIdleWith(use, own)).toBe(idle);
  });
});
