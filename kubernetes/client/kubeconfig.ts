import { existsSync, readFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import type { Cluster } from "@kubernetes/client-node";
import { parse } from "yaml";
import { z } from "zod";
import { describeError, TradewindError } from "@tradewind/core/values/errors.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import { ListOf } from "../objects/bounded.ts";
import type { ApiCredentials, Connection } from "./connection.ts";
import { environmentProxy } from "./environment-proxy.ts";

/** What the library makes of no kubeconfig at all. */
const NO_CLUSTER = "http://localhost:8080";

/** A kubeconfig whose current context names a cluster. */
export interface ReadKubeconfig {
  readonly config: KubeConfig;
  readonly cluster: Cluster;
  /** Who else its user acts as. */
  readonly impersonation: Readonly<Record<string, string[]>>;
}

const MOST_USERS = 10_000;

/** What the library does not read of a user that acts as somebody else. */
const Impersonating = z.object({
  users: ListOf(
    z.object({
      name: z.string(),
      user: z
        .object({
          "as-uid": z.string().optional(),
          "as-groups": z.array(z.string()).optional(),
          "as-user-extra": z.record(z.string(), z.array(z.string())).optional(),
        })
        .nullish(),
    }),
    MOST_USERS,
  ),
});

const kubeconfigFiles = (path: string | undefined): string[] =>
  path === undefined
    ? (process.env["KUBECONFIG"] ?? join(homedir(), ".kube", "config")).split(delimiter)
    : [path];

/** @throws TradewindError `invalid-kubeconfig`: who acts as somebody else must not act as more by mistake */
function usersIn(file: string): z.infer<typeof Impersonating>["users"] {
  try {
    return Impersonating.parse(parse(readFileSync(file, "utf8"))).users;
  } catch (error) {
    throw new TradewindError("invalid-kubeconfig", `the users of ${file} cannot be read`, { cause: error });
  }
}

/** Headers beside `Impersonate-User`, of the first file that has the user, as kubectl merges them. */
function impersonationOf(
  path: string | undefined,
  name: string | undefined,
): ReadKubeconfig["impersonation"] {
  for (const file of kubeconfigFiles(path)) {
    if (!existsSync(file)) continue;
    const found = usersIn(file).find((each) => each.name === name);
    if (found === undefined) continue;
    const { "as-groups": groups = [], "as-uid": uid, "as-user-extra": extras = {} } = found.user ?? {};
    return {
      ...(groups.length > 0 && { "impersonate-group": groups }),
      ...(uid !== undefined && { "impersonate-uid": [uid] }),
      ...Object.fromEntries(
        Object.entries(extras).map(([key, values]) => [
          `impersonate-extra-${encodeURIComponent(key.toLowerCase())}`,
          values,
        ]),
      ),
    };
  }
  return {};
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
  const isNone = path === undefined && cluster.server === NO_CLUSTER;
  if (isNone || !/^https?:\/\//.test(cluster.server.slice(0, 9))) {
    throw new TradewindError(
      "invalid-kubeconfig",
      isNone
        ? "there is no kubeconfig: set KUBECONFIG, write ~/.kube/config, or name one with --kubeconfig"
        : `${what}: the server ${cluster.server} must be an https:// or http:// address`,
    );
  }
  // Without TLS there is nothing to verify, and the library asks for it to be said.
  if (cluster.server.startsWith("http://")) Object.assign(cluster, { skipTLSVerify: true });
  return { config, cluster, impersonation: impersonationOf(path, config.getCurrentUser()?.name) };
}

/** The API server that a kubeconfig names, with whatever it takes to log in: certificates, tokens, exec plugins, OIDC. */
export function connectionOf(
  { cluster, config, impersonation }: ReadKubeconfig,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Connection {
  const proxy = proxyOf(cluster, environment);
  const namespace = config.getContextObject(config.getCurrentContext())?.namespace;
  return {
    server: cluster.server,
    namespace: namespace ?? "default",
    credentials: async () => {
      const credentials = await credentialsOf(config, proxy);
      return { ...credentials, headers: { ...credentials.headers, ...impersonation } };
    },
  };
}

/** @throws TradewindError `invalid-kubeconfig`: a way around a proxy that cannot be used would be a surprise */
function proxyOf(
  { proxyUrl, server }: Cluster,
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const proxy = proxyUrl ?? environmentProxy(new URL(server), environment);
  if (proxy === undefined || /^https?:\/\/./.test(proxy.slice(0, 10))) return proxy;
  const where = proxyUrl === undefined ? "the environment's proxy" : "the kubeconfig's proxy-url";
  throw new TradewindError("invalid-kubeconfig", `${where} must be an http:// or https:// address`);
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
