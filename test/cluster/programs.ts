import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** What is built. KEDA's own go.mod asks for Kubernetes 1.35 libraries, so that release is the API server's too. */
export const VERSIONS = { kubernetes: "1.35.4", keda: "2.20.2", etcd: "3.6.8" } as const;

/** Programs of the control plane, as files in the folder that `builtPrograms` gives. */
export const PROGRAMS = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "keda-operator",
  "keda-adapter",
] as const;
export type Program = (typeof PROGRAMS)[number];

/** KEDA's CustomResourceDefinitions, one JSON array, beside the programs. */
export const DEFINITIONS = "keda-definitions.json";

export const BUILD_COMMAND = "npm run cluster -- build";

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

/** The folder with all programs; undefined where they were not built. */
export function builtPrograms(): string | undefined {
  const folder = programsFolder();
  try {
    for (const name of PROGRAMS) accessSync(join(folder, name), constants.X_OK);
    accessSync(join(folder, DEFINITIONS), constants.R_OK);
    return folder;
  } catch {
    return undefined;
  }
}
