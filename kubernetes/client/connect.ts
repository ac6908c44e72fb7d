import { readFileSync } from "node:fs";
import { join } from "node:path";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { Connection } from "./connection.ts";
import { inClusterConnection, SERVICE_ACCOUNT_FOLDER } from "./in-cluster.ts";
import type { PodEnvironment } from "./in-cluster.ts";
import type * as Kubeconfig from "./kubeconfig.ts";

export interface ConnectOptions {
  /** A kubeconfig file; without one the pod's service account is used, else the user's own kubeconfig. */
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly environment: PodEnvironment & Readonly<Record<string, string | undefined>>;
  readonly serviceAccountFolder?: string;
}

/**
 * Finds the API server. A kubeconfig is read by the Kubernetes client library, which is loaded only then: it costs a
 * second and 55 MiB, which a pod with its mounted token can do without.
 * @throws TradewindError `invalid-kubeconfig`
 */
export async function connect(options: ConnectOptions): Promise<Connection> {
  const { kubeconfig, context, environment } = options;
  if (kubeconfig === undefined && context === undefined) {
    const folder = options.serviceAccountFolder ?? SERVICE_ACCOUNT_FOLDER;
    const inside = inClusterConnection(environment, podNamespace(folder), folder);
    if (inside !== undefined) return inside;
  }
  const { connectionOf, readKubeconfig } = await kubeconfigReader();
  return connectionOf(readKubeconfig(kubeconfig, context), environment);
}

/** Images for pods leave the library out. */
async function kubeconfigReader(): Promise<typeof Kubeconfig> {
  try {
    return await import("./kubeconfig.ts");
  } catch (error) {
    throw new TradewindError(
      "invalid-kubeconfig",
      "kubeconfigs cannot be read here: @kubernetes/client-node is not installed; run in a pod with its service account",
      { cause: error },
    );
  }
}

function podNamespace(folder: string): string {
  try {
    const text = readFileSync(join(folder, "namespace"), "utf8").trim();
    if (text !== "") return text;
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return "default";
    throw new TradewindError("kubernetes-credentials", `cannot read ${join(folder, "namespace")}`, {
      cause: error,
    });
  }
  return "default";
}
