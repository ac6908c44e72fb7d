import { nothingFound, take } from "@tradewind/kubernetes/init/found.ts";
import type { Found } from "@tradewind/kubernetes/init/found.ts";
import type { PrometheusClient } from "@tradewind/predictor/sources/prometheus/client.ts";
import { podKey, podOwners } from "@tradewind/predictor/sources/prometheus/pods.ts";
import { conditions, equal, oneOf } from "@tradewind/predictor/sources/prometheus/promql.ts";
import type { Matcher } from "@tradewind/predictor/sources/prometheus/promql.ts";
import { sampleValue } from "@tradewind/predictor/sources/prometheus/samples.ts";

/** One series of kube-state-metrics with its last value. */
export interface StateSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Everything of kube-state-metrics that says what a namespace has. */
const METRICS = [
  "kube_deployment_spec_replicas",
  "kube_horizontalpodautoscaler_info",
  "kube_horizontalpodautoscaler_spec_max_replicas",
  "kube_horizontalpodautoscaler_spec_min_replicas",
  "kube_horizontalpodautoscaler_spec_target_metric",
  "kube_ingress_path",
  "kube_pod_container_info",
  "kube_pod_container_resource_limits",
  "kube_pod_container_resource_requests",
  "kube_pod_info",
  "kube_pod_spec_volumes_persistentvolumeclaims_info",
  "kube_replicaset_owner",
  "kube_service_info",
  "kube_service_spec_type",
  "kube_statefulset_replicas",
];

/** @param scope conditions of the source, for a store with several clusters */
export async function readState(
  client: PrometheusClient,
  namespace: string,
  scope: readonly Matcher[],
  nowMs: number,
): Promise<StateSeries[]> {
  const ask = async (label: string): Promise<StateSeries[]> => {
    const matchers = [oneOf("__name__", METRICS), equal(label, namespace), ...scope];
    const { series } = await client.query(`{${conditions(matchers)}}`, nowMs);
    return series.flatMap(({ metric, value }) => {
      const last = sampleValue(value);
      return last === undefined ? [] : [{ labels: metric, value: last }];
    });
  };
  const own = await ask("namespace");
  return own.length > 0 ? own : (await ask(`${RENAMED}namespace`)).map(asExported);
}

/** What a scrape without `honorLabels` puts before labels that it has itself. */
const RENAMED = "exported_";

/** A series with the labels that its exporter gave it. */
const asExported = ({ labels, value }: StateSeries): StateSeries => ({
  labels: Object.fromEntries([
    ...Object.entries(labels).filter(([label]) => !label.startsWith(RENAMED)),
    ...Object.entries(labels).flatMap(([label, text]) =>
      label.startsWith(RENAMED) ? [[label.slice(RENAMED.length), text]] : [],
    ),
  ]) as Readonly<Record<string, string>>,
  value,
});

const NO_RATES = new Float64Array();

type Labels = StateSeries["labels"];

/** A label of no meaning by which objects made here belong together: series tell of no selectors. */
const WORKLOAD_LABEL = "tradewind.dev/workload";
/** How KEDA calls the HPA of a ScaledObject. */
const OF_KEDA = "keda-hpa-";

/**
 * The objects of a namespace as far as kube-state-metrics tells of them. Services belong to the workload that they are called
 * like, or whose name theirs begins with.
 * @param called services that request metrics tell of: each is called by somebody, and runs although nothing else tells of it
 */
