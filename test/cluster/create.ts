import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { apiVersionOf } from "@tradewind/kubernetes/client/resources.ts";
import type { Resource } from "@tradewind/kubernetes/client/resources.ts";

/** Creates an object in the namespace it names. */
export async function create(api: ApiClient, resource: Resource, object: object): Promise<void> {
  const { metadata } = object as { metadata: { namespace?: string } };
  await api.create(
    { resource, namespace: metadata.namespace },
    { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object },
  );
}
