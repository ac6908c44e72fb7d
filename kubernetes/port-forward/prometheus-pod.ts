import { z } from "zod";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { ApiClient } from "../client/client.ts";
import { RESOURCES } from "../client/resources.ts";
import type { Resource } from "../client/resources.ts";
import { StringMap } from "../objects/metadata.ts";
import { listPages } from "../watch/list-pages.ts";
import type { PodPort } from "./scaler-pods.ts";

/** A server of metrics in the cluster: how its pods call it, and the pod that a port can be forwarded to. */
export interface MetricsServer {
  readonly url: string;
  readonly pod: PodPort;
}

const MAX_OBJECTS = 20_000;
/** What charts and operators label their servers with. */
const NAMES = new Set(["prometheus", "vmsingle", "victoria-metrics-single", "thanos-query", "query"]);
const LABELS = ["app.kubernetes.io/name", "app", "app.kubernetes.io/component"];
/** Names of the port with the HTTP API, and its numbers. */
const PORT_NAMES = new Set(["web", "http", "http-web", "http-prometheus"]);
const PORT_NUMBERS = new Set([9090, 8428, 8429, 10_902]);

const Metadata = z.object({ name: z.string(), namespace: z.string(), labels: StringMap });
const Service = z.object({
  metadata: Metadata,
  spec: z.object({
    selector: StringMap,
    ports: z
      .array(
        z.object({
          name: z.string().nullish(),
          port: z.number(),
          targetPort: z.union([z.number(), z.string()]).nullish(),
        }),
      )
      .nullish(),
  }),
});
const Pod = z.object({
  metadata: Metadata,
  spec: z.object({
    containers: z.array(
      z.object({
        ports: z.array(z.object({ name: z.string().nullish(), containerPort: z.number() })).nullish(),
      }),
    ),
  }),
  status: z.object({ phase: z.string().nullish() }).prefault({}),
});

/**
 * The first server of metrics that a Service leads to, by the labels that charts give it, `prometheus` before others.
 * @throws TradewindError `no-prometheus`; ApiError where this user may not list Services or pods
 */
export async function findPrometheus(client: ApiClient): Promise<MetricsServer> {
  const services = (await listed(client, RESOURCES.services, undefined)).flatMap(
    (item) => Service.safeParse(item).data ?? [],
  );
  const servers = services
    .filter(({ metadata, spec }) => Object.keys(spec.selector).length > 0 && isServer(metadata))
    .toSorted((a, b) => rank(a.metadata) - rank(b.metadata) || (a.metadata.name < b.metadata.name ? -1 : 1));
  for (const { metadata, spec } of servers) {
    const port = spec.ports?.find((each) => PORT_NAMES.has(each.name ?? "") || PORT_NUMBERS.has(each.port));
    if (port === undefined) continue;
    const selector = Object.entries(spec.selector)
      .map(([label, value]) => `${label}=${value}`)
      .join(",");
    const pods = (await listed(client, RESOURCES.pods, metadata.namespace, selector)).flatMap(
      (item) => Pod.safeParse(item).data ?? [],
    );
    const pod = pods.find(({ status }) => status.phase === "Running");
    const target = pod && containerPort(pod, port.targetPort ?? port.port);
    if (pod === undefined || target === undefined) continue;
    return {
      url: `http://${metadata.name}.${metadata.namespace}.svc:${port.port}`,
      pod: { namespace: metadata.namespace, pod: pod.metadata.name, port: target, isTls: false },
    };
  }
  throw new TradewindError(
    "no-prometheus",
    "no Service of the cluster leads to a Prometheus by the labels that charts give it; name its address with --prometheus",
  );
}

const namesOf = ({ labels, name }: z.infer<typeof Metadata>): string[] => [
  name,
  ...LABELS.flatMap((label) => labels[label] ?? []),
];
const isServer = (metadata: z.infer<typeof Metadata>): boolean =>
  namesOf(metadata).some((name) => NAMES.has(name));
const rank = (metadata: z.infer<typeof Metadata>): number =>
  namesOf(metadata).includes("prometheus") ? 0 : 1;

const containerPort = ({ spec }: z.infer<typeof Pod>, target: number | string): number | undefined =>
  typeof target === "number"
    ? target
    : spec.containers.flatMap(({ ports }) => ports ?? []).find(({ name }) => name === target)?.containerPort;

async function listed(
  client: ApiClient,
  resource: Resource,
  namespace: string | undefined,
  labelSelector?: string,
): Promise<unknown[]> {
  const items: unknown[] = [];
  await listPages(
    client,
    { resource, namespace },
    { pageSize: 500, maxItems: MAX_OBJECTS, labelSelector },
    (item) => items.push(item),
    () => items.splice(0),
  );
  return items;
}
