import type { Labels } from "./api.ts";
import { failedStatus, knownService, latencyQuery } from "./mapping.ts";
import type { MappingCandidate, RedMapping, ServiceKey } from "./mapping.ts";
import { equal, oneOf } from "./promql.ts";
import type { Matcher } from "./promql.ts";
import type { RateQuery } from "./rates.ts";

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
  const served = (metric: string, more: readonly string[]): RateQuery => ({
    kind: "counter",
    metric,
    matchers: [equal("reporter", "server"), ...inside("destination_namespace")],
    by: [...DESTINATION, ...more],
  });
  const called = (metric: string): RateQuery => ({
    kind: "counter",
    metric,
    matchers: [equal("reporter", "client"), ...inside("source_namespace")],
    by: [...SOURCE, ...DESTINATION],
  });
  const base = "hubble_http_request_duration_seconds";
  const mapping = (native: boolean): RedMapping => ({
    name: "hubble",
    requests: served("hubble_http_requests_total", ["status"]),
    latency: latencyQuery(base, native, 1, served),
    service: callee,
    failed: ({ status }) => failedStatus(status, undefined),
    calls: {
      count: called("hubble_http_requests_total"),
      ...(native ? {} : { sum: called(`${base}_sum`) }),
      unitSeconds: 1,
      caller,
      callee,
    },
  });
  return [{ requestsMetric: "hubble_http_requests_total", latencyMetric: base, mapping }];
}
