import type { SpanBatch } from "./span.ts";

/** The workload's name where a mesh calls the service NAME.NAMESPACE, as Istio does unless told otherwise. */
export function meshlessName(service: string, namespace: string): string {
  const end = service.length - namespace.length - 1;
  return end > 0 && service[end] === "." && service.endsWith(namespace) ? service.slice(0, end) : service;
}

/** Calls the services of a batch by the names of the workloads of this namespace. */
export function nameByWorkload({ resources }: Pick<SpanBatch, "resources">, namespace: string): void {
  for (const resource of resources) {
    if (resource.namespace === undefined || resource.namespace === namespace)
      resource.service = meshlessName(resource.service, namespace);
  }
}