export function foundInState(
  series: readonly StateSeries[],
  namespace: string,
  called: readonly string[],
): Found {
  const found = nothingFound();
  const byMetric = Map.groupBy(series, ({ labels }) => labels["__name__"] ?? "");
  const of = (metric: string): readonly StateSeries[] => byMetric.get(metric) ?? [];
  const metadata = (name: string, more: object = {}): object => ({
    name,
    namespace,
    uid: name,
    labels: {},
    ...more,
  });
  const rows = (metric: string) => of(metric).map(({ labels }) => ({ labels, perSecond: NO_RATES }));
  const pods = podOwners(rows("kube_pod_info"), rows("kube_replicaset_owner"));
  const ofWorkload = (metric: string, kind: string, name: string): readonly StateSeries[] =>
    of(metric).filter(({ labels }) => {
      const owner = pods.get(podKey(labels));
      return owner?.kind === kind && owner.name === name;
    });

  const workloads = [
    ...of("kube_deployment_spec_replicas").map((each) => ({ kind: "Deployment", label: "deployment", each })),
    ...of("kube_statefulset_replicas").map((each) => ({ kind: "StatefulSet", label: "statefulset", each })),
  ].map(({ each, kind, label }) => ({ kind, name: each.labels[label] ?? "", replicas: each.value }));
  const guessed = workloads.length === 0 ? called : [];
  for (const { kind, name, replicas } of [
    ...workloads,
    ...guessed.map((name) => ({ kind: "Deployment", name, replicas: 1 })),
  ].toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const claims = ofWorkload("kube_pod_spec_volumes_persistentvolumeclaims_info", kind, name);
    take(found, kind, {
      metadata: metadata(name),
      spec: {
        replicas,
        selector: { matchLabels: { [WORKLOAD_LABEL]: name } },
        template: {
          metadata: { labels: { [WORKLOAD_LABEL]: name } },
          spec: {
            containers: containersOf(ofWorkload("kube_pod_container_info", kind, name), (metric) =>
              ofWorkload(metric, kind, name),
            ),
            volumes: [...new Set(claims.map(({ labels }) => labels["persistentvolumeclaim"] ?? ""))].map(
              (claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }),
            ),
          },
        },
      },
    });
  }

  const names = found.workloads.map(({ name }) => name);
  const types = new Map(
    of("kube_service_spec_type").map(({ labels }) => [labels["service"], labels["type"]]),
  );
  const services = new Set([
    ...of("kube_service_info").map(({ labels }) => labels["service"] ?? ""),
    ...called,
  ]);
  for (const name of [...services].sort()) {
    const behind = names
      .filter((each) => name === each || name.startsWith(`${each}-`))
      .toSorted((a, b) => b.length - a.length)[0];
    if (behind === undefined) continue;
    const spec = { type: types.get(name), selector: { [WORKLOAD_LABEL]: behind }, ports: [] };
    take(found, "Service", { metadata: metadata(name), spec });
  }
  for (const [ingress, paths] of Map.groupBy(
    of("kube_ingress_path"),
    ({ labels }) => labels["ingress"] ?? "",
  )) {
    const rules = [{ http: { paths: paths.map(({ labels }) => pathOf(labels)) } }];
    take(found, "Ingress", { metadata: metadata(ingress), spec: { rules } });
  }
  takeAutoscalers(found, of, metadata);
  return found;
}

const pathOf = ({ path, service_name: name, service_port: port = "" }: Labels): object => ({
  path,
  backend: {
    service: {
      name,
      port: port !== "" && Number.isInteger(Number(port)) ? { number: Number(port) } : { name: port },
    },
  },
});

function containersOf(
  infos: readonly StateSeries[],
  of: (metric: string) => readonly StateSeries[],
): object[] {
  const amounts = (metric: string, container: string): object =>
    Object.fromEntries(
      of(metric)
        .filter(({ labels }) => labels["container"] === container)
        .map(({ labels, value }) => [labels["resource"] ?? "", quantity(labels["resource"], value)]),
    );
  const images = new Map(infos.map(({ labels }) => [labels["container"] ?? "", labels["image"] ?? ""]));
  return [...images].map(([name, image]) => ({
    name,
    image,
    resources: {
      requests: amounts("kube_pod_container_resource_requests", name),
      limits: amounts("kube_pod_container_resource_limits", name),
    },
  }));
}

const quantity = (resource: string | undefined, value: number): string =>
  resource === "cpu" ? `${Math.round(1e3 * value)}m` : String(Math.round(value));

function takeAutoscalers(
  found: Found,
  of: (metric: string) => readonly StateSeries[],
  metadata: (name: string) => object,
): void {
  const label = "horizontalpodautoscaler";
  const valueOf = (metric: string, name: string): number | undefined =>
    of(metric).find(({ labels }) => labels[label] === name)?.value;
  for (const { labels } of of("kube_horizontalpodautoscaler_info")) {
    const name = labels[label] ?? "";
    const target = { kind: labels["scaletargetref_kind"], name: labels["scaletargetref_name"] };
    const minReplicas = valueOf("kube_horizontalpodautoscaler_spec_min_replicas", name);
    const maxReplicas = valueOf("kube_horizontalpodautoscaler_spec_max_replicas", name);
    if (maxReplicas === undefined || target.name === undefined || target.kind === undefined) continue;
    if (name.startsWith(OF_KEDA)) {
      const spec = {
        scaleTargetRef: target,
        minReplicaCount: minReplicas,
        maxReplicaCount: maxReplicas,
        triggers: [],
      };
      take(found, "ScaledObject", { metadata: metadata(name.slice(OF_KEDA.length)), spec });
      continue;
    }
    const apiVersion = labels["scaletargetref_api_version"] ?? "apps/v1";
    const metrics = of("kube_horizontalpodautoscaler_spec_target_metric")
      .filter((each) => each.labels[label] === name)
      .flatMap((each) => metricOf(each));
    const spec = { scaleTargetRef: { apiVersion, ...target }, minReplicas, maxReplicas, metrics };
    take(found, "HorizontalPodAutoscaler", { metadata: metadata(name), spec });
  }
}

/** Of CPU and memory alone: of other metrics the series do not say of what kind they are. */
function metricOf({ labels, value }: StateSeries): object[] {
  const { metric_name: name = "", metric_target_type: type = "" } = labels;
  if (name !== "cpu" && name !== "memory") return [];
  const target =
    type === "utilization"
      ? { type: "Utilization", averageUtilization: value }
      : { type: "AverageValue", averageValue: quantity(name, value) };
  return [{ type: "Resource", resource: { name, target } }];
}
