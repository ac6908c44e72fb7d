import { describe, expect, it } from "vitest";
import type { ServedRecommendation } from "@tradewind/core/contract/recommendation.ts";
import { serviceSeries } from "@tradewind/exporter/serve/prometheus/recommendations.ts";
import { runningExporter } from "../../running-exporter.ts";
import { planOf, wishOf } from "../../wish.ts";

const served = (service: string, changes: Partial<ServedRecommendation> = {}): ServedRecommendation => ({
  namespace: "shop",
  application: "hotel",
  service,
  replicas: 5,
  policy: "queue",
  confidence: 0.7,
  reason: "",
  decidedAtMs: 0,
  validUntilMs: 1,
  decisionId: "a",
  ageSeconds: 2.5,
  valid: true,
  wished: { replicas: 5 },
  guard: [],
  ...changes,
});

const seriesOf = (...all: ServedRecommendation[]): string[] => [...serviceSeries(all)].join("").split("\n");

describe("the series of services", () => {
  it("have what Prometheus needs to know of each metric, and a line for each value there is", () => {
    const lines = seriesOf(served("search"), served("rate", { replicas: 3, cpuCores: 0.25 }));
    expect(lines).toContain("# TYPE tradewind_recommended_replicas gauge");
    expect(lines).toContain(
      'tradewind_recommended_replicas{application="hotel",namespace="shop",service="search"} 5',
    );
    expect(lines).toContain(
      'tradewind_recommended_replicas{application="hotel",namespace="shop",service="rate"} 3',
    );
    expect(lines.filter((line) => line.startsWith("tradewind_recommended_cpu_cores{"))).toEqual([
      'tradewind_recommended_cpu_cores{application="hotel",namespace="shop",service="rate"} 0.25',
    ]);
    expect(lines.at(-1)).toBe("");
  });

  it("end with a decision, but for its age and that it is over", () => {
    const lines = seriesOf(served("search", { valid: false }));
    expect(lines.filter((line) => line.includes("{"))).toEqual([
      'tradewind_recommendation_age_seconds{application="hotel",namespace="shop",service="search"} 2.5',
      'tradewind_recommendation_valid{application="hotel",namespace="shop",service="search"} 0',
    ]);
  });

  it("keep their form whatever a service is called", () => {
    const lines = seriesOf(served('a"b\\c\nd'));
    expect(lines).toContain(
      'tradewind_recommended_replicas{application="hotel",namespace="shop",service="a\\"b\\\\c\\nd"} 5',
    );
  });

  it("come after everything else, once each, however many services there are", async () => {
    const wishes = Array.from({ length: 300 }, (_, index) => wishOf({ service: `service-${index}` }));
    const exporter = await runningExporter(planOf(wishes));
    const text = await exporter.metrics();
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(text.match(/^tradewind_recommended_replicas\{/gm)).toHaveLength(300);
    expect(text).toMatch(/^tradewind_predictor_reachable 1$/m);
  });
});
