/** How the CPU limit of replicas is kept: by the kernel's CFS bandwidth control, or by each replica itself. */
export interface Quota {
  readonly kind: "cgroup-v1" | "cgroup-v2" | "token-bucket";
  /** One line for people: what is used, and why not the real thing when it is emulated. */
  readonly description: string;
  /** Path of all containers below each cgroup mount, for example `/tradewind-local-42`; absent when emulated. */
  readonly cgroupPath?: string;
  /** Makes the place of one container. Unlimited until `limit`, so that a start costs what a start costs. */
  open(podUid: string, containerId: string): Promise<ContainerQuota>;
  /** Removes what is left. Safe to call twice. */
  close(): Promise<void>;
}

export interface ContainerQuota {
  /** Puts a process and all its threads under the limit. */
  admit(pid: number): Promise<void>;
  limit(cpuCores: number, memoryBytes: number): Promise<void>;
  /** Kills whatever is still inside and removes the place. */
  remove(): Promise<void>;
}

export const PREFIX = "tradewind-local-";
