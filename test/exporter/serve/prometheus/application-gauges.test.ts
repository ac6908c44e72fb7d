import type { RecommendationHeader } from "@tradewind/exporter/decide/recommendation-list.ts";
import { registerApplication } from "@tradewind/exporter/serve/prometheus/recommendations.ts";
import { RECOMMENDATIONS_SCHEMA } from "@tradewind/core/contract/recommendation.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";

const STALE_AFTER_SECONDS = 300;

async function linesOf(
  lastPlanAgeSeconds: number,
  several = false,
  policyReasons: readonly Reason[] = [],
): Promise<string[]> {
  const measured = {
    objective: { percentile: 0.95, seconds: 0.5 },
    measuredLatencySeconds: 0.9,
  };
  const header: RecommendationHeader = {
    schema: RECOMMENDATIONS_SCHEMA,
    servedAtMs: 0,
    predictor: { reachable: false, lastPlanAgeSeconds, policyReasons: [...policyReasons] },
    ...(several
      ? {
          applications: [
            {
              ...measured,
              name: "hotel",
              namespace: "shop",
              lastPlanAgeSeconds,
              policyReasons: [...policyReasons],
            },
          ],
        }
      : { ...measured, application: "hotel", namespace: "shop" }),
  };
  const registry = new Registry();
  registerApplication(registry, () => header, STALE_AFTER_SECONDS);
  return (await registry.metrics()).split("\n").filter((line) => line.includes("hotel"));
}

const SPENT = {
  code: "error-budget",
  spentRatio: 0.0125,
  recentRatio: 0,
  allowedRatio: 0.05,
  useRatio: 0.5,
  periodSeconds: 86_400,
  percentPerHour: 0.004,
} as const;

describe("the gauges of an application", () => {
  it("say what of the error budget is spent and left, and what one percent more is worth", async () => {
    for (const several of [false, true]) {
      expect((await linesOf(20, several, [SPENT])).filter((line) => line.includes("budget"))).toEqual([
        'tradewind_error_budget_spent_ratio{namespace="shop",application="hotel"} 0.0125',
        'tradewind_error_budget_left_ratio{namespace="shop",application="hotel"} 0.0125',
        'tradewind_error_budget_percent_per_hour{namespace="shop",application="hotel"} 0.004',
      ]);
    }
  });

  it("say what was measured, by namespace and name, for the only one and for one of several", async () => {
    for (const several of [false, true]) {
      expect(await linesOf(20, several)).toEqual([
        'tradewind_objective_latency_seconds{namespace="shop",application="hotel"} 0.5',
        'tradewind_measured_latency_seconds{namespace="shop",application="hotel"} 0.9',
        'tradewind_plan_age_seconds{namespace="shop",application="hotel"} 20',
      ]);
    }
  });

  it("say no longer what was measured once the plan is too old to be served (measured-for-ever)", async () => {
    for (const several of [false, true]) {
      expect(await linesOf(301, several)).toEqual([
        'tradewind_objective_latency_seconds{namespace="shop",application="hotel"} 0.5',
        'tradewind_plan_age_seconds{namespace="shop",application="hotel"} 301',
      ]);
    }
  });
});
