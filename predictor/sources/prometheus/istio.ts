import type { Labels } from "./api.ts";
import { failedStatus, knownService, latencyQuery, partQuery } from "./mapping.ts";
import type { HistogramForm, MappingCandidate, RedMapping, ServiceKey } from "./mapping.ts";
import { equal, oneOf } from "./promql.ts";
import type { Matcher } from "./promql.ts";

/**
 * Istio's standard metrics. Sidecars report each request twice: `reporter="destination"` beside the server is its
 * response latency, `reporter="source"` beside the client gives the call graph. Ambient mesh reports `waypoint`.
 */
export function istio(namespaces: readonly string[]): MappingCandidate[] {
  return ["", RECORDED].flatMap((prefix) => [
    candidate(prefix, "istio_request_duration_milliseconds", 0.001, namespaces),
    candidate(prefix, "istio_request_duration_seconds", 1, namespaces),
  ]);
}

/** What recording rules after Istio's documentation begin the names of counters with that were summed over pods. */
const RECORDED = "workload:";

const DESTINATION = ["destination_workload", "destination_workload_namespace"];
const SOURCE = ["source_workload", "source_workload_namespace"];

const callee = (labels: Labels): ServiceKey | undefined =>
  knownService(labels["destination_workload"], labels["destination_workload_namespace"]);
const caller = (labels: Labels): ServiceKey | undefined =>
  knownService(labels["source_workload"], labels["source_workload_namespace"]);

function candidate(
  prefix: string,
  name: string,
  unitSeconds: number,
  namespaces: readonly string[],
): MappingCandidate {
  const latency = `${prefix}${name}`;
  const inside = (label: string): Matcher[] => (namespaces.length === 0 ? [] : [oneOf(label, namespaces)]);
  const served = {
    matchers: [oneOf("reporter", ["destination", "waypoint"]), ...inside("destination_workload_namespace")],
    by: DESTINATION,
  };
  const called = {
    matchers: [equal("reporter", "source"), ...inside("source_workload_namespace")],
    by: [...SOURCE, ...DESTINATION],
  };
  const metric = `${prefix}istio_requests_total`;
  const mapping = (form: HistogramForm): RedMapping => ({
    name: "istio",
    requests: {
      kind: "counter",
      metric,
      ...served,
      by: [...DESTINATION, "response_code", "grpc_response_status"],
    },
    latency: latencyQuery(latency, form, served),
    service: callee,
    failed: ({ response_code: http, grpc_response_status: grpc }) => http === "0" || failedStatus(http, grpc),
    calls: {
      count: { kind: "counter", metric, ...called },
      sum: partQuery("sum", latency, form, called),
      unitSeconds,
      caller,
      callee,
    },
  });
  return { requestsMetric: metric, latencyMetric: latency, unitSeconds, mapping };
}
