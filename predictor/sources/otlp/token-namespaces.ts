import { forbidden } from "./refusal.ts";

/** What of a resource says whose it is. */
interface Owned {
  namespace?: string | undefined;
}

/**
 * Holds what a token sends to the namespaces it is for: resources that state none are of the only one it has.
 * @param namespaces absent: all
 * @throws Refusal 403
 */
export function keepToNamespaces(
  resources: Iterable<Owned>,
  namespaces: readonly string[] | undefined,
  what: "measurements" | "spans",
): void {
  if (namespaces === undefined) return;
  const [only, ...others] = namespaces;
  for (const resource of resources) {
    resource.namespace ??= others.length === 0 ? only : undefined;
    if (resource.namespace !== undefined && namespaces.includes(resource.namespace)) continue;
    const stated =
      resource.namespace === undefined ? "no namespace" : `namespace '${resource.namespace.slice(0, 63)}'`;
    throw forbidden(
      `${what} of ${stated} do not come with this token, which is for ${namespaces.slice(0, 8).join(", ")}; nothing was taken`,
    );
  }
}
