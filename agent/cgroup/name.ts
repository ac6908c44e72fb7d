/** Quality of service class, as Kubernetes writes it in a cgroup path. */
export type QosClass = "Guaranteed" | "Burstable" | "BestEffort";

/** What the name of a cgroup directory says. */
export type CgroupName =
  /** A folder of pods: `kubepods`, `kubepods-burstable.slice`, `besteffort`. */
  | { readonly kind: "slice" }
  | { readonly kind: "pod"; readonly uid: string }
  | { readonly kind: "container"; readonly id: string; readonly runtime: string | undefined }
  /** A container in a flat directory beside the slices: `kubepods-burstable-podUID.slice:cri-containerd:ID`. */
  | { readonly kind: "flat"; readonly uid: string; readonly id: string; readonly runtime: string }
  /** Not a workload: conmon scopes, systemd units inside a container. */
  | { readonly kind: "other" };

const OTHER: CgroupName = { kind: "other" };
const SLICE: CgroupName = { kind: "slice" };
const POD = /(?:^|-)pod([A-Za-z0-9][A-Za-z0-9_-]{0,62})(\.slice)?$/;
const FLAT = /^(.{1,200}\.slice):([a-z-]{1,32}):([0-9a-f]{12,64})$/;
const RUNTIME_PREFIX = /^(?:(cri-containerd|crio|docker|libpod|pouch|containerd)-(?!conmon-)|(kata)_)/;
const CONMON = /^(?:crio|libpod)-conmon-/;
const RUNTIMES: Readonly<Record<string, string>> = {
  "cri-containerd": "containerd",
  containerd: "containerd",
  crio: "cri-o",
  kata: "kata",
  docker: "docker",
  libpod: "podman",
  pouch: "pouch",
};
const CONTAINER_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/;
const SYSTEMD_UNIT = /\.(?:slice|service|mount|socket|swap|scope)$/;

/** Directories that hold pods: kubelet's roots under both drivers, nested ones (kind, k3s) with a parent's prefix. */
export function isKubepods(name: string): boolean {
  return /(?:^|-)kubepods(?:\.slice)?$/.test(name);
}

/**
 * A directory under a root of pods.
 * @param inPod whether its parent is a pod
 */
export function classify(name: string, inPod: boolean): CgroupName {
  const flat = FLAT.exec(name);
  if (flat !== null) {
    const pod = podOf(flat[1] ?? "");
    const runtime = flat[2] ?? "";
    return pod === undefined
      ? OTHER
      : { kind: "flat", uid: pod, id: flat[3] ?? "", runtime: RUNTIMES[runtime] ?? runtime };
  }
  if (inPod) return containerOf(name);
  const uid = podOf(name);
  if (uid !== undefined) return { kind: "pod", uid };
  return SYSTEMD_UNIT.test(name) && !name.endsWith(".slice") ? OTHER : SLICE;
}

/** The pod's uid; systemd slices write its dashes as underscores. Static pods have a hash of 32 digits. */
function podOf(name: string): string | undefined {
  const match = POD.exec(name);
  if (match?.[1] === undefined) return undefined;
  return match[2] === undefined ? match[1] : match[1].replaceAll("_", "-");
}

function containerOf(name: string): CgroupName {
  if (CONMON.test(name)) return OTHER;
  const prefix = RUNTIME_PREFIX.exec(name);
  const scoped = name.endsWith(".scope");
  if (scoped && prefix === null) return OTHER;
  const bare = scoped ? name.slice(0, -".scope".length) : name;
  if (!scoped && SYSTEMD_UNIT.test(bare)) return OTHER;
  const id = prefix === null ? bare : bare.slice(prefix[0].length);
  const runtime = RUNTIMES[prefix?.[1] ?? prefix?.[2] ?? ""];
  return CONTAINER_ID.test(id) ? { kind: "container", id, runtime } : OTHER;
}

/** The QoS class a path tells; undefined for pods outside a kubelet's root. */
export function qosOf(path: string): QosClass | undefined {
  if (/[/-]burstable(?:[./-]|$)/.test(path)) return "Burstable";
  if (/[/-]besteffort(?:[./-]|$)/.test(path)) return "BestEffort";
  return /(?:^|[/-])kubepods(?:[./-]|$)/.test(path) ? "Guaranteed" : undefined;
}
