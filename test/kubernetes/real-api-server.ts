import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { accessSync, constants, createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Connection } from "@tradewind/kubernetes/client/connection.ts";
import { BUILD_COMMAND, builtPrograms } from "../cluster/programs.ts";
import { freePort } from "../free-port.ts";
import { waitUntil } from "../wait-until.ts";

/**
 * The folder with `kube-apiserver` and `etcd`: `KUBEBUILDER_ASSETS`, as controller tests everywhere find it, else what
 * `npm run cluster -- build` made. Undefined after a loud word.
 */
export function kubebuilderAssets(): string | undefined {
  const named = process.env["KUBEBUILDER_ASSETS"];
  const folder = named ?? builtPrograms();
  try {
    for (const name of ["kube-apiserver", "etcd"]) accessSync(join(folder ?? "", name), constants.X_OK);
    if (folder !== undefined) return folder;
  } catch {
    // Said below.
  }
  const missing =
    named === undefined
      ? "kube-apiserver and etcd were not built"
      : `KUBEBUILDER_ASSETS=${named} has not both`;
  process.stderr.write(
    `\n${missing}: tests against a real API server are SKIPPED; '${BUILD_COMMAND}' builds them\n`,
  );
  return undefined;
}

export interface RealApiServer {
  readonly url: string;
  readonly folder: string;
  /** A file for programs that want one; its user may do everything. */
  readonly kubeconfig: string;
  /** Certificate that the server made for itself, and the key that signs tokens of service accounts. */
  readonly ca: string;
  readonly caFile: string;
  readonly accountKeyFile: string;
  connection(user: keyof typeof TOKENS): Connection;
  /** Starts a further program whose log is kept in the folder, and which ends with the server. */
  start(program: string, args: readonly string[], env?: Readonly<Record<string, string>>): ChildProcess;
  stop(): Promise<void>;
}

/** Users by token: an administrator, and those who have what RBAC gives to `User tradewind-…`. */
const TOKENS = { admin: "admin-token", predictor: "predictor-token", scaler: "scaler-token" } as const;

/** Who reaches the server. */
export interface Reach {
  /** Of this machine. */
  readonly address: string;
  readonly serviceRange: string;
  /** Whether pods run: each gets its account's token then, which needs controllers. */
  readonly hasPods: boolean;
}

const LOOPBACK: Reach = { address: "127.0.0.1", serviceRange: "10.0.0.0/24", hasPods: false };

/**
 * Starts etcd on loopback and kube-apiserver, on free ports, with RBAC.
 * @param flags further ones of kube-apiserver
 */
export async function startRealApiServer(
  assets: string,
  flags: readonly string[] = [],
  { address, hasPods, serviceRange }: Reach = LOOPBACK,
): Promise<RealApiServer> {
  const folder = await mkdtemp(join(tmpdir(), "tradewind-apiserver-"));
  const [client, peer, secure] = [await freePort(), await freePort(), await freePort()];
  const { privateKey } = generateKeyPairSync("rsa", {
    modulusLength: 2_048,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs1", format: "pem" },
  });
  const accountKeyFile = join(folder, "service-account.key");
  await writeFile(accountKeyFile, privateKey);
  await writeFile(
    join(folder, "tokens.csv"),
    [
      `${TOKENS.admin},admin,admin,"system:masters"`,
      `${TOKENS.predictor},tradewind-predictor,tradewind-predictor`,
      `${TOKENS.scaler},tradewind-scaler,tradewind-scaler\n`,
    ].join("\n"),
  );
  const children: ChildProcess[] = [];
  const start: RealApiServer["start"] = (program, args, env) => {
    const log = createWriteStream(join(folder, `${basename(program)}.log`));
    const child = spawn(program, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    child.stdout.pipe(log, { end: false });
    child.stderr.pipe(log, { end: false });
    children.push(child);
    return child;
  };
  const stop = async (): Promise<void> => {
    for (const child of children.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }
    await rm(folder, { recursive: true, force: true });
  };
  try {
    start(join(assets, "etcd"), [
      `--data-dir=${join(folder, "etcd")}`,
      `--listen-client-urls=http://127.0.0.1:${client}`,
      `--advertise-client-urls=http://127.0.0.1:${client}`,
      `--listen-peer-urls=http://127.0.0.1:${peer}`,
      `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
      `--initial-cluster=default=http://127.0.0.1:${peer}`,
      "--unsafe-no-fsync",
    ]);
    const server = start(join(assets, "kube-apiserver"), [
      `--etcd-servers=http://127.0.0.1:${client}`,
      `--cert-dir=${join(folder, "certificates")}`,
      `--bind-address=${address}`,
      `--advertise-address=${address}`,
      `--secure-port=${secure}`,
      `--service-cluster-ip-range=${serviceRange}`,
      `--service-account-key-file=${accountKeyFile}`,
      `--service-account-signing-key-file=${accountKeyFile}`,
      "--service-account-issuer=https://127.0.0.1",
      `--token-auth-file=${join(folder, "tokens.csv")}`,
      "--authorization-mode=RBAC",
      ...(hasPods ? [] : ["--disable-admission-plugins=ServiceAccount"]),
      "--watch-cache-sizes=pods#100",
      ...flags,
    ]);
    const url = `https://${address}:${secure}`;
    const caFile = join(folder, "certificates", "apiserver.crt");
    let ca = "";
    const connection = (user: keyof typeof TOKENS): Connection => ({
      server: url,
      namespace: "tradewind",
      credentials: () =>
        Promise.resolve({
          headers: { authorization: `Bearer ${TOKENS[user]}` },
          tls: { ca },
          generation: "1",
        }),
    });
    await waitUntil(
      async () => {
        if (server.exitCode !== null) {
          const log = await readFile(join(folder, "kube-apiserver.log"), "utf8");
          throw new Error(`kube-apiserver ended: ${log.slice(-2_000)}`);
        }
        ca = await readFile(caFile, "utf8").catch(() => "");
        return ca !== "" && (await isReady(connection("admin")));
      },
      90_000,
      "kube-apiserver is ready",
    );
    const kubeconfig = join(folder, "kubeconfig.json");
    await writeFile(kubeconfig, JSON.stringify(kubeconfigFor(url, ca, TOKENS.admin)));
    return { url, folder, kubeconfig, ca, caFile, accountKeyFile, connection, start, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function isReady(connection: Connection): Promise<boolean> {
  const { Agent, request } = await import("undici");
  const { headers, tls } = await connection.credentials(false);
  const dispatcher = new Agent({ connect: tls });
  try {
    const response = await request(`${connection.server}/readyz`, { dispatcher, headers });
    return (await response.body.text()) === "ok";
  } catch {
    return false;
  } finally {
    await dispatcher.destroy();
  }
}

const kubeconfigFor = (server: string, ca: string, token: string): unknown => ({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "tests",
  contexts: [{ name: "tests", context: { cluster: "tests", user: "tester" } }],
  clusters: [
    {
      name: "tests",
      cluster: { server, "certificate-authority-data": Buffer.from(ca).toString("base64") },
    },
  ],
  users: [{ name: "tester", user: { token } }],
});
