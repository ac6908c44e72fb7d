import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { describeError } from "@tradewind/core/errors.ts";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";

const GROUP_VERSION = "metrics.k8s.io/v1beta1";
const DEFAULT_CORES = 0.01;

export interface MetricsServer {
  readonly port: number;
  /** Sets what all pods of an application (label `app`) use together from now on, in cores; they share it evenly. */
  setCores(app: string, cores: number): void;
  stop(): Promise<void>;
}

const Pods = z.object({
  items: z.array(
    z.object({
      metadata: z.object({
        name: z.string(),
        namespace: z.string(),
        labels: z.record(z.string(), z.string()).default({}),
      }),
      spec: z.object({ containers: z.array(z.object({ name: z.string() })) }),
    }),
  ),
});

/** In the place of metrics-server: serves `metrics.k8s.io` for the pods that exist, with CPU use that a test sets. */
export async function startMetricsServer(
  api: ApiClient,
  certificate: string,
  key: string,
): Promise<MetricsServer> {
  const cores = new Map<string, number>();
  const podMetrics = async (url: URL): Promise<object> => {
    const [, namespace] = /\/namespaces\/([^/]+)\/pods$/.exec(url.pathname) ?? [];
    const query = { labelSelector: url.searchParams.get("labelSelector") ?? undefined };
    const pods = await api.call({ resource: RESOURCES.pods, namespace, verb: "list", query });
    const { items: found } = Pods.parse(pods);
    const perPod = (app: string): string => {
      const sharing = found.filter(({ metadata }) => metadata.labels["app"] === app).length;
      return `${Math.round(((cores.get(app) ?? DEFAULT_CORES) / sharing) * 1e6)}u`;
    };
    const items = found.map(({ metadata, spec }) => ({
      metadata: { name: metadata.name, namespace: metadata.namespace },
      timestamp: new Date().toISOString(),
      window: "15s",
      containers: spec.containers.map(({ name }) => ({
        name,
        usage: { cpu: perPod(metadata.labels["app"] ?? ""), memory: "64Mi" },
      })),
    }));
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
    setCores: (app, value) => void cores.set(app, value),
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
