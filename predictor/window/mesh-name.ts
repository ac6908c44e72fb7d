/** How Kubernetes and Istio go on after NAME.NAMESPACE. */
const DOMAINS = ["", ".svc", ".svc.cluster.local"];

/** The workload's name where a mesh calls the service NAME.NAMESPACE, as Istio does unless told otherwise. */
export function meshlessName(service: string, namespace: string): string {
  for (const domain of DOMAINS) {
    const suffix = `.${namespace}${domain}`;
    if (service.length > suffix.length && service.endsWith(suffix)) return service.slice(0, -suffix.length);
  }
  return service;
}
