import { HEALTH_PATHS } from "../../window/user-agent.ts";
import type { Labels } from "./api.ts";
import { failedStatus, knownService, latencyQuery, partQuery } from "./mapping.ts";
import type { HistogramForm, MappingCandidate, RedMapping, ServiceKey } from "./mapping.ts";
import { namespaceOfPod, POD_LABELS, workloadOfPod } from "./pod-labels.ts";
import { noneOf, oneOf } from "./promql.ts";
import type { Matcher } from "./promql.ts";

/**
 * Histograms that SDKs and eBPF instrumentation send of what they serve, by OpenTelemetry's semantic conventions, today's and
 * those before; that of the calls they make has `client` for `server`. Units are those of the conventions.
 */
const HISTOGRAMS: readonly { readonly name: string; readonly unit: "seconds" | "milliseconds" }[] = [
  { name: "http.server.request.duration", unit: "seconds" },
  { name: "http.server.duration", unit: "milliseconds" },
  { name: "rpc.server.call.duration", unit: "seconds" },
  { name: "rpc.server.duration", unit: "milliseconds" },
];

/** What stores make of a name: dots or not, with or without the unit. */
function spellings(name: string, unit: string): string[] {
  const plain = name.replaceAll(".", "_");
  return [`${plain}_${unit}`, plain, name, `${name}_${unit}`];
}

const GRPC_HEALTH = "grpc.health.v1.Health";
const SERVICE = ["service_name", "exported_job", "job", ...POD_LABELS];
const STATUS = [
  "http_response_status_code",
  "http_status_code",
  "rpc_grpc_status_code",
  "rpc_response_status_code",
];

/** What sends on the metrics of others, by whose pod nobody is known. */
const COLLECTOR = /collector|otel|opentelemetry|alloy|beyla|obi|ebpf|agent|gateway|prometheus/;

/**
 * A resource's `service.name`; Prometheus has it as `job`, with `service.namespace` before a slash. Where a process is scraped
 * itself, as those of .NET are, `job` is the scrape's name, and its pod tells whose it is.
 */
const owner = (labels: Labels): ServiceKey | undefined => {
  const { exported_job: exported, job, service_name: name } = labels;
  const told = exported ?? job;
  const workload = workloadOfPod(labels);
  if (name === undefined && exported === undefined && workload !== undefined && !COLLECTOR.test(workload))
    return knownService(workload, namespaceOfPod(labels));
  return knownService(name ?? told?.slice(told.lastIndexOf("/") + 1), labels["k8s_namespace_name"]);
};

/** Whom a client calls: a service by its name in the cluster; any other host is none of the application's. */
const callee = ({ server_address: host = "" }: Labels): ServiceKey | undefined => {
  const [name, namespace, svc] = host.split(".");
  if (namespace !== undefined && svc !== "svc") return undefined;
  return knownService(name, namespace);
};

const failed = (labels: Labels): boolean =>
  failedStatus(
    labels["http_response_status_code"] ?? labels["http_status_code"],
    labels["rpc_grpc_status_code"] ?? labels["rpc_response_status_code"],
  );

/** HTTP or RPC servers by their own metrics; the time in their clients' is time spent waiting for others. */
export function semconv(namespaces: readonly string[]): MappingCandidate[] {
  const matchers: Matcher[] = namespaces.length === 0 ? [] : [oneOf("k8s_namespace_name", namespaces)];
  const asked = [...matchers, noneOf("http_route", HEALTH_PATHS), noneOf("rpc_service", [GRPC_HEALTH])];
  const served = { matchers: asked, by: SERVICE };
  const all = { matchers, by: SERVICE };
  const called = { matchers, by: [...SERVICE, "server_address"] };
  return HISTOGRAMS.flatMap(({ name, unit }) =>
    spellings(name, unit).map((metric): MappingCandidate => {
      const client = metric.replace("server", "client");
      const unitSeconds = unit === "seconds" ? 1 : 0.001;
      const mapping = (form: HistogramForm): RedMapping => ({
        name: "semconv",
        requests: partQuery("count", metric, form, { ...served, by: [...SERVICE, ...STATUS] }),
        latency: latencyQuery(metric, form, served),
        service: owner,
        failed,
        calls: {
          count: partQuery("count", client, form, called),
          sum: partQuery("sum", client, form, called),
          unitSeconds,
          caller: owner,
          callee,
        },
        waiting: { sum: partQuery("sum", client, form, all), unitSeconds },
      });
      return { latencyMetric: metric, unitSeconds, mapping };
    }),
  );
}
