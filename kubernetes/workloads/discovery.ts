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

/** What a cluster serves of the core group, or of all others. */
async function discover(
  client: ApiClient,
  resource: Resource,
  signal?: AbortSignal,
): Promise<z.infer<typeof Discovered>["items"]> {
  return Discovered.parse(await client.call({ resource, verb: "get", accept: AGGREGATED, signal })).items;
}

/** The kinds of a cluster whose objects have replicas that `/scale` changes, of each group its preferred version first. */
export async function scalableKinds(client: ApiClient, signal?: AbortSignal): Promise<Resource[]> {
  const groups = await discover(client, RESOURCES.apiGroups, signal);
  return groups.flatMap(({ metadata, versions }) =>
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

/** Whether requests and limits of a running pod can be changed (`pods/resize`, Kubernetes 1.33 or newer). */
export async function canResizePods(client: ApiClient): Promise<boolean> {
  const groups = await discover(client, RESOURCES.coreGroup);
  return groups.some(({ versions }) =>
    versions.some(({ resources }) =>
      resources.some(
        ({ resource, subresources }) =>
          resource === RESOURCES.pods.plural &&
          subresources.some(({ subresource }) => subresource === "resize"),
      ),
    ),
  );
}
