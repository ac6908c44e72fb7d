import type { RequestOptions } from "node:https";
import { KubeConfig } from "@kubernetes/client-node";
import type { Cluster } from "@kubernetes/client-node";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import type { ApiCredentials, Connection } from "./connection.ts";

/** What the library makes of no kubeconfig at all. */
const NO_CLUSTER = "http://localhost:8080";

/** A kubeconfig whose current context names a cluster over https. */
export interface ReadKubeconfig {
  readonly config: KubeConfig;
  readonly cluster: Cluster;
}

/**
 * @param path the file; undefined for `$KUBECONFIG` or `~/.kube/config`
 * @throws TradewindError `invalid-kubeconfig`
 */
export function readKubeconfig(path: string | undefined, context: string | undefined): ReadKubeconfig {
  const what = path ?? "the kubeconfig";
  const config = new KubeConfig();
  try {
    if (path === undefined) config.loadFromDefault();
    else config.loadFromFile(path);
    if (context !== undefined) config.setCurrentContext(context);
  } catch (error) {
    throw new TradewindError("invalid-kubeconfig", `${what} cannot be read`, { cause: error });
  }
  const cluster = config.getCurrentCluster();
  if (cluster === null) {
    throw new TradewindError(
      "invalid-kubeconfig",
      `${what} has no cluster for context '${config.getCurrentContext() ?? ""}'; kubectl config get-contexts lists them`,
    );
  }
  if (!cluster.server.startsWith("https:")) {
    throw new TradewindError(
      "invalid-kubeconfig",
      path === undefined && cluster.server === NO_CLUSTER
        ? "there is no kubeconfig: set KUBECONFIG, write ~/.kube/config, or name one with --kubeconfig"
        : `${what}: the server ${cluster.server} must be an https:// address`,
    );
  }
  return { config, cluster };
}

/** The API server that a kubeconfig names, with whatever it takes to log in: certificates, tokens, exec plugins, OIDC. */
export function connectionOf({ cluster, config }: ReadKubeconfig): Connection {
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace;
  return {
    server: cluster.server,
    namespace: namespace ?? "default",
    credentials: async () => credentialsOf(config, cluster.proxyUrl),
  };
}

type Options = RequestOptions & { headers?: Record<string, string>; auth?: string };

async function credentialsOf(config: KubeConfig, proxy: string | undefined): Promise<ApiCredentials> {
  const options: Options = {};
  try {
    await config.applyToHTTPSOptions(options as Parameters<KubeConfig["applyToHTTPSOptions"]>[0]);
  } catch (error) {
    throw new TradewindError(
      "kubernetes-credentials",
      `the kubeconfig's user cannot log in: ${describeError(error).slice(0, 300)}`,
      { cause: error },
    );
  }
  const { ca, cert, key, servername, rejectUnauthorized, auth } = options;
  const tls = Object.fromEntries(
    Object.entries({ ca, cert, key, servername, rejectUnauthorized }).filter(
      ([, value]) => value !== undefined && value !== null,
    ),
  ) as ApiCredentials["tls"];
  const basic = auth === undefined ? {} : { authorization: `Basic ${Buffer.from(auth).toString("base64")}` };
  const given = Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    headers: { ...basic, ...(Object.fromEntries(given) as Record<string, string>) },
    tls,
    proxy,
    generation: contentHash([tls, proxy ?? ""].map((part) => JSON.stringify(part))),
  };
}
