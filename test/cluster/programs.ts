import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** What is built. KEDA's own go.mod asks for Kubernetes 1.35 libraries, so that release is the API server's too. */
export const VERSIONS = {
  kubernetes: "1.35.4",
  keda: "2.20.2",
  etcd: "3.6.8",
  coredns: "1.14.2",
  vpa: "1.7.3",
} as const;

/** Programs of the control plane, as files in the folder that `builtPrograms` gives. */
export const PROGRAMS = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "keda-operator",
  "keda-adapter",
] as const;
export type Program = (typeof PROGRAMS)[number];

/** What a node needs beside containerd and runc, `kubectl` for whoever uses it, and the updater of the VPA. */
export const NODE_PROGRAMS = [
  "coredns",
  "kube-proxy",
  "kube-scheduler",
  "kubectl",
  "kubelet",
  "vpa-updater",
] as const;
export type NodeProgram = (typeof NODE_PROGRAMS)[number];

/** KEDA's own manifests, as folders of Kustomize, beside the programs of a node. */
export const MANIFESTS = "keda-manifests";

/** CustomResourceDefinitions of the Vertical Pod Autoscaler, beside the programs of a node. */
export const VPA_DEFINITIONS = "vpa-definitions.yaml";

/** KEDA's CustomResourceDefinitions, one JSON array, beside the programs. */
export const DEFINITIONS = "keda-definitions.json";

export const BUILD_COMMAND = "npm run cluster -- build";
export const NODE_COMMAND = "npm run cluster -- node";

/** Folder for everything that is built or runs: `TRADEWIND_CLUSTER_CACHE`, else `tradewind-cluster` in the user's cache. */
export function cacheFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const named = env["TRADEWIND_CLUSTER_CACHE"];
  if (named !== undefined && named !== "") return named;
  const caches = env["XDG_CACHE_HOME"];
  return join(
    caches === undefined || caches === "" ? join(homedir(), ".cache") : caches,
    "tradewind-cluster",
  );
}

/** Where a build puts the programs of these versions. */
export const programsFolder = (): string =>
  join(cacheFolder(), `kubernetes-${VERSIONS.kubernetes}-keda-${VERSIONS.keda}`);

/** Where a build puts the programs of a node. */
export const nodeProgramsFolder = (): string =>
  join(cacheFolder(), `node-${VERSIONS.kubernetes}-coredns-${VERSIONS.coredns}-vpa-${VERSIONS.vpa}`);

/** The folder with all programs; undefined where they were not built. */
export const builtPrograms = (): string | undefined => complete(programsFolder(), PROGRAMS, DEFINITIONS);

/** The folder with the programs of a node; undefined where they were not built. */
export const builtNodePrograms = (): string | undefined =>
  complete(nodeProgramsFolder(), NODE_PROGRAMS, MANIFESTS, VPA_DEFINITIONS);

function complete(folder: string, programs: readonly string[], ...beside: string[]): string | undefined {
  try {
    for (const name of programs) accessSync(join(folder, name), constants.X_OK);
    for (const name of beside) accessSync(join(folder, name), constants.R_OK);
    return folder;
  } catch {
    return undefined;
  }
}
