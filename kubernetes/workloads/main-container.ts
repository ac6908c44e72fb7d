/** What is looked at of a container. */
interface Candidate {
  readonly name: string;
  readonly isSidecar: boolean;
}

/** Proxies that injectors and charts put first into a pod, by the name that they give the container. */
const PROXIES = new Set([
  "cloud-sql-proxy",
  "cloudsql-proxy",
  "consul-dataplane",
  "daprd",
  "envoy",
  "envoy-sidecar",
  "istio-proxy",
  "kube-rbac-proxy",
  "linkerd-proxy",
  "oauth2-proxy",
]);

/**
 * The container that a service's size is meant for: the one that kubectl takes by default, else the one called like the
 * workload, else the first that is no well-known proxy. Sidecars are left as they are.
 */
export function mainContainer<Container extends Candidate>(
  {
    containers,
    defaultContainer,
  }: { readonly containers: readonly Container[]; readonly defaultContainer: string | undefined },
  workload: string,
): Container | undefined {
  const own = containers.filter(({ isSidecar }) => !isSidecar);
  return (
    own.find(({ name }) => name === defaultContainer) ??
    own.find(({ name }) => name === workload) ??
    own.find(({ name }) => !PROXIES.has(name)) ??
    own[0]
  );
}
