import type { Labels } from "./api.ts";
import { failedStatus, knownService, latencyQuery, partQuery } from "./mapping.ts";
import type { HistogramForm, MappingCandidate, RedMapping, ServiceKey } from "./mapping.ts";
import { equal, oneOf } from "./promql.ts";
import type { Matcher } from "./promql.ts";

const DESTINATION = ["destination_namespace", "destination_workload"];
const SOURCE = ["source_namespace", "source_workload"];

const callee = (labels: Labels): ServiceKey | undefined =>
  knownService(labels["destination_workload"], labels["destination_namespace"]);
const caller = (labels: Labels): ServiceKey | undefined =>
  knownService(labels["source_workload"], labels["source_namespace"]);

/**
 * Cilium Hubble's `httpV2` metrics with `labelsContext=source_namespace,source_workload,destination_namespace,
 * destination_workload`; without these labels no service can be told. Seconds; `reporter` is `server` or `client`.
 */
export function hubble(namespaces: readonly string[]): MappingCandidate[] {
  const inside = (label: string): Matcher[] => (namespaces.length === 0 ? [] : [oneOf(label, namespaces)]);
  const served = {
    matchers: [equal("reporter", "server"), ...inside("destination_namespace")],
    by: DESTINATION,
  };
  const called = {
    matchers: [equal("reporter", "client"), ...inside("source_namespace")],
    by: [...SOURCE, ...DESTINATION],
  };
  const [metric, latency] = ["hubble_http_requests_total", "hubble_http_request_duration_seconds"];
  const mapping = (form: HistogramForm): RedMapping => ({
    name: "hubble",
    requests: { kind: "counter", metric, ...served, by: [...DESTINATION, "status"] },
    latency: latencyQuery(latency, form, served),
    service: callee,
    failed: ({ status }) => failedStatus(status, undefined),
    calls: {
      count: { kind: "counter", metric, ...called },
      sum: partQuery("sum", latency, form, called),
      unitSeconds: 1,
      caller,
      callee,
    },
  });
  return [{ requestsMetric: metric, latencyMetric: latency, unitSeconds: 1, mapping }];
}
