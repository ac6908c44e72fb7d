import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { ApiCredentials, Connection } from "./connection.ts";

export const SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";
const MAX_FILE_BYTES = 1_048_576;

/** The part of the environment that kubelet gives every container. */
export interface PodEnvironment {
  readonly KUBERNETES_SERVICE_HOST?: string | undefined;
  readonly KUBERNETES_SERVICE_PORT?: string | undefined;
}

/** A file that is read again when it was replaced: kubelet renews tokens and certificates by swapping a link. */
class FollowedFile {
  readonly path: string;
  fingerprint = "";
  private content = "";

  constructor(path: string) {
    this.path = path;
  }

  async read(anew: boolean): Promise<string> {
    try {
      const { ino, mtimeMs, size } = await stat(this.path);
      if (size > MAX_FILE_BYTES) throw new Error(`larger than ${MAX_FILE_BYTES} bytes`);
      const fingerprint = `${ino}:${mtimeMs}:${size}`;
      if (anew || fingerprint !== this.fingerprint) {
        this.content = await readFile(this.path, "utf8");
        this.fingerprint = fingerprint;
      }
      return this.content;
    } catch (error) {
      throw new TradewindError(
        "kubernetes-credentials",
        `cannot read ${this.path}; is the service account's token mounted (automountServiceAccountToken)?`,
        { cause: error },
      );
    }
  }
}

/** The API server as a pod sees it, with the token that is mounted into it. Undefined outside of a pod. */
export function inClusterConnection(
  environment: PodEnvironment,
  namespace: string,
  folder = SERVICE_ACCOUNT_FOLDER,
): Connection | undefined {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  if (host === undefined || host === "" || port === undefined || port === "") return undefined;
  const token = new FollowedFile(join(folder, "token"));
  const authority = new FollowedFile(join(folder, "ca.crt"));
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    namespace,
    credentials: async (refused): Promise<ApiCredentials> => {
      const [bearer, ca] = await Promise.all([token.read(refused), authority.read(false)]);
      return {
        headers: { authorization: `Bearer ${bearer.trim()}` },
        tls: { ca },
        generation: authority.fingerprint,
      };
    },
  };
}
