import { z } from "zod";
import { parseWith } from "@tradewind/core/values/config.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { ApiError } from "../client/api-error.ts";
import type { ApiClient } from "../client/client.ts";
import { RESOURCES } from "../client/resources.ts";
import { StringMap, Timestamp } from "../objects/metadata.ts";
import { listPages } from "../watch/list-pages.ts";

/** Labels that the chart gives the pods of every release, whatever its name. */
const SCALER_LABELS = "app.kubernetes.io/part-of=tradewind,app.kubernetes.io/component=scaler";
const RELEASE_LABEL = "app.kubernetes.io/instance";
/** Where the documentation installs it: looked at where not all namespaces may be. */
const USUAL_NAMESPACE = "tradewind";
const MAX_PODS = 5_000;

/** Containers of a scaler pod, and the name of the port each is asked at. */
const PORTS = { scaler: ["exporter", "http"], predictor: ["predictor", "predictor"] } as const;
export type Asked = keyof typeof PORTS;

const ScalerPod = z.object({
  metadata: z.object({
    name: z.string(),
    namespace: z.string(),
    labels: StringMap,
    deletionTimestamp: Timestamp,
  }),
  spec: z.object({
    containers: z.array(
      z.object({
        name: z.string(),
        args: z.array(z.string()).nullish(),
        ports: z.array(z.object({ name: z.string().nullish(), containerPort: z.number().int() })).nullish(),
      }),
    ),
  }),
  status: z
    .object({
      phase: z.string().nullish(),
      conditions: z.array(z.object({ type: z.string(), status: z.string() })).nullish(),
    })
    .prefault({}),
});
export type ScalerPod = z.infer<typeof ScalerPod>;

/** One `helm install`, with the pods that can be asked: ready ones, or where none is, those that run. */
export interface Release {
  readonly namespace: string;
  readonly name: string;
  readonly pods: readonly ScalerPod[];
}

/** Which release to ask; what is absent is looked for. */
export interface ReleaseChoice {
  readonly namespace?: string | undefined;
  readonly release?: string | undefined;
}

/** Where one of our processes listens in a pod. */
export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
  readonly isTls: boolean;
}

/**
 * Finds the pods of one release by the chart's labels: in the namespace that was given, else in all; where this user may not
 * list those, in the kubeconfig's namespace and in `tradewind`.
 * @throws TradewindError `no-release`, `invalid-release` where there are several; ApiError
 */
export async function findRelease(client: ApiClient, choice: ReleaseChoice): Promise<Release> {
  if (choice.namespace !== undefined)
    return chooseRelease(await podsIn(client, choice.namespace), choice, `namespace '${choice.namespace}'`);
  try {
    return chooseRelease(await podsIn(client, undefined), choice, "any namespace");
  } catch (error) {
    if (!(error instanceof ApiError && error.isForbidden)) throw error;
  }
  const readable = [...new Set([client.namespace, USUAL_NAMESPACE])];
  const found: ScalerPod[] = [];
  for (const namespace of readable) {
    try {
      found.push(...(await podsIn(client, namespace)));
    } catch (error) {
      if (!(error instanceof ApiError && error.isForbidden)) throw error;
    }
  }
  const where = `${readable.map((each) => `'${each}'`).join(" or ")} (this user may not list pods of all namespaces)`;
  return chooseRelease(found, choice, where);
}

async function podsIn(client: ApiClient, namespace: string | undefined): Promise<ScalerPod[]> {
  const pods: ScalerPod[] = [];
  await listPages(
    client,
    { resource: RESOURCES.pods, namespace },
    { pageSize: 500, maxItems: MAX_PODS, labelSelector: SCALER_LABELS },
    (item) => pods.push(parseWith(ScalerPod, item, "a pod of the scaler")),
    () => pods.splice(0),
  );
  return pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

/**
 * @param where what was looked at, for messages
 * @throws TradewindError `no-release`, `invalid-release`
 */
export function chooseRelease(
  pods: readonly ScalerPod[],
  { release }: ReleaseChoice,
  where: string,
): Release {
  const releases = new Map<string, Release & { readonly pods: ScalerPod[] }>();
  for (const pod of pods) {
    const { labels, namespace } = pod.metadata;
    const name = labels[RELEASE_LABEL] ?? "";
    if (release !== undefined && name !== release) continue;
    const key = `${namespace}/${name}`;
    const of = releases.get(key) ?? { namespace, name, pods: [] };
    of.pods.push(pod);
    releases.set(key, of);
  }
  const [only, ...more] = releases.values();
  if (only === undefined) {
    const what = release === undefined ? "Tradewind" : `release '${release}'`;
    throw new TradewindError(
      "no-release",
      `no scaler pod of ${what} in ${where}; name its namespace with -n, another cluster with --context, or install it: docs/quickstart.md`,
    );
  }
  if (more.length > 0)
    throw new TradewindError(
      "invalid-release",
      `there are several releases: ${[...releases.keys()].toSorted().join(", ")}; choose one with -n and --release`,
    );
  return { ...only, pods: usable(only) };
}

function usable({ name, namespace, pods }: Release): ScalerPod[] {
  const ready = pods.filter(({ status }) =>
    status.conditions?.some((each) => each.type === "Ready" && each.status === "True"),
  );
  const running = ready.length > 0 ? ready : pods.filter(({ status }) => status.phase === "Running");
  if (running.length === 0)
    throw new TradewindError(
      "no-release",
      `none of the ${pods.length} scaler pods of release '${name}' runs; see why: kubectl --namespace ${namespace} describe pods --selector ${RELEASE_LABEL}=${name},app.kubernetes.io/component=scaler`,
    );
  return running.toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name));
}

/** @throws TradewindError `no-predictor`, `no-scaler` where the pod has no such container */
export function portOf({ metadata, spec }: ScalerPod, asked: Asked): PodPort {
  const [container, port] = PORTS[asked];
  const found = spec.containers.find(({ name }) => name === container);
  const at = found?.ports?.find(({ name }) => name === port);
  if (at === undefined)
    throw new TradewindError(
      `no-${asked}`,
      `pod ${metadata.namespace}/${metadata.name} has no ${asked} (container '${container}', port '${port}')`,
    );
  const isTls = found?.args?.some((each) => each.startsWith("--http-tls-cert")) === true;
  return { namespace: metadata.namespace, pod: metadata.name, port: at.containerPort, isTls };
}
