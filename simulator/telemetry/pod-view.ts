import type { Shown } from "./metrics.ts";
import type { PodView, SidecarView } from "../world.ts";
import type { Pod } from "../cluster/pod.ts";

/** @param startMs of the run, since the Unix epoch */
export function podView(pod: Pod, shown: Shown | undefined, startMs: number): PodView {
  const { createdMs, model, name, node, oomKills, phase, readyMs, size } = pod;
  return {
    name,
    service: model.name,
    ...(node !== undefined && { node: node.name }),
    phase,
    createdAtMs: startMs + createdMs,
    ...(readyMs !== undefined && { readyAtMs: startMs + readyMs }),
    cpuRequestCores: size.cpuRequestCores,
    ...(size.cpuLimitCores !== undefined && { cpuLimitCores: size.cpuLimitCores }),
    memoryRequestBytes: size.memoryRequestBytes,
    ...(size.memoryLimitBytes !== undefined && { memoryLimitBytes: size.memoryLimitBytes }),
    ...(shown !== undefined && {
      cpuUsageCores: shown.mainCores,
      memoryWorkingSetBytes: shown.memoryBytes,
    }),
    oomKills,
    sidecars: sidecars(pod, shown),
  };
}

function sidecars({ model: { sidecar } }: Pod, shown: Shown | undefined): SidecarView[] {
  if (sidecar === undefined) return [];
  const { cpuLimitCores, cpuRequestCores, memoryBytes, memoryLimitBytes, memoryRequestBytes, name } = sidecar;
  return [
    {
      name,
      cpuRequestCores,
      ...(cpuLimitCores !== undefined && { cpuLimitCores }),
      memoryRequestBytes,
      ...(memoryLimitBytes !== undefined && { memoryLimitBytes }),
      ...(shown?.sidecarCores !== undefined && {
        cpuUsageCores: shown.sidecarCores,
        memoryWorkingSetBytes: memoryBytes,
      }),
    },
  ];
}
