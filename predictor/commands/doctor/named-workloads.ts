import { readFile } from "node:fs/promises";
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { connect } from "@tradewind/kubernetes/client/connect.ts";
import { readCluster } from "@tradewind/kubernetes/init/read-cluster.ts";
import { configuredNames } from "@tradewind/kubernetes/workloads/configured-names.ts";
import { serviceNames } from "@tradewind/kubernetes/workloads/service-name.ts";
import { watchedNamespaces } from "../../sources/kubernetes/workloads.ts";
import type { NamedWorkload } from "./name-mapping.ts";
import type { DoctorOptions } from "./options.ts";

/**
 * What runs, and under which names its spans are looked for; undefined where nothing says what runs.
 * @throws TradewindError, ApiError or a system error where it cannot be read
 */
export async function namedWorkloads(
  { kubeconfig, timeoutSeconds, workloads }: DoctorOptions,
  application: Application | undefined,
): Promise<readonly NamedWorkload[] | undefined> {
  if (workloads === undefined) return undefined;
  const namespaces = watchedNamespaces(workloads, [application?.namespace ?? "default"]);
  if (namespaces === undefined) return fromFile(workloads);
  const connection = await connect({ kubeconfig, environment: process.env });
  const client = new ApiClient(connection, { deadlineMs: 1e3 * timeoutSeconds });
  try {
    const found: NamedWorkload[] = [];
    for (const namespace of namespaces) found.push(...(await fromNamespace(client, namespace, application)));
    return found;
  } finally {
    await client.close();
  }
}

async function fromFile(path: string): Promise<NamedWorkload[]> {
  const { workloads } = parseJsonWith(
    WorkloadList,
    await readFile(path, "utf8"),
    `the workloads file ${path}`,
  );
  return workloads.map(({ kind, name, namespace, pods, service }) => ({
    namespace,
    kind,
    name,
    service,
    pods: pods.flatMap((pod) => [pod.name, pod.uid]),
  }));
}

/** Pods are known by how their names begin: reading them takes rights that listening does not need. */
async function fromNamespace(
  client: ApiClient,
  namespace: string,
  application: Application | undefined,
): Promise<NamedWorkload[]> {
  const { found } = await readCluster(client, namespace);
  const names = serviceNames(found.workloads, configuredNames(application));
  return found.workloads.map(({ kind, name, uid }) => {
    const service = names.get(uid)?.service ?? name;
    return { namespace, kind, name, service, pods: [] };
  });
}
