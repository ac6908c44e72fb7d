import type { Application } from "@tradewind/core/contract/application.ts";
import type { ConfiguredName } from "./service-name.ts";

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
