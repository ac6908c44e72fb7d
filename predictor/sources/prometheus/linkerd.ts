import type { Labels } from "./api.ts";
import { knownService, latencyQuery } from "./mapping.ts";
import type { MappingCandidate, RedMapping, ServiceKey } from "./mapping.ts";
import { equal, oneOf } from "./promql.ts";
import type { Matcher } from "./promql.ts";
import type { RateQuery } from "./rates.ts";

const WORKLOAD = ["namespace", "deployment", "statefulset", "daemonset"];
const CALLED = ["dst_namespace", "dst_deployment", "dst_statefulset", "dst_daemonset"];

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
  const query =
    (direction: string, labels: readonly string[]) =>
    (metric: string, more: readonly string[]): RateQuery => ({
      kind: "counter",
      metric,
      matchers: [equal("direction", direction), ...inside],
      by: [...labels, ...more],
    });
  const inbound = query("inbound", WORKLOAD);
  const outbound = query("outbound", [...WORKLOAD, ...CALLED]);
  const mapping = (native: boolean): RedMapping => ({
    name: "linkerd",
    requests: inbound("response_total", ["classification"]),
    latency: latencyQuery("response_latency_ms", native, 0.001, inbound),
    service: served,
    failed: ({ classification }) => classification === "failure",
    calls: {
      count: outbound("response_total", []),
      ...(native ? {} : { sum: outbound("response_latency_ms_sum", []) }),
      unitSeconds: 0.001,
      caller: served,
      callee,
    },
  });
  return [{ requestsMetric: "response_total", latencyMetric: "response_latency_ms", mapping }];
}
