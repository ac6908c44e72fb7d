import { isBetter, RETRAIN_DEFAULTS, retrainReason } from "@tradewind/predictor/profile/replacement.ts";
import type { Evidence, ProfileAge } from "@tradewind/predictor/profile/replacement.ts";
import { describe, expect, it } from "vitest";

const hour = 3_600_000;
const trained: ProfileAge = { trainedAtMs: 10 * hour, trainingRows: 500, meanAbsoluteRatio: 0.1 };
const quiet: Evidence = {
  nowMs: 12 * hour,
  rows: 700,
  recentAbsoluteRatio: 0.12,
  lastDeployMs: 5 * hour,
  rowsSinceDeploy: 600,
};

describe("when to train", () => {
  it.each([
    ["a profile that does well is left alone", trained, quiet, undefined, undefined],
    [
      "errors half as large again call for one",
      trained,
      { ...quiet, recentAbsoluteRatio: 0.16 },
      undefined,
      "error-growth",
    ],
    [
      "unless one was just tried",
      trained,
      { ...quiet, recentAbsoluteRatio: 0.16 },
      12 * hour - 60_000,
      undefined,
    ],
    [
      "small errors may grow",
      { ...trained, meanAbsoluteRatio: 0.01 },
      { ...quiet, recentAbsoluteRatio: 0.09 },
      undefined,
      undefined,
    ],
    [
      "a deploy calls for one once the new program has run for a while",
      trained,
      { ...quiet, lastDeployMs: 11 * hour, rowsSinceDeploy: 120 },
      undefined,
      "deploy",
    ],
    [
      "not before",
      trained,
      { ...quiet, lastDeployMs: 11 * hour, rowsSinceDeploy: 119, recentAbsoluteRatio: 9 },
      undefined,
      undefined,
    ],
    ["twice the evidence calls for one", trained, { ...quiet, rows: 1_000 }, undefined, "more-evidence"],
    ["the first waits for an hour of windows", undefined, { ...quiet, rows: 239 }, undefined, undefined],
    ["and then comes", undefined, { ...quiet, rows: 240 }, undefined, "first"],
    [
      "unknown recent errors are no reason",
      trained,
      { ...quiet, recentAbsoluteRatio: undefined },
      undefined,
      undefined,
    ],
  ] as const)("%s", (_, current, evidence, lastTriedMs, expected) => {
    expect(retrainReason(current, evidence, lastTriedMs, RETRAIN_DEFAULTS)).toBe(expected);
  });
});

it("a candidate takes the place only of what it beats on the later block", () => {
  expect(isBetter(0.1, 0.11)).toBe(true);
  expect(isBetter(0.1, 0.1)).toBe(false);
  expect(isBetter(0.1, undefined)).toBe(true);
  expect(isBetter(Number.NaN, undefined)).toBe(false);
  expect(isBetter(0.1, Number.NaN)).toBe(true);
});
