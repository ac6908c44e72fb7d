/** Digits behind a separator at the end are a port. */
function withoutPort(name: string, separator: string): string {
  const from = name.lastIndexOf(separator);
  return from > 0 && /^[0-9]{1,5}$/.test(name.slice(from + 1, from + 7)) && name.length - from <= 6
    ? name.slice(0, from)
    : name;
}

/**
 * The workload's name where a mesh calls the service NAME.NAMESPACE, as Istio does unless told otherwise, or by its name in DNS, or
 * NAME_NAMESPACE_svc_PORT, as Kuma does, or NAMESPACE/NAME, as Cilium does.
 */
export function meshlessName(service: string, namespace: string): string {
  if (service.length > namespace.length + 1 && service.startsWith(`${namespace}/`))
    return service.slice(namespace.length + 1);
  const host = withoutPort(service, ":");
  const inside = host.indexOf(`.${namespace}.svc.`);
  if (inside > 0) return host.slice(0, inside);
  const portless = withoutPort(host, "_");
  for (const suffix of [`.${namespace}`, `.${namespace}.svc`, `_${namespace}_svc`]) {
    const name = suffix.startsWith("_") ? portless : host;
    if (name.length > suffix.length && name.endsWith(suffix)) return name.slice(0, -suffix.length);
  }
  return service;
}
