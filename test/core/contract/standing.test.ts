import { severityOf } from "@tradewind/core/contract/standing.ts";
import { expect, it } from "vitest";

const OBJECTIVE = { percentile: 0.95, seconds: 0.2 };

it.each([
  ["the tail is half of the objective", { measuredLatencySeconds: 0.1 }, 0.5],
  ["a tenth fails, where 5 % may be late", { measuredLatencySeconds: 0.1, failedRatio: 0.1 }, 2],
  [
    "a tenth fails and the others take three times the objective",
    { measuredLatencySeconds: 0.6, failedRatio: 0.1 },
    3,
  ],
  ["all fail before a latency is known", { failedRatio: 1 }, 20],
])("says how far the objective is missed where %s", (_, standing, severity) => {
  expect(severityOf({ objective: OBJECTIVE, ...standing })).toBeCloseTo(severity, 9);
});

it("knows nothing without an objective, or where nothing was measured", () => {
  expect(severityOf({ objective: OBJECTIVE })).toBeUndefined();
  expect(severityOf({ measuredLatencySeconds: 1, failedRatio: 1 })).toBeUndefined();
});
