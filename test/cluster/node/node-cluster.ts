import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { startRealApiServer } from "../../kubernetes/real-api-server.ts";
import type { RealApiServer } from "../../kubernetes/real-api-server.ts";
import { waitUntil } from "../../wait-until.ts";
import { AGGREGATION, registerApi, SERVER_TLS } from "../control-plane.ts";
import { run } from "../build/run.ts";
import { serveMetrics } from "../metrics-server.ts";
import { writeConfiguration } from "./configuration.ts";
import { archives } from "./images/build.ts";
import { writeKedaManifests } from "./keda.ts";
import { KubeletUsage } from "./kubelet-usage.ts";
import { NETWORK } from "./network.ts";
import { importImages, layCable, NodeProcess, removeCable } from "./node-process.ts";

type Report = (line: string) => void;

const PATIENCE_MS = 300_000;
const DNS = join(import.meta.dirname, "dns.yaml");

export interface NodeCluster {
  readonly kubeconfig: string;
  /** Logs of all programs, by name. */
  readonly folder: string;
  stop(): Promise<void>;
}

/**
 * Starts a cluster of one node: the control plane as processes on this machine, and a node in namespaces of its own on
 * which pods run, CoreDNS and KEDA among them.
 * @param programs folder of the control plane's programs @param nodePrograms that of the node's
 */
export async function startNodeCluster(
  programs: string,
  nodePrograms: string,
  report: Report,
): Promise<NodeCluster> {
  const stops: (() => Promise<unknown>)[] = [removeCable];
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each();
  };
  const startedMs = performance.now();
  const say = (what: string): void =>
    report(`${what} after ${((performance.now() - startedMs) / 1_000).toFixed(1)} s`);
  try {
    await layCable();
    const server = await startRealApiServer(programs, API_SERVER_FLAGS, {
      address: NETWORK.machine,
      serviceRange: NETWORK.services,
      hasPods: true,
    });
    stops.push(async () => server.stop());
    const { folder, kubeconfig } = server;
    say("the API server answers");
    const controllers = startControllers(server, programs, nodePrograms);
    await writeConfiguration(folder, JSON.parse(await readFile(kubeconfig, "utf8")) as object);
    const node = await NodeProcess.start(folder, nodePrograms);
    stops.push(async () => node.stop());
    const until = async (what: string, condition: () => Promise<boolean>): Promise<void> => {
      const look = async (): Promise<boolean> => checkRunning(controllers).then(condition);
      await waitUntil(look, PATIENCE_MS, what).catch(async (error: unknown) => {
        throw new Error(`${String(error)}\n${await lastWords(folder)}`);
      });
      say(what);
    };
    const kubectl = async (...args: readonly string[]): Promise<string> =>
      run(join(nodePrograms, "kubectl"), ["--kubeconfig", kubeconfig, ...args], {});
    const succeeds =
      (...args: readonly string[]) =>
      async (): Promise<boolean> =>
        kubectl(...args).then(
          () => true,
          () => false,
        );
    await until("containerd listens", async () =>
      Promise.resolve(existsSync(`/proc/${node.pid}/root/run/containerd/containerd.sock`)),
    );
    await importImages(folder, await archives());
    say("images are imported");
    await until(
      "the node is ready",
      succeeds("wait", "--for=condition=Ready", "node/node-1", "--timeout=2s"),
    );
    await kubectl("apply", "--filename", DNS);
    await kubectl("apply", "--server-side", "--kustomize", await writeKedaManifests(nodePrograms, folder));
    const rolledOut = (namespace: string, name: string): (() => Promise<boolean>) =>
      succeeds("rollout", "status", `deployment/${name}`, `--namespace=${namespace}`, "--timeout=2s");
    await until("names are resolved", rolledOut("kube-system", "coredns"));
    await until("KEDA's operator runs", rolledOut("keda", "keda-operator"));
    await until("KEDA's adapter runs", rolledOut("keda", "keda-metrics-apiserver"));
    await until(
      "KEDA's metrics are served",
      succeeds("get", "--raw", "/apis/external.metrics.k8s.io/v1beta1"),
    );
    const api = new ApiClient(server.connection("admin"));
    stops.push(async () => api.close());
    const kubelet = new KubeletUsage();
    stops.push(async () => kubelet.close());
    const metrics = await serveMetrics(api, SERVER_TLS, async (pods) => kubelet.ask(pods));
    stops.push(async () => metrics.stop());
    await registerApi(api, "metrics.k8s.io", metrics.port);
    await until(
      "the kubelet's metrics are served",
      succeeds("get", "--raw", "/apis/metrics.k8s.io/v1beta1/pods"),
    );
    return { kubeconfig, folder, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const API_SERVER_FLAGS = [
  ...AGGREGATION,
  "--allow-privileged=true",
  "--kubelet-preferred-address-types=InternalIP",
];

function startControllers(
  server: RealApiServer,
  programs: string,
  nodePrograms: string,
): ReadonlyMap<string, ChildProcess> {
  const common = [
    `--kubeconfig=${server.kubeconfig}`,
    `--authentication-kubeconfig=${server.kubeconfig}`,
    `--authorization-kubeconfig=${server.kubeconfig}`,
    "--leader-elect=false",
    "--secure-port=0",
  ];
  return new Map([
    [
      "kube-controller-manager",
      server.start(join(programs, "kube-controller-manager"), [
        ...common,
        `--service-account-private-key-file=${server.accountKeyFile}`,
        `--root-ca-file=${server.caFile}`,
        "--use-service-account-credentials=true",
      ]),
    ],
    ["kube-scheduler", server.start(join(nodePrograms, "kube-scheduler"), common)],
  ]);
}

async function checkRunning(programs: ReadonlyMap<string, ChildProcess>): Promise<void> {
  for (const [name, { exitCode }] of programs) {
    if (exitCode !== null) throw new Error(`${name} ended`);
  }
  return Promise.resolve();
}

/** The ends of the logs. */
async function lastWords(folder: string): Promise<string> {
  const logs = ["kube-controller-manager", "kube-scheduler", "node", "containerd", "kubelet", "kube-proxy"];
  const texts = await Promise.all(
    logs.map(async (name) => readFile(join(folder, `${name}.log`), "utf8").catch(() => "")),
  );
  return texts.map((text, index) => `${logs[index]}: ${text.slice(-1_000)}`).join("\n");
}
