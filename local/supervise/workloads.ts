import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { replaceFile } from "@tradewind/core/process/state-file.ts";
import type { ServiceState } from "../application/fleet.ts";

/** Namespace of everything the local platform runs. */
export const NAMESPACE = "local";

/** The fleet as a workload source describes it: a service is a Deployment, a replica a pod with one container. */
export function workloadListOf(states: readonly ServiceState[], node: string, nowMs: number): WorkloadList {
  return {
    schema: WORKLOADS_SCHEMA,
    observedAtMs: nowMs,
    workloads: states.map(({ definition, replicasWanted, ready, version }) => ({
      namespace: NAMESPACE,
      kind: "Deployment",
      name: definition.name,
      service: definition.name,
      replicasWanted,
      replicasReady: ready.length,
      revision: String(version),
      pods: ready.map(({ identity, pid, startedAtMs, readyAtMs, limits }) => ({
        uid: identity.podUid,
        name: identity.podName,
        node,
        ready: true,
        revision: String(identity.version),
        startedAtMs,
        readyAtMs,
        containers: [
          {
            id: identity.containerId,
            name: definition.name,
            startedAtMs,
            pid,
            cpuRequestCores: limits.cpuCores,
            cpuLimitCores: limits.cpuCores,
            memoryRequestBytes: limits.memoryBytes,
            memoryLimitBytes: limits.memoryBytes,
          },
        ],
      })),
    })),
  };
}

/** Keeps the workloads file current: replaced as a whole, the newest state last, however fast the changes come. */
export interface WorkloadsFile {
  update(): void;
  /** Resolves when the file holds the last update. */
  flush(): Promise<void>;
}

export function createWorkloadsFile(
  path: string,
  current: () => WorkloadList,
  onError: (error: unknown) => void,
): WorkloadsFile {
  let writing: Promise<void> = Promise.resolve();
  let isQueued = false;
  const replaceAfter = async (earlier: Promise<void>): Promise<void> => {
    await earlier;
    isQueued = false;
    await replaceFile(path, JSON.stringify(current()));
  };
  return {
    update() {
      if (isQueued) return;
      isQueued = true;
      writing = replaceAfter(writing).catch(onError);
    },
    flush: async () => writing,
  };
}
