import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { Resource } from "@tradewind/kubernetes/client/resources.ts";

const custom = (group: string, plural: string, kind: string): Resource => ({
  ...RESOURCES.applications,
  group,
  version: "v1",
  plural,
  kind,
});

/** Kinds of other projects that the chart writes; here any content passes for them. */
export const FOREIGN = [
  custom("monitoring.coreos.com", "podmonitors", "PodMonitor"),
  custom("monitoring.coreos.com", "prometheusrules", "PrometheusRule"),
  custom("monitoring.coreos.com", "servicemonitors", "ServiceMonitor"),
  custom("cert-manager.io", "certificates", "Certificate"),
  custom("cert-manager.io", "issuers", "Issuer"),
];

/** The CustomResourceDefinition of such a kind: it takes everything. */
export function definition({ group, kind, plural, version }: Resource): object {
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
}
