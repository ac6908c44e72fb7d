import type { ChildProcess } from "node:child_process";
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { Resource } from "@tradewind/kubernetes/client/resources.ts";
import { freePort } from "../free-port.ts";
import { startRealApiServer } from "../kubernetes/real-api-server.ts";
import { waitUntil } from "../wait-until.ts";
import { create } from "./create.ts";
import { DEFINITIONS } from "./programs.ts";
import type { Program } from "./programs.ts";
import { startMetricsServer } from "./metrics-server.ts";
import type { MetricsServer } from "./metrics-server.ts";
import { startPodStatus } from "./pod-status.ts";

/** How often the HPA controller looks: 15 s in clusters, shorter here so that tests end soon. */
const HPA_SYNC_SECONDS = 2;
const START_TIMEOUT_MS = 120_000;

export interface ControlPlane {
  /** May do everything. */
  readonly api: ApiClient;
  readonly kubeconfig: string;
  /** Logs of all programs, by name. */
  readonly folder: string;
  readonly metrics: MetricsServer;
  stop(): Promise<void>;
}

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));

/** What a server shows to the API server, which does not check it. */
export const SERVER_TLS = { certificate: fixture("server.crt"), key: fixture("server.key") };

/** The API server shows this certificate to the servers behind it, with the user's name in headers. */
export const AGGREGATION = [
  `--proxy-client-cert-file=${fixture("client.crt")}`,
  `--proxy-client-key-file=${fixture("client.key")}`,
  `--requestheader-client-ca-file=${fixture("authority.crt")}`,
  "--requestheader-allowed-names=keda-operator",
  "--requestheader-username-headers=X-Remote-User",
  "--requestheader-group-headers=X-Remote-Group",
  "--requestheader-extra-headers-prefix=X-Remote-Extra-",
];

/** Controllers without which ScaledObjects, HPAs and Deployments do nothing. */
const CONTROLLERS = [
  "deployment-controller",
  "garbage-collector-controller",
  "horizontal-pod-autoscaler-controller",
  "namespace-controller",
  "replicaset-controller",
];

const API_SERVICES: Resource = {
  group: "apiregistration.k8s.io",
  version: "v1",
  plural: "apiservices",
  kind: "APIService",
  namespaced: false,
};

const ApiService = z.object({
  status: z.object({
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
  }),
});

/**
 * Starts etcd, kube-apiserver, kube-controller-manager and KEDA as processes on loopback. There is no node: pods are
 * objects that a stand-in calls ready, and their CPU use is what a test sets.
 * @param syncSeconds how often HPAs are looked at
 */
