import type { Application } from "@tradewind/core/contract/application.ts";
import type { ConfiguredName } from "./service-name.ts";

/** The names that any of several applications gives its workloads; each knows those of its own namespace only. */
export function allConfiguredNames(
  applications: readonly Pick<Application, "namespace" | "services">[],
): ConfiguredName {
  const all = applications.map(configuredNames);
  return (workload) => {
    for (const nameOf of all) {
      const name = nameOf(workload);
      if (name !== undefined) return name;
    }
    return undefined;
  };
}

/** The names that an application gives its workloads by `services[].workload`. */
export function configuredNames(
  application: Pick<Application, "namespace" | "services"> | undefined,
): ConfiguredName {
  const names = new Map<string, string>();
  for (const { name, workload } of application?.services ?? []) {
    if (workload !== undefined) names.set(`${workload.kind}/${workload.name}`, name);
  }
  return ({ kind, name, namespace }) =>
    namespace === application?.namespace ? names.get(`${kind}/${name}`) : undefined;
}
