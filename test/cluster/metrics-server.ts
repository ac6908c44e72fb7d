import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { describeError } from "@tradewind/core/values/errors.ts";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";

const GROUP_VERSION = "metrics.k8s.io/v1beta1";
const DEFAULT_CORES = 0.01;

const Pod = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    labels: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.object({ containers: z.array(z.object({ name: z.string() })) }),
});
const Pods = z.object({ items: z.array(Pod) });
export type MetricsPod = z.infer<typeof Pod>;

/** What the containers of a pod use, in quantities of Kubernetes. */
export interface PodUsage {
  readonly timestamp: string;
  readonly containers: readonly {
    readonly name: string;
    readonly usage: { readonly cpu: string; readonly memory: string };
  }[];
}

/** What each of some pods uses, in their order; undefined where that is not known. */
export type AskUsage = (pods: readonly MetricsPod[]) => Promise<readonly (PodUsage | undefined)[]>;

/** The server's certificate and key, as files. */
export interface Tls {
  readonly certificate: string;
  readonly key: string;
}

interface Server {
  readonly port: number;
  stop(): Promise<void>;
}

export interface MetricsServer extends Server {
  /** Sets what all pods of an application (label `app`) use together from now on, in cores; they share it evenly. */
  setCores(app: string, cores: number): void;
}

/** In the place of metrics-server: serves `metrics.k8s.io` for the pods that exist, with CPU use that a test sets. */
export async function startMetricsServer(api: ApiClient, tls: Tls): Promise<MetricsServer> {
  const cores = new Map<string, number>();
  const usage: AskUsage = async (pods) => {
    const appOf = ({ metadata }: MetricsPod): string => metadata.labels["app"] ?? "";
    const perPod = (app: string): string => {
      const sharing = pods.filter((pod) => appOf(pod) === app).length;
      return `${Math.round(((cores.get(app) ?? DEFAULT_CORES) / sharing) * 1e6)}u`;
    };
    return Promise.resolve(
      pods.map((pod) => ({
        timestamp: new Date().toISOString(),
        containers: pod.spec.containers.map(({ name }) => ({
          name,
          usage: { cpu: perPod(appOf(pod)), memory: "64Mi" },
        })),
      })),
    );
  };
  const server = await serveMetrics(api, tls, usage);
  return { ...server, setCores: (app, value) => void cores.set(app, value) };
}

/** Serves `metrics.k8s.io` on loopback for the pods that exist. */
export async function serveMetrics(
  api: ApiClient,
  { certificate, key }: Tls,
  ask: AskUsage,
): Promise<Server> {
  const podMetrics = async (url: URL): Promise<object> => {
    const [, namespace] = /\/namespaces\/([^/]+)\/pods$/.exec(url.pathname) ?? [];
    const query = { labelSelector: url.searchParams.get("labelSelector") ?? undefined };
    const list = await api.call({ resource: RESOURCES.pods, namespace, verb: "list", query });
    const pods = Pods.parse(list).items;
    const usages = await ask(pods);
    const items = pods.flatMap(({ metadata: { name, namespace: own } }, index) => {
      const usage = usages[index];
      return usage === undefined ? [] : [{ metadata: { name, namespace: own }, window: "15s", ...usage }];
    });
    return { kind: "PodMetricsList", apiVersion: GROUP_VERSION, metadata: {}, items };
  };
  const answer = async (path: string): Promise<object> => {
    const url = new URL(path, "https://localhost");
    return url.pathname === `/apis/${GROUP_VERSION}` ? DISCOVERY : podMetrics(url);
  };
  const tls = { cert: await readFile(certificate), key: await readFile(key) };
  const server = createServer(tls, (request, response) => {
    const send = (status: number, body: object): void =>
      void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    answer(request.url ?? "/").then(
      (body) => send(200, body),
      (error: unknown) => send(500, { kind: "Status", apiVersion: "v1", message: describeError(error) }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const DISCOVERY = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: GROUP_VERSION,
  resources: [
    { name: "pods", singularName: "", namespaced: true, kind: "PodMetrics", verbs: ["get", "list"] },
  ],
};