export async function startControlPlane(
  programs: string,
  syncSeconds: number = HPA_SYNC_SECONDS,
): Promise<ControlPlane> {
  const server = await startRealApiServer(programs, AGGREGATION);
  const api = new ApiClient(server.connection("admin"));
  const stops = [async () => server.stop(), async () => api.close()];
  const stop = async (): Promise<void> => {
    for (const each of stops.splice(0).reverse()) await each();
  };
  try {
    const running = new Map<Program, ChildProcess>();
    const start = (name: Program, args: readonly string[]): void =>
      void running.set(name, server.start(join(programs, name), args, KEDA_ENV(server.kubeconfig)));
    /** @throws Error with the end of its log when a program has ended */
    const check = async (): Promise<void> => {
      for (const [name, { exitCode }] of running) {
        if (exitCode === null) continue;
        const log = await readFile(join(server.folder, `${name}.log`), "utf8");
        throw new Error(`${name} ended: ${log.slice(-2_000)}`);
      }
    };
    start("kube-controller-manager", controllerFlags(server.kubeconfig, syncSeconds));
    for (const name of ["keda", "shop"]) await create(api, RESOURCES.namespaces, { metadata: { name } });
    const definitions = JSON.parse(await readFile(join(programs, DEFINITIONS), "utf8")) as object[];
    for (const each of definitions) await create(api, RESOURCES.customResourceDefinitions, each);
    await waitUntil(
      () => isServed(api, RESOURCES.scaledObjects),
      START_TIMEOUT_MS,
      "ScaledObjects are served",
    );
    const adapterPort = await startKeda(server.folder, server.kubeconfig, start);
    const metrics = await startMetricsServer(api, SERVER_TLS);
    stops.push(async () => metrics.stop());
    const pods = startPodStatus(api);
    stops.push(async () => pods.stop());
    const apis = { "external.metrics.k8s.io": adapterPort, "metrics.k8s.io": metrics.port };
    for (const [group, port] of Object.entries(apis)) await registerApi(api, group, port);
    for (const group of Object.keys(apis)) {
      const available = async (): Promise<boolean> => check().then(async () => isAvailable(api, group));
      await waitUntil(available, START_TIMEOUT_MS, `${group} is available`);
    }
    return { api, kubeconfig: server.kubeconfig, folder: server.folder, metrics, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Empty: all namespaces. */
const KEDA_ENV = (kubeconfig: string): Record<string, string> => ({
  KUBECONFIG: kubeconfig,
  WATCH_NAMESPACE: "",
  POD_NAMESPACE: "keda",
  KEDA_CLUSTER_OBJECT_NAMESPACE: "keda",
});

const controllerFlags = (kubeconfig: string, syncSeconds: number): string[] => [
  `--kubeconfig=${kubeconfig}`,
  `--controllers=${CONTROLLERS.join(",")}`,
  "--leader-elect=false",
  "--secure-port=0",
  `--horizontal-pod-autoscaler-sync-period=${syncSeconds}s`,
  // Pods of the stand-in have no start whose CPU use would have to be passed over.
  "--horizontal-pod-autoscaler-initial-readiness-delay=0s",
  "--horizontal-pod-autoscaler-cpu-initialization-period=0s",
];

/** Starts the operator and the adapter, which trust each other by certificates. @returns the adapter's port */
async function startKeda(
  folder: string,
  kubeconfig: string,
  start: (name: Program, args: readonly string[]) => void,
): Promise<number> {
  const certificates = join(folder, "keda");
  await mkdir(certificates);
  await copyFile(fixture("authority.crt"), join(certificates, "ca.crt"));
  await copyFile(fixture("server.crt"), join(certificates, "tls.crt"));
  await copyFile(fixture("server.key"), join(certificates, "tls.key"));
  const [service, secure] = [await freePort(), await freePort()];
  start("keda-operator", [
    "--enable-prometheus-metrics=false",
    "--health-probe-bind-address=0",
    `--metrics-service-bind-address=127.0.0.1:${service}`,
    `--cert-dir=${certificates}`,
    "--zap-log-level=info",
    "--zap-encoder=console",
  ]);
  start("keda-adapter", [
    "--bind-address=127.0.0.1",
    `--secure-port=${secure}`,
    "--port=0",
    `--metrics-service-address=127.0.0.1:${service}`,
    `--cert-dir=${certificates}`,
    `--tls-cert-file=${join(certificates, "tls.crt")}`,
    `--tls-private-key-file=${join(certificates, "tls.key")}`,
    `--lister-kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
  ]);
  return secure;
}

/** Has the API server pass a group on to a port of this machine: by a Service that is another name for localhost. */
export async function registerApi(api: ApiClient, group: string, port: number): Promise<void> {
  const service = group.replaceAll(".", "-");
  await create(api, RESOURCES.services, {
    metadata: { name: service, namespace: "keda" },
    spec: { type: "ExternalName", externalName: "localhost" },
  });
  const name = `v1beta1.${group}`;
  await create(api, API_SERVICES, {
    metadata: { name },
    spec: {
      group,
      version: "v1beta1",
      groupPriorityMinimum: 100,
      versionPriority: 100,
      insecureSkipTLSVerify: true,
      service: { name: service, namespace: "keda", port },
    },
  });
}

async function isAvailable(api: ApiClient, group: string): Promise<boolean> {
  const { status } = await api.get({ resource: API_SERVICES, name: `v1beta1.${group}` }, ApiService);
  return status.conditions.some((each) => each.type === "Available" && each.status === "True");
}

const isServed = async (api: ApiClient, resource: Resource): Promise<boolean> =>
  api.call({ resource, namespace: "shop", verb: "list" }).then(
    () => true,
    () => false,
  );
