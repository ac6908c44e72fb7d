import { HEALTH_PATHS } from "../../window/user-agent.ts";
import type { Labels } from "./api.ts";
import { failedStatus, knownService, latencyQuery, partQuery } from "./mapping.ts";
import type { HistogramForm, MappingCandidate, RedMapping, ServiceKey } from "./mapping.ts";
import { noneOf, oneOf } from "./promql.ts";
import type { Matcher } from "./promql.ts";

/** Histograms that Spring (Micrometer) and Prometheus' client libraries make of HTTP requests, where they are configured to. */
const HISTOGRAMS = [
  "http_server_requests_seconds",
  "http_request_duration_seconds",
  "http_requests_duration_seconds",
];

/** Requests for health and metrics, by the labels in which the path is. */
const PATH_LABELS = ["uri", "handler", "route", "path", "endpoint"];

const SERVICE = ["namespace", "pod", "application", "app", "service", "job"];
const STATUS = ["status", "status_code", "code"];

/** Characters at the end of a Deployment's pod: a dash and five of them, behind the hash of its ReplicaSet. */
const POD_SUFFIX = 6;

/** The Deployment of a pod; undefined where it is a pod of something else. */
function deploymentOf(pod: string | undefined): string | undefined {
  if (pod === undefined || pod.at(-POD_SUFFIX) !== "-") return undefined;
  const ofReplicaSet = pod.slice(0, -POD_SUFFIX);
  const name = ofReplicaSet.slice(0, Math.max(0, ofReplicaSet.lastIndexOf("-")));
  return name === "" ? undefined : name;
}

/** These metrics name no service themselves: the labels of their pod do. */
const owner = (labels: Labels): ServiceKey | undefined => {
  const { app, application, job, namespace, pod, service } = labels;
  return knownService(deploymentOf(pod) ?? application ?? app ?? service ?? job, namespace);
};

const failed = ({ code, status, status_code: statusCode }: Labels): boolean =>
  failedStatus(status ?? statusCode ?? code, undefined);

/** HTTP servers by the metrics of their libraries, which have nothing about calls to others. */
export function httpLibraries(namespaces: readonly string[]): MappingCandidate[] {
  const inside: Matcher[] = namespaces.length === 0 ? [] : [oneOf("namespace", namespaces)];
  const matchers = [...inside, ...PATH_LABELS.map((label) => noneOf(label, HEALTH_PATHS))];
  return HISTOGRAMS.map((metric): MappingCandidate => {
    const mapping = (form: HistogramForm): RedMapping => ({
      name: "http",
      requests: partQuery("count", metric, form, { matchers, by: [...SERVICE, ...STATUS] }),
      latency: latencyQuery(metric, form, { matchers, by: SERVICE }),
      service: owner,
      failed,
    });
    return { latencyMetric: metric, unitSeconds: 1, mapping };
  });
}
