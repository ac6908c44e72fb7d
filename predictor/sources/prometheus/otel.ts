import type { Labels } from "./api.ts";
import { knownService, latencyQuery } from "./mapping.ts";
import type { MappingCandidate, RedMapping, ServiceKey } from "./mapping.ts";
import { oneOf } from "./promql.ts";
import type { Matcher } from "./promql.ts";
import type { RateQuery } from "./rates.ts";

interface Generation {
  readonly calls: string;
  readonly latency: string;
  readonly unitSeconds: number;
}

/**
 * Names that span metrics have had: the connector's default namespace `traces.span.metrics` with seconds or
 * milliseconds, Tempo's metrics generator, the connector without a namespace, the processor before it.
 */
const GENERATIONS: readonly Generation[] = [
  {
    calls: "traces_span_metrics_calls_total",
    latency: "traces_span_metrics_duration_seconds",
    unitSeconds: 1,
  },
  {
    calls: "traces_span_metrics_calls_total",
    latency: "traces_span_metrics_duration_milliseconds",
    unitSeconds: 0.001,
  },
  { calls: "traces_spanmetrics_calls_total", latency: "traces_spanmetrics_latency", unitSeconds: 1 },
  { calls: "calls_total", latency: "duration_seconds", unitSeconds: 1 },
  { calls: "calls_total", latency: "duration_milliseconds", unitSeconds: 0.001 },
  { calls: "calls_total", latency: "latency", unitSeconds: 0.001 },
];

const SERVICE = ["service_name", "service", "k8s_namespace_name"];

/**
 * `service_name` of the connector, `service` of Tempo's generator. `service_namespace` groups services by any name their
 * owners like: it is no namespace of Kubernetes.
 */
const owner = (labels: Labels): ServiceKey | undefined =>
  knownService(labels["service_name"] ?? labels["service"], labels["k8s_namespace_name"]);

/**
 * OpenTelemetry span metrics. SERVER and CONSUMER spans are requests; the time in CLIENT spans is time spent waiting
 * for others. Edges come from the service graph connector (or Tempo's generator) when it runs.
 */
export function otel(namespaces: readonly string[]): MappingCandidate[] {
  const inside: Matcher[] = namespaces.length === 0 ? [] : [oneOf("k8s_namespace_name", namespaces)];
  return GENERATIONS.map(({ calls, latency, unitSeconds }) => {
    const query =
      (kinds: string) =>
      (metric: string, more: readonly string[]): RateQuery => ({
        kind: "counter",
        metric,
        matchers: [{ label: "span_kind", operator: "=~", value: `(SPAN_KIND_)?(${kinds})` }, ...inside],
        by: [...SERVICE, ...more],
      });
    const served = query("SERVER|CONSUMER");
    const mapping = (native: boolean): RedMapping => ({
      name: "otel",
      requests: served(calls, ["status_code"]),
      latency: latencyQuery(latency, native, unitSeconds, served),
      service: owner,
      failed: ({ status_code: status }) => /^(STATUS_CODE_)?ERROR$/i.test(status ?? ""),
      calls: SERVICE_GRAPH,
      ...(native ? {} : { waiting: { sum: query("CLIENT")(`${latency}_sum`, []), unitSeconds } }),
    });
    return { requestsMetric: calls, latencyMetric: latency, mapping };
  });
}

const graph = (metric: string): RateQuery => ({
  kind: "counter",
  metric,
  matchers: [],
  by: ["client", "server"],
});

const SERVICE_GRAPH: RedMapping["calls"] = {
  count: graph("traces_service_graph_request_total"),
  sum: graph("traces_service_graph_request_client_seconds_sum"),
  unitSeconds: 1,
  caller: ({ client }) => (client === "user" ? undefined : knownService(client, undefined)),
  callee: ({ server }) => knownService(server, undefined),
};
