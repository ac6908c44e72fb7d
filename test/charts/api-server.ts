import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitUntil } from "../wait-until.ts";

/** Folder with `kube-apiserver` and `etcd`, by the field's convention; undefined after a loud word. */
export function apiServerBinaries(): string | undefined {
  const folder = process.env["KUBEBUILDER_ASSETS"];
  if (folder !== undefined && existsSync(join(folder, "kube-apiserver"))) return folder;
  process.stderr.write("\nKUBEBUILDER_ASSETS names no kube-apiserver: the tests that need it are SKIPPED\n");
  return undefined;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: { message?: string; resources?: { name: string; kind: string; namespaced: boolean }[] };
  readonly warnings: string;
}

export interface RealApiServer {
  /** A file for clients that want one. */
  readonly kubeconfig: string;
  call(method: string, path: string, body?: unknown): Promise<ApiAnswer>;
  stop(): Promise<void>;
}

const TOKEN = "chart-tests";
const START_MS = 90_000;

/** A port that was free a moment ago: neither program can be asked which one it took. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Starts etcd and kube-apiserver on loopback, with one user who may do everything. */
export async function startApiServer(folder: string): Promise<RealApiServer> {
  const directory = mkdtempSync(join(tmpdir(), "tradewind-api-"));
  const [client, peer, secure] = await Promise.all([freePort(), freePort(), freePort()]);
  const key = join(directory, "accounts.key");
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  writeFileSync(key, privateKey.export({ type: "pkcs8", format: "pem" }));
  const tokens = join(directory, "tokens.csv");
  writeFileSync(tokens, `${TOKEN},tester,tester,system:masters\n`);
  const running: ChildProcess[] = [];
  const start = (name: string, ...flags: readonly string[]): void => {
    running.push(spawn(join(folder, name), flags, { stdio: "ignore" }));
  };
  start(
    "etcd",
    `--data-dir=${join(directory, "etcd")}`,
    `--listen-client-urls=http://127.0.0.1:${client}`,
    `--advertise-client-urls=http://127.0.0.1:${client}`,
    `--listen-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-cluster=default=http://127.0.0.1:${peer}`,
    "--unsafe-no-fsync",
  );
  start(
    "kube-apiserver",
    `--etcd-servers=http://127.0.0.1:${client}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--secure-port=${secure}`,
    `--cert-dir=${join(directory, "certificates")}`,
    `--token-auth-file=${tokens}`,
    `--service-account-key-file=${key}`,
    `--service-account-signing-key-file=${key}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    "--service-cluster-ip-range=10.0.0.0/24",
    "--authorization-mode=RBAC",
    "--disable-admission-plugins=ServiceAccount",
  );
  const stop = async (): Promise<void> => {
    for (const child of running.toReversed()) {
      if (child.exitCode === null && child.signalCode === null) {
        const gone = once(child, "exit");
        child.kill("SIGKILL");
        await gone;
      }
    }
    rmSync(directory, { recursive: true, force: true });
  };
  const call = (method: string, path: string, body?: unknown): Promise<ApiAnswer> =>
    ask(secure, method, path, body);
  try {
    await waitUntil(async () => {
      if (running.some(({ exitCode }) => exitCode !== null)) throw new Error("etcd or kube-apiserver ended");
      return call("GET", "/readyz").then(
        ({ status }) => status === 200,
        () => false,
      );
    }, START_MS);
  } catch (error) {
    await stop();
    throw error;
  }
  const kubeconfig = join(directory, "kubeconfig.json");
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigFor(secure)));
  return { call, kubeconfig, stop };
}

const kubeconfigFor = (port: number): unknown => ({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "tests",
  contexts: [{ name: "tests", context: { cluster: "tests", user: "tester" } }],
  clusters: [
    { name: "tests", cluster: { server: `https://127.0.0.1:${port}`, "insecure-skip-tls-verify": true } },
  ],
  users: [{ name: "tester", user: { token: TOKEN } }],
});

async function ask(port: number, method: string, path: string, body: unknown): Promise<ApiAnswer> {
  const outgoing = request({
    host: "127.0.0.1",
    port,
    path,
    method,
    // The server made its certificate for itself when it started.
    rejectUnauthorized: false,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      "content-type": "application/json",
      accept: "application/json",
    },
    timeout: 20_000,
  });
  outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return {
    status: incoming.statusCode ?? 0,
    body: text.startsWith("{") ? (JSON.parse(text) as ApiAnswer["body"]) : { message: text },
    warnings: incoming.headers["warning"] ?? "",
  };
}
