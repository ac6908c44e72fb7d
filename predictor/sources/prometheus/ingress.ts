import type { Labels } from "./api.ts";
import { failedStatus, knownService, latencyQuery } from "./mapping.ts";
import type { HistogramForm, MappingCandidate, RedMapping, ServiceKey } from "./mapping.ts";

/**
 * Metrics of what lets requests into a cluster: they tell of the services that users call, and of no call behind these.
 * @param namespaces asked for; unused, since the label is the controller's or the service's by how it is scraped
 * @param own namespace of the application, with which some controllers begin a service's name
 */
type IngressFamily = (namespaces: readonly string[], own: string) => MappingCandidate[];

interface IngressMetrics {
  readonly name: string;
  readonly requests: string;
  readonly latency: string;
  readonly unitSeconds: number;
  /** Labels that name the service. */
  readonly by: readonly string[];
  readonly status: string;
  readonly service: (labels: Labels) => ServiceKey | undefined;
}

function candidate({
  by,
  latency,
  name,
  requests,
  service,
  status,
  unitSeconds,
}: IngressMetrics): MappingCandidate {
  const mapping = (form: HistogramForm): RedMapping => ({
    name,
    requests: { kind: "counter", metric: requests, matchers: [], by: [...by, status] },
    latency: latencyQuery(latency, form, { matchers: [], by: [...by] }),
    service,
    failed: ({ [status]: code }) => code === "5" || failedStatus(code, undefined),
  });
  return { requestsMetric: requests, latencyMetric: latency, unitSeconds, mapping };
}

/** Scraped without `honorLabels`, `namespace` and `service` are the controller's own, and the request's are `exported_…`. */
export const nginx: IngressFamily = () => [
  candidate({
    name: "nginx",
    requests: "nginx_ingress_controller_requests",
    latency: "nginx_ingress_controller_request_duration_seconds",
    unitSeconds: 1,
    by: ["exported_namespace", "exported_service", "namespace", "service"],
    status: "status",
    service: ({ exported_namespace, exported_service, namespace, service }) =>
      knownService(exported_service ?? service, exported_namespace ?? namespace),
  }),
];

/**
 * `shop-frontend-80@kubernetes`, `shop-frontend-http@kubernetescrd`, `shop-frontend-http-80@kubernetesgateway`: namespace, Service
 * and port of one of ours.
 */
function traefikService(name: string, own: string): ServiceKey | undefined {
  const [whole = "", provider] = name.split("@", 2);
  const plain = provider === "kubernetesgateway" ? whole.replace(/-(?:http|https|h2c)-/, "-") : whole;
  const end = plain.lastIndexOf("-");
  if (!plain.startsWith(`${own}-`) || end <= own.length) return undefined;
  return knownService(plain.slice(own.length + 1, end), own);
}

/** Metrics of services, or of the routers before them, by which Traefik is told to label. */
export const traefik: IngressFamily = (_, own) =>
  ["service", "router"].map((part) =>
    candidate({
      name: "traefik",
      requests: `traefik_${part}_requests_total`,
      latency: `traefik_${part}_request_duration_seconds`,
      unitSeconds: 1,
      by: ["exported_service", "service"],
      status: "code",
      service: ({ exported_service, service = "" }) => traefikService(exported_service ?? service, own),
    }),
  );

/**
 * Contour's `shop/frontend/80/da39a3ee5e` or `shop_frontend_80`; Envoy Gateway's `httproute/shop/frontend/rule/0`, by the route's
 * name; Istio's `outbound|80||frontend.shop.svc.cluster.local`, and such a host alone.
 */
function envoyService(cluster: string): ServiceKey | undefined {
  const host = cluster.slice(cluster.lastIndexOf("|") + 1);
  const [name, space, svc] = host.split(":", 1)[0]?.split(".") ?? [];
  if (svc === "svc" && !cluster.startsWith("inbound|")) return knownService(name, space);
  const parts = cluster.split(cluster.includes("/") ? "/" : "_");
  if (parts[0] === "httproute" || parts[0] === "grpcroute") parts.shift();
  const [namespace, service] = parts;
  return parts.length < 3 ? undefined : knownService(service, namespace);
}

export const envoy: IngressFamily = () => [
  candidate({
    name: "envoy",
    requests: "envoy_cluster_upstream_rq_xx",
    latency: "envoy_cluster_upstream_rq_time",
    unitSeconds: 0.001,
    by: ["envoy_cluster_name"],
    status: "envoy_response_code_class",
    service: ({ envoy_cluster_name = "" }) => envoyService(envoy_cluster_name),
  }),
];
