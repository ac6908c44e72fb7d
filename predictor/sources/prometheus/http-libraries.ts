import { HEALTH_PATHS } from "../../window/user-agent.ts";
import type { Labels } from "./api.ts";
import { failedStatus, knownService, latencyQuery, partQuery } from "./mapping.ts";
import type { HistogramForm, MappingCandidate, RedMapping, ServiceKey } from "./mapping.ts";
import { namespaceOfPod, POD_LABELS, workloadOfPod } from "./pod-labels.ts";
import { noneOf, oneOf } from "./promql.ts";
import type { Matcher } from "./promql.ts";

/** Histograms that Spring (Micrometer) and Prometheus' client libraries make of HTTP requests, where they are configured to. */
const HISTOGRAMS = [
  "http_server_requests_seconds",
  "http_request_duration_seconds",
  "http_requests_duration_seconds",
];

/** What the names of other libraries' histograms of requests have in common, before `_bucket`. */
const REQUEST_NAME =
  ".*(http|grpc|rpc|request|handling).*(seconds|milliseconds|millis|_ms|duration|latency|time).*";
/** Of calls to others, of stores and of what runs the cluster. */
const OTHER_NAME =
  ".*(client|outbound|upstream|egress|workqueue|sql|redis|kafka|mongo|_db_|bytes|size).*|" +
  "(apiserver|etcd|scheduler|kubelet|kubeproxy|prometheus|alertmanager|grafana|loki|thanos|cortex|tempo|coredns|rest|traefik|nginx|istio|envoy|hubble|cilium|authentication|controller|container|tradewind)_.*";

/** PromQL that has a series for each name of a histogram that may be one of requests. */
export const requestHistograms = (scope: string): string =>
  `count by (__name__) ({__name__=~${JSON.stringify(`${REQUEST_NAME}_bucket`)},__name__!~${JSON.stringify(OTHER_NAME)}${scope === "" ? "" : `,${scope}`}})`;

/** Requests for health and metrics, by the labels in which the path is. */
const PATH_LABELS = ["uri", "handler", "route", "path", "endpoint"];

const NAMES = ["application", "app", "app_kubernetes_io_name", "app_name", "service_name", "service", "job"];
const SERVICE = [...POD_LABELS, ...NAMES];
const STATUS = ["status", "status_code", "code", "grpc_code"];

/** These metrics name no service themselves: the labels of their pod do. */
const owner = (labels: Labels): ServiceKey | undefined =>
  knownService(
    workloadOfPod(labels) ?? NAMES.map((label) => labels[label]).find((name) => name !== undefined),
    namespaceOfPod(labels),
  );

const failed = ({ code, grpc_code, status, status_code }: Labels): boolean =>
  failedStatus(status ?? status_code ?? code, grpc_code);

/** What one unit of a histogram is worth, by the end of its name. */
const unitOf = (metric: string): number | undefined =>
  metric.endsWith("_seconds") ? 1 : /_(?:ms|millis|milliseconds)$/.test(metric) ? 0.001 : undefined;

/** HTTP servers by the metrics of their libraries, which have nothing about calls to others. */
export function httpLibraries(
  namespaces: readonly string[],
  _own: string,
  histograms: readonly string[] = HISTOGRAMS,
): MappingCandidate[] {
  // Scrapes of their own call the label otherwise.
  const inside: Matcher[] = namespaces.length === 0 ? [] : [oneOf("namespace", [...namespaces, ""])];
  const matchers = [...inside, ...PATH_LABELS.map((label) => noneOf(label, HEALTH_PATHS))];
  return histograms.map((metric): MappingCandidate => {
    const mapping = (form: HistogramForm): RedMapping => ({
      name: "http",
      requests: partQuery("count", metric, form, { matchers, by: [...SERVICE, ...STATUS] }),
      latency: latencyQuery(metric, form, { matchers, by: SERVICE }),
      service: owner,
      failed,
    });
    return { latencyMetric: metric, unitSeconds: unitOf(metric), mapping };
  });
}
