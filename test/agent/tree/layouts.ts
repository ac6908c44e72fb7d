import type { ContainerUse } from "./cgroup-text.ts";
import { v1Files, v2Files } from "./cgroup-text.ts";
import type { Files } from "./plant.ts";

/** A container as a node shows it, and what an agent must make of it. */
export interface LaidOut {
  readonly path: string;
  readonly id: string;
  readonly podUid: string;
  readonly qosClass?: "Guaranteed" | "Burstable" | "BestEffort";
  readonly runtime?: string;
}

export interface Layout {
  readonly name: string;
  readonly mode: "v1" | "v2" | "hybrid";
  readonly containers: readonly LaidOut[];
  /** Directories that are no containers: pause slices' parents, conmon scopes, units inside a container. */
  readonly others?: readonly string[];
  readonly cgroupRoots?: readonly string[];
}

const ID_A = "a".repeat(64);
const ID_B = "b".repeat(64);
const ID_C = "c".repeat(64);
const UID = "11111111-2222-4333-8444-555555555555";
const UID_IN_SLICE = UID.replaceAll("-", "_");
/** A static pod's uid in cgroup paths: the hash of its manifest. */
const STATIC = "0123456789abcdef0123456789abcdef";

export const LAYOUTS: readonly Layout[] = [
  {
    name: "v2, systemd driver, containerd",
    mode: "v2",
    containers: [
      {
        path: `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${UID_IN_SLICE}.slice/cri-containerd-${ID_A}.scope`,
        id: ID_A,
        podUid: UID,
        qosClass: "Burstable",
        runtime: "containerd",
      },
      {
        path: `/kubepods.slice/kubepods-pod${STATIC}.slice/cri-containerd-${ID_B}.scope`,
        id: ID_B,
        podUid: STATIC,
        qosClass: "Guaranteed",
        runtime: "containerd",
      },
    ],
    others: [
      "/system.slice/ssh.service",
      `/kubepods.slice/kubepods-pod${STATIC}.slice/cri-containerd-${ID_B}.scope/init.scope`,
      `/kubepods.slice/kubepods-pod${STATIC}.slice/cri-containerd-${ID_B}.scope/system.slice`,
    ],
  },
  {
    name: "v2, cgroupfs driver",
    mode: "v2",
    containers: [
      {
        path: `/kubepods/besteffort/pod${UID}/${ID_A}`,
        id: ID_A,
        podUid: UID,
        qosClass: "BestEffort",
      },
      { path: `/kubepods/pod${STATIC}/${ID_B}`, id: ID_B, podUid: STATIC, qosClass: "Guaranteed" },
    ],
  },
  {
    name: "v2, systemd driver, CRI-O",
    mode: "v2",
    containers: [
      {
        path: `/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod${UID_IN_SLICE}.slice/crio-${ID_A}.scope`,
        id: ID_A,
        podUid: UID,
        qosClass: "BestEffort",
        runtime: "cri-o",
      },
    ],
    others: [
      `/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod${UID_IN_SLICE}.slice/crio-conmon-${ID_A}.scope`,
      `/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod${UID_IN_SLICE}.slice/crio-${ID_A}.scope/container`,
    ],
  },
  {
    name: "v2, nested in kind",
    mode: "v2",
    containers: [
      {
        path: `/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod${UID_IN_SLICE}.slice/cri-containerd-${ID_A}.scope`,
        id: ID_A,
        podUid: UID,
        qosClass: "Burstable",
        runtime: "containerd",
      },
    ],
  },
  {
    name: "v2, a kind node seen from its host",
    mode: "v2",
    containers: [
      {
        path: `/system.slice/docker-${ID_C}.scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod${UID_IN_SLICE}.slice/cri-containerd-${ID_A}.scope`,
        id: ID_A,
        podUid: UID,
        qosClass: "Guaranteed",
        runtime: "containerd",
      },
    ],
  },
  {
    name: "v2, k3s",
    mode: "v2",
    containers: [
      {
        path: `/k3s/kubepods/burstable/pod${UID}/${ID_A}`,
        id: ID_A,
        podUid: UID,
        qosClass: "Burstable",
      },
    ],
  },
  {
    name: "v2, mixed drivers with flat directories",
    mode: "v2",
    containers: [
      {
        path: `/kubepods-burstable-pod${UID_IN_SLICE}.slice:cri-containerd:${ID_A}`,
        id: ID_A,
        podUid: UID,
        qosClass: "Burstable",
        runtime: "containerd",
      },
    ],
  },
  {
    name: "v1, systemd driver, docker",
    mode: "v1",
    containers: [
      {
        path: `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${UID_IN_SLICE}.slice/docker-${ID_A}.scope`,
        id: ID_A,
        podUid: UID,
        qosClass: "Burstable",
        runtime: "docker",
      },
    ],
  },
  {
    name: "hybrid, cgroupfs driver",
    mode: "hybrid",
    containers: [{ path: `/kubepods/pod${UID}/${ID_A}`, id: ID_A, podUid: UID, qosClass: "Guaranteed" }],
  },
  {
    name: "hybrid, a root of one's own",
    mode: "hybrid",
    containers: [{ path: "/tradewind-local-77/podhotel-1/search-1", id: "search-1", podUid: "hotel-1" }],
    cgroupRoots: ["/tradewind-local-77"],
  },
];

/** The files of a layout, every container with the same use. */
export function layoutFiles({ mode, containers, others = [] }: Layout, use: ContainerUse): Files {
  const files: Record<string, string> = {};
  const add = (path: string): void => {
    Object.assign(
      files,
      mode === "v2" ? v2Files(`cgroup${path}`, use) : v1Files("cgroup", path, use, mode === "hybrid"),
    );
  };
  if (mode === "v2") files["cgroup/cgroup.controllers"] = "cpuset cpu io memory pids\n";
  if (mode === "hybrid") files["cgroup/unified/cgroup.procs"] = "";
  for (const { path } of containers) add(path);
  for (const path of others) add(path);
  return files;
}
