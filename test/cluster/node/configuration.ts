import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PAUSE } from "./images/build.ts";
import { NETWORK } from "./network.ts";

/** Older CNI plugins, as Debian has them, know this version. */
const CNI_VERSION = "0.4.0";

/** What containerd, the CNI plugins, the kubelet and kube-proxy are to do, as files in the node's folder. */
export async function writeConfiguration(folder: string, kubeconfig: object): Promise<void> {
  await mkdir(join(folder, "cni"), { recursive: true });
  const files: Readonly<Record<string, object | string>> = {
    "containerd.toml": CONTAINERD,
    "cni/10-pods.conflist": CNI,
    "kubeconfig.json": kubeconfig,
    "resolv.conf": "",
    "kubelet.json": kubelet(folder),
    "kube-proxy.json": kubeProxy(folder),
  };
  for (const [name, content] of Object.entries(files)) {
    const text = typeof content === "string" ? content : JSON.stringify(content, undefined, 2);
    await writeFile(join(folder, name), text);
  }
}

const CONTAINERD = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE}"
  # Without CAP_SYS_RESOURCE nobody may lower oom_score_adj, and no pod would start.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`;

const CNI = {
  cniVersion: CNI_VERSION,
  name: "pods",
  plugins: [
    {
      type: "bridge",
      bridge: "cni0",
      isGateway: true,
      hairpinMode: true,
      ipam: {
        type: "host-local",
        ranges: [[{ subnet: NETWORK.pods }]],
        routes: [{ dst: "0.0.0.0/0" }],
      },
    },
    { type: "portmap", capabilities: { portMappings: true } },
  ],
};

const kubelet = (folder: string): object => ({
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  // Its port is reached by this machine and the pods of a test, over a cable that has no other end.
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: "AlwaysAllow" },
  // Machines without systemd, and with the older cgroups, will do.
  cgroupDriver: "cgroupfs",
  failCgroupV1: false,
  clusterDomain: "cluster.local",
  clusterDNS: [NETWORK.dns],
  resolvConf: join(folder, "resolv.conf"),
  containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
  failSwapOn: false,
  // Images cannot be pulled again, and the machine's disk is not the node's alone.
  imageGCHighThresholdPercent: 100,
  evictionHard: { "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
});

const kubeProxy = (folder: string): object => ({
  apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
  kind: "KubeProxyConfiguration",
  clientConnection: { kubeconfig: join(folder, "kubeconfig.json") },
  mode: "iptables",
  clusterCIDR: NETWORK.pods,
  hostnameOverride: "node-1",
  metricsBindAddress: "127.0.0.1:10249",
  // The limits of connection tracking are the machine's.
  conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
});
