import { describe, expect, it } from "vitest";
import { latencySlosOf, sloOf } from "@tradewind/kubernetes/init/slo.ts";

const SLOTH = `
version: prometheus/v1
service: shop
slos:
  - name: availability
    objective: 99.9
    sli: { events: { error_query: 'sum(rate(http_requests_total{code=~"5.."}[{{.window}}]))', total_query: x } }
  - name: latency
    objective: 95
    sli:
      events:
        error_query: |
          sum(rate(http_request_duration_seconds_count[{{.window}}]))
          - sum(rate(http_request_duration_seconds_bucket{le="0.3"}[{{.window}}]))
        total_query: sum(rate(http_request_duration_seconds_count[{{.window}}]))
`;
const PYRRA = `
apiVersion: pyrra.dev/v1alpha1
kind: ServiceLevelObjective
metadata: { name: checkout, namespace: shop }
spec:
  target: "99"
  window: 2w
  indicator:
    latency:
      success: { metric: 'istio_request_duration_milliseconds_bucket{destination_workload="web",le="250"}' }
      total: { metric: 'istio_request_duration_milliseconds_count{destination_workload="web"}' }
`;
const PYRRA_NATIVE = `
apiVersion: pyrra.dev/v1alpha1
kind: ServiceLevelObjective
metadata: { name: native }
spec:
  target: 90
  indicator: { latencyNative: { latency: 80ms, total: { metric: http_request_duration_seconds } } }
`;
const OPEN_THRESHOLD = `
apiVersion: openslo/v1
kind: SLO
metadata: { name: web-latency }
spec:
  indicator:
    metadata: { name: p95 }
    spec:
      thresholdMetric:
        metricSource: { type: Prometheus, spec: { query: 'histogram_quantile(0.95, http_duration_milliseconds)' } }
  objectives: [{ op: lte, value: 400, target: 0.95 }]
`;
const OPEN_RATIO = `
apiVersion: openslo/v1
kind: SLO
metadata: { name: web-ratio }
spec:
  indicator:
    metadata: { name: fast }
    spec:
      ratioMetric:
        counter: true
        good: { metricSource: { spec: { query: 'sum(http_request_duration_seconds_bucket{le="0.5"})' } } }
        total: { metricSource: { spec: { query: 'sum(http_request_duration_seconds_count)' } } }
  objectives: [{ targetPercent: 99 }]
`;

describe("latency objectives of other tools", () => {
  it.each([
    ["Sloth by the bucket of its error query", SLOTH, "Sloth 'latency'", 300, 0.95],
    ["Pyrra by a bucket in milliseconds", PYRRA, "Pyrra 'checkout'", 250, 0.99],
    ["Pyrra on a native histogram", PYRRA_NATIVE, "Pyrra 'native'", 80, 0.9],
    ["OpenSLO by a threshold in milliseconds", OPEN_THRESHOLD, "OpenSLO 'web-latency'", 400, 0.95],
    ["OpenSLO by the ratio of good events", OPEN_RATIO, "OpenSLO 'web-ratio'", 500, 0.99],
  ])("are read from %s", (_, text, from, milliseconds, percentile) => {
    expect(latencySlosOf(text, "slo.yaml")).toEqual([
      { from, milliseconds, percentile, query: expect.any(String) as string },
    ]);
  });

  it("count for an entry where one alone names it, or where there is one alone", () => {
    const slos = latencySlosOf([SLOTH, PYRRA, OPEN_THRESHOLD].join("---"), "slo.yaml");
    expect(sloOf(slos, "web")?.from).toBe("Pyrra 'checkout'");
    expect(sloOf(slos, "cart")).toBeUndefined();
    expect(sloOf(slos.slice(0, 1), "cart")?.from).toBe("Sloth 'latency'");
    expect(sloOf([], "cart")).toBeUndefined();
  });

  it("pass over what is no latency objective, in any document", () => {
    const text = "kind: ConfigMap\n---\nversion: prometheus/v1\nslos: []\n---\n[1, 2]\n";
    expect(latencySlosOf(text, "slo.yaml")).toEqual([]);
  });

  it("name the file whose YAML cannot be read", () => {
    expect(() => latencySlosOf("a: [", "slo.yaml")).toThrow(/slo\.yaml/);
  });
});
