import { HEALTH_NAMES } from "../../window/probes.ts";
import type { Labels } from "./api.ts";
import { knownService, latencyQuery, partQuery } from "./mapping.ts";
import type { HistogramForm, MappingCandidate, RedMapping, ServiceKey } from "./mapping.ts";
import { noneOf, oneOf } from "./promql.ts";
import type { Matcher } from "./promql.ts";
import type { RateQuery } from "./rates.ts";

interface Generation {
  readonly calls: string;
  readonly latency: string;
  /** Absent where stores leave the unit out of the name: the connector's is milliseconds unless it is told otherwise. */
  readonly unitSeconds?: number | undefined;
}

/** What stores make of the names of the connector's two metrics: with or without suffixes. */
function spellings(calls: string, duration: string): Generation[] {
  const units = [
    { latency: `${duration}_seconds`, unitSeconds: 1 },
    { latency: `${duration}_milliseconds`, unitSeconds: 0.001 },
    { latency: duration },
  ];
  return units.flatMap((unit) => [
    { calls: `${calls}_total`, ...unit },
    { calls, ...unit },
  ]);
}

/**
 * Names that span metrics have had: the connector's default namespace `traces.span.metrics`, Tempo's metrics generator,
 * the connector without a namespace, the processor before it.
 */
const GENERATIONS: readonly Generation[] = [
  ...spellings("traces_span_metrics_calls", "traces_span_metrics_duration"),
  ...spellings("traces.span.metrics.calls", "traces.span.metrics.duration"),
  { calls: "traces_spanmetrics_calls_total", latency: "traces_spanmetrics_latency", unitSeconds: 1 },
  ...spellings("calls", "duration"),
  { calls: "calls_total", latency: "latency", unitSeconds: 0.001 },
];

const SERVICE = ["service_name", "service", "k8s_namespace_name"];

/**
 * `service_name` of the connector, `service` of Tempo's generator. `service_namespace` groups services by any name their
 * owners like: it is no namespace of Kubernetes.
 */
const owner = (labels: Labels): ServiceKey | undefined =>
  knownService(labels["service_name"] ?? labels["service"], labels["k8s_namespace_name"]);

/** `SERVER` of today's connector is `SPAN_KIND_SERVER` with others. */
const kinds = (...names: readonly string[]): Matcher =>
  oneOf(
    "span_kind",
    names.flatMap((name) => [`SPAN_KIND_${name}`, name]),
  );

/**
 * OpenTelemetry span metrics. SERVER and CONSUMER spans are requests; the time in CLIENT spans is time spent waiting
 * for others. Edges come from the service graph connector (or Tempo's generator) when it runs.
 */
export function otel(namespaces: readonly string[]): MappingCandidate[] {
  const inside: Matcher[] = namespaces.length === 0 ? [] : [oneOf("k8s_namespace_name", namespaces)];
  const served = { matchers: [kinds("SERVER", "CONSUMER"), NO_PROBES, ...inside], by: SERVICE };
  const waiting = { matchers: [kinds("CLIENT"), ...inside], by: SERVICE };
  return GENERATIONS.map(({ calls, latency, unitSeconds }) => {
    const mapping = (form: HistogramForm): RedMapping => ({
      name: "otel",
      requests: { kind: "counter", metric: calls, ...served, by: [...SERVICE, "status_code"] },
      latency: latencyQuery(latency, form, served),
      service: owner,
      failed: ({ status_code: status }) => /^(STATUS_CODE_)?ERROR$/i.test(status ?? ""),
      calls: SERVICE_GRAPH,
      waiting: { sum: partQuery("sum", latency, form, waiting), unitSeconds: form.unitSeconds },
    });
    return { requestsMetric: calls, latencyMetric: latency, unitSeconds, mapping };
  });
}

const NO_PROBES = noneOf("span_name", [...HEALTH_NAMES]);

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
