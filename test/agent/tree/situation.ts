import type { ContainerUse } from "./cgroup-text.ts";
import type { Layout } from "./layouts.ts";
import { LAYOUTS, layoutFiles } from "./layouts.ts";
import { nodeFiles, QUIET_NODE } from "./node.ts";
import type { NodeState } from "./node.ts";
import type { Files } from "./plant.ts";

/** The layout most tests run on: cgroup v2, systemd driver, containerd; two pods of one container. */
export const V2: Layout = LAYOUTS[0]!;

export const USE: ContainerUse = {
  cpuSeconds: 100,
  cpuLimitCores: 0.5,
  throttledPeriods: 7,
  throttledSeconds: 0.4,
  cpuWaitSeconds: 2,
  memoryBytes: 300 * 1024 * 1024,
  inactiveFileBytes: 100 * 1024 * 1024,
  memoryLimitBytes: 512 * 1024 * 1024,
  memoryWaitSeconds: 0.25,
  majorFaults: 12,
  refaults: 34,
  oomKills: 1,
  readBytes: 12_288,
  writtenBytes: 4096,
  ioWaitSeconds: 0.5,
};

/** All files of a node at one time. */
export function situation(layout: Layout, node: Partial<NodeState>, use: Partial<ContainerUse>): Files {
  return { ...nodeFiles({ ...QUIET_NODE, ...node }), ...layoutFiles(layout, { ...USE, ...use }) };
}
