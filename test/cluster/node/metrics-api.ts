import { NETWORK } from "./network.ts";

const NAME = "metrics-server";
const NAMESPACE = "kube-system";

/** Has the API server pass `metrics.k8s.io` on to a port of this machine, through a Service without pods. */
export function metricsApi(port: number): object {
  const metadata = { name: NAME, namespace: NAMESPACE };
  const items = [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: { ports: [{ name: "https", port: 443, targetPort: port }] },
    },
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { ...metadata, labels: { "kubernetes.io/service-name": NAME } },
      addressType: "IPv4",
      ports: [{ name: "https", port }],
      endpoints: [{ addresses: [NETWORK.machine], conditions: { ready: true } }],
    },
    {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1beta1.metrics.k8s.io" },
      spec: {
        group: "metrics.k8s.io",
        version: "v1beta1",
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: metadata,
      },
    },
  ];
  return { apiVersion: "v1", kind: "List", items };
}
