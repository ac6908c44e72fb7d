import type { Labels } from "./api.ts";
import { knownService, latencyQuery, partQuery } from "./mapping.ts";
import type { HistogramForm, MappingCandidate, RedMapping, ServiceKey } from "./mapping.ts";
import { equal, noneOf, oneOf } from "./promql.ts";
import type { Matcher } from "./promql.ts";

const WORKLOAD = ["namespace", "deployment", "statefulset", "daemonset"];
const CALLED = ["dst_namespace", "dst_deployment", "dst_statefulset", "dst_daemonset"];

/** Inbound responses that no user waits for: the kubelet's probes, and scrapes and probes of the proxy itself. */
const PROXY_PORTS = ["4191", "4190"];
const NO_PROBES: readonly Matcher[] = [
  noneOf("authz_name", ["probe"]),
  noneOf("route_name", ["probe"]),
  noneOf("target_port", PROXY_PORTS),
  noneOf("srv_port", PROXY_PORTS),
];

const served = (labels: Labels): ServiceKey | undefined =>
  knownService(labels["deployment"] ?? labels["statefulset"] ?? labels["daemonset"], labels["namespace"]);
const callee = (labels: Labels): ServiceKey | undefined =>
  knownService(
    labels["dst_deployment"] ?? labels["dst_statefulset"] ?? labels["dst_daemonset"],
    labels["dst_namespace"],
  );

/** Linkerd's proxy metrics: `direction="inbound"` beside the server, `"outbound"` beside the client. Milliseconds. */
export function linkerd(namespaces: readonly string[]): MappingCandidate[] {
  const inside: Matcher[] = namespaces.length === 0 ? [] : [oneOf("namespace", namespaces)];
  const inbound = { matchers: [equal("direction", "inbound"), ...NO_PROBES, ...inside], by: WORKLOAD };
  const outbound = { matchers: [equal("direction", "outbound"), ...inside], by: [...WORKLOAD, ...CALLED] };
  const [metric, latency, unitSeconds] = ["response_total", "response_latency_ms", 0.001];
  const mapping = (form: HistogramForm): RedMapping => ({
    name: "linkerd",
    requests: { kind: "counter", metric, ...inbound, by: [...WORKLOAD, "classification"] },
    latency: latencyQuery(latency, form, inbound),
    service: served,
    failed: ({ classification }) => classification === "failure",
    calls: {
      count: { kind: "counter", metric, ...outbound },
      sum: partQuery("sum", latency, form, outbound),
      unitSeconds,
      caller: served,
      callee,
    },
  });
  return [{ requestsMetric: metric, latencyMetric: latency, unitSeconds, mapping }];
}
