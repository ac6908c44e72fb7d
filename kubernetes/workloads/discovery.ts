import { z } from "zod";
import type { ApiClient } from "../client/client.ts";
import { RESOURCES } from "../client/resources.ts";
import type { Resource } from "../client/resources.ts";
import { ListOf } from "../objects/bounded.ts";

/** All groups in one answer (Kubernetes 1.27 and later). */
const AGGREGATED = ["v2", "v2beta1"]
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join(",");

const MOST_GROUPS = 1_000;
const MOST_RESOURCES = 1_000;

const Discovered = z.object({
  items: ListOf(
    z.object({
      metadata: z.object({ name: z.string().nullish() }).nullish(),
      versions: ListOf(
        z.object({
          version: z.string(),
          resources: ListOf(
            z.object({
              resource: z.string(),
              responseKind: z.object({ kind: z.string().nullish() }).nullish(),
              scope: z.string().nullish(),
              subresources: ListOf(z.object({ subresource: z.string() }), MOST_RESOURCES),
            }),
            MOST_RESOURCES,
          ),
        }),
        MOST_GROUPS,
      ),
    }),
    MOST_GROUPS,
  ),
});

/** The kinds of a cluster whose objects have replicas that `/scale` changes, of each group its preferred version first. */
export async function scalableKinds(client: ApiClient, signal?: AbortSignal): Promise<Resource[]> {
  const answer = await client.call({
    resource: RESOURCES.apiGroups,
    verb: "get",
    accept: AGGREGATED,
    signal,
  });
  return Discovered.parse(answer).items.flatMap(({ metadata, versions }) =>
    versions.flatMap(({ resources, version }) =>
      resources.flatMap(({ resource, responseKind, scope, subresources }): Resource[] => {
        const kind = responseKind?.kind ?? "";
        const isScaled = subresources.some(({ subresource }) => subresource === "scale");
        if (!isScaled || scope !== "Namespaced" || kind === "") return [];
        const group = metadata?.name ?? "";
        return [{ group, version, plural: resource, kind, namespaced: true, installable: true }];
      }),
    ),
  );
}
