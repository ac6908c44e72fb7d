import type { Labels } from "./api.ts";
import { failedStatus, knownService, latencyQuery, partQuery } from "./mapping.ts";
import type { HistogramForm, MappingCandidate, RedMapping, ServiceKey } from "./mapping.ts";
import { equal, noneOf, oneOf } from "./promql.ts";
import type { Matcher } from "./promql.ts";

/** Labels of one side of a call. */
interface PartyLabels {
  /** The first that a series has names the service. */
  readonly workload: readonly string[];
  readonly namespace: string;
}

/** How a mesh reports each request twice: by the proxy beside the server, and by the one beside the client. */
interface MeshMetrics {
  readonly name: string;
  readonly requests: string;
  readonly latency: string;
  readonly unitSeconds: number;
  readonly reportedByServer: readonly Matcher[];
  readonly reportedByClient: readonly Matcher[];
  /** Whom the server's reports are about. */
  readonly server: PartyLabels;
  /** The two sides of the client's reports, which give the call graph. */
  readonly caller: PartyLabels;
  readonly callee: PartyLabels;
  /** Labels that tell whether a request failed. */
  readonly status: readonly string[];
  readonly failed: (labels: Labels) => boolean;
}

/** Sidecars of Istio report as `destination` and `source`; the ambient mesh's waypoints stand beside the server. */
const ISTIO = {
  name: "istio",
  requests: "istio_requests_total",
  reportedByServer: [oneOf("reporter", ["destination", "waypoint"])],
  reportedByClient: [equal("reporter", "source")],
  server: { workload: ["destination_workload"], namespace: "destination_workload_namespace" },
  caller: { workload: ["source_workload"], namespace: "source_workload_namespace" },
  callee: { workload: ["destination_workload"], namespace: "destination_workload_namespace" },
  status: ["response_code", "grpc_response_status"],
  failed: ({ response_code: http, grpc_response_status: grpc }: Labels) =>
    http === "0" || failedStatus(http, grpc),
};

/** What recording rules after Istio's documentation begin the names of counters with that were summed over pods. */
const RECORDED = "workload:";

const istioCounters = (prefix: string, unit: string): Omit<MeshMetrics, "unitSeconds"> => ({
  ...ISTIO,
  requests: `${prefix}${ISTIO.requests}`,
  latency: `${prefix}istio_request_duration_${unit}`,
});

/** Inbound responses that no user waits for: the kubelet's probes, and scrapes and probes of Linkerd's proxy itself. */
const PROXY_PORTS = ["4191", "4190"];
const NO_PROBES: readonly Matcher[] = [
  noneOf("authz_name", ["probe"]),
  noneOf("route_name", ["probe"]),
  noneOf("target_port", PROXY_PORTS),
  noneOf("srv_port", PROXY_PORTS),
];
const LINKERD_WORKLOAD = { workload: ["deployment", "statefulset", "daemonset"], namespace: "namespace" };

export const istio = mesh(
  ["", RECORDED].flatMap((prefix) => [
    { ...istioCounters(prefix, "milliseconds"), unitSeconds: 0.001 },
    { ...istioCounters(prefix, "seconds"), unitSeconds: 1 },
  ]),
);

export const linkerd = mesh([
  {
    name: "linkerd",
    requests: "response_total",
    latency: "response_latency_ms",
    unitSeconds: 0.001,
    reportedByServer: [equal("direction", "inbound"), ...NO_PROBES],
    reportedByClient: [equal("direction", "outbound")],
    server: LINKERD_WORKLOAD,
    caller: LINKERD_WORKLOAD,
    callee: { workload: ["dst_deployment", "dst_statefulset", "dst_daemonset"], namespace: "dst_namespace" },
    status: ["classification"],
    failed: ({ classification }) => classification === "failure",
  },
]);

/**
 * Cilium Hubble's `httpV2` metrics with `labelsContext=source_namespace,source_workload,destination_namespace,
 * destination_workload`; without these labels no service can be told.
 */
export const hubble = mesh([
  {
    name: "hubble",
    requests: "hubble_http_requests_total",
    latency: "hubble_http_request_duration_seconds",
    unitSeconds: 1,
    reportedByServer: [equal("reporter", "server")],
    reportedByClient: [equal("reporter", "client")],
    server: { workload: ["destination_workload"], namespace: "destination_namespace" },
    caller: { workload: ["source_workload"], namespace: "source_namespace" },
    callee: { workload: ["destination_workload"], namespace: "destination_namespace" },
    status: ["status"],
    failed: ({ status }) => failedStatus(status, undefined),
  },
]);

function mesh(all: readonly MeshMetrics[]): (namespaces: readonly string[]) => MappingCandidate[] {
  return (namespaces) => all.map((metrics) => candidate(metrics, namespaces));
}

function candidate(of: MeshMetrics, namespaces: readonly string[]): MappingCandidate {
  const { callee, caller, latency, requests, server, unitSeconds } = of;
  const inside = ({ namespace }: PartyLabels): Matcher[] =>
    namespaces.length === 0 ? [] : [oneOf(namespace, namespaces)];
  const served = { matchers: [...of.reportedByServer, ...inside(server)], by: labelsOf(server) };
  const called = {
    matchers: [...of.reportedByClient, ...inside(caller)],
    by: [...labelsOf(caller), ...labelsOf(callee)],
  };
  const mapping = (form: HistogramForm): RedMapping => ({
    name: of.name,
    requests: { kind: "counter", metric: requests, ...served, by: [...served.by, ...of.status] },
    latency: latencyQuery(latency, form, served),
    service: keyBy(server),
    failed: of.failed,
    calls: {
      count: { kind: "counter", metric: requests, ...called },
      sum: partQuery("sum", latency, form, called),
      unitSeconds,
      caller: keyBy(caller),
      callee: keyBy(callee),
    },
  });
  return { requestsMetric: requests, latencyMetric: latency, unitSeconds, mapping };
}

const labelsOf = ({ namespace, workload }: PartyLabels): string[] => [...workload, namespace];

const keyBy =
  ({ namespace, workload }: PartyLabels) =>
  (labels: Labels): ServiceKey | undefined =>
    knownService(
      workload.map((label) => labels[label]).find((name) => name !== undefined),
      labels[namespace],
    );
