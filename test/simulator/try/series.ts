import type { LatencySummary, Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { normalCdf } from "@tradewind/predictor/models/normal.ts";
import type { PushedSeries } from "../../predictor/sources/prometheus/remote-write.ts";

const NAMESPACE = "shop";
const BOUNDS_SECONDS = [
  0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 10,
];
const Z95 = 1.6448536269514722;

type Labels = Readonly<Record<string, string>>;

interface Scraped {
  readonly labels: Labels;
  readonly samples: [number, number][];
  last: number;
}

/** Series that are scraped at the end of every interval. */
class Scrapes {
  private readonly all = new Map<string, Scraped>();

  private of(name: string, labels: Labels): Scraped {
    const full = { ...labels, __name__: name };
    const key = JSON.stringify(full);
    const known: Scraped = this.all.get(key) ?? { labels: full, samples: [], last: 0 };
    this.all.set(key, known);
    return known;
  }

  gauge(atMs: number, name: string, labels: Labels, value: number): void {
    this.of(name, labels).samples.push([atMs, value]);
  }

  counter(atMs: number, name: string, labels: Labels, increase: number): void {
    const series = this.of(name, labels);
    series.last += increase;
    series.samples.push([atMs, series.last]);
  }

  /**
   * A log-normal distribution with this median and p95, in buckets, with a sum that such observations can have.
   * @param unit seconds that one unit of the metric is worth
   */
  histogram(
    atMs: number,
    name: string,
    labels: Labels,
    count: number,
    latency: LatencySummary,
    unit: number,
  ): void {
    const { meanSeconds, p50Seconds, p95Seconds } = latency;
    const sigma = Math.max(0.01, Math.log(p95Seconds / p50Seconds) / Z95);
    let [below, least, most] = [0, 0, 0];
    for (const [place, bound] of BOUNDS_SECONDS.entries()) {
      const within = count * normalCdf(Math.log(bound / p50Seconds) / sigma);
      least += (within - below) * (BOUNDS_SECONDS[place - 1] ?? 0);
      most += (within - below) * bound;
      below = within;
      this.counter(atMs, `${name}_bucket`, { ...labels, le: String(+(bound / unit).toPrecision(6)) }, within);
    }
    const slowest = BOUNDS_SECONDS.at(-1) ?? 0;
    const sum = Math.max(
      least + (count - below) * slowest,
      Math.min(count * meanSeconds, most + (count - below) * 2 * slowest),
    );
    this.counter(atMs, `${name}_bucket`, { ...labels, le: "+Inf" }, count);
    this.counter(atMs, `${name}_sum`, labels, sum / unit);
    this.counter(atMs, `${name}_count`, labels, count);
  }

  series(): PushedSeries[] {
    return [...this.all.values()].map(({ labels, samples }) => ({ labels, samples }));
  }
}

/** Writes what one window of a service is in a family of metrics. */
type Family = (
  scrapes: Scrapes,
  endMs: number,
  window: Window,
  count: number,
  calls: readonly { readonly callee: string; readonly count: number; readonly latency: LatencySummary }[],
  isEntry: boolean,
) => void;

const SPAN = "traces_span_metrics_duration_seconds";

/** Families of request metrics by name, as servers of them store what was simulated. */
export const FAMILIES: Readonly<Record<string, Family>> = {
  istio(scrapes, endMs, { responseLatency, service }, count, calls) {
    const to = (workload: string): Labels => ({
      destination_workload: workload,
      destination_workload_namespace: NAMESPACE,
      response_code: "200",
    });
    const seen: Labels = { reporter: "destination", ...to(service) };
    scrapes.counter(endMs, "istio_requests_total", seen, count);
    if (responseLatency !== undefined)
      scrapes.histogram(endMs, "istio_request_duration_milliseconds", seen, count, responseLatency, 0.001);
    for (const { callee, count: made, latency } of calls) {
      const called: Labels = {
        reporter: "source",
        source_workload: service,
        source_workload_namespace: NAMESPACE,
        ...to(callee),
      };
      scrapes.counter(endMs, "istio_requests_total", called, made);
      scrapes.histogram(endMs, "istio_request_duration_milliseconds", called, made, latency, 0.001);
    }
  },
  otel(scrapes, endMs, { responseLatency, service }, count, calls) {
    const server: Labels = { service_name: service, span_kind: "SPAN_KIND_SERVER" };
    scrapes.counter(
      endMs,
      "traces_span_metrics_calls_total",
      { ...server, status_code: "STATUS_CODE_UNSET" },
      count,
    );
    if (responseLatency !== undefined) scrapes.histogram(endMs, SPAN, server, count, responseLatency, 1);
    for (const { callee, count: made, latency } of calls) {
      const client: Labels = { service_name: service, span_kind: "SPAN_KIND_CLIENT" };
      scrapes.histogram(endMs, SPAN, { ...client, span_name: callee }, made, latency, 1);
      scrapes.counter(endMs, "traces_service_graph_request_total", { client: service, server: callee }, made);
      scrapes.counter(
        endMs,
        "traces_service_graph_request_server_seconds_sum",
        { client: service, server: callee },
        made * latency.meanSeconds,
      );
    }
  },
  semconv(scrapes, endMs, { responseLatency, service }, count, calls) {
    const labels: Labels = {
      service_name: service,
      k8s_namespace_name: NAMESPACE,
      http_response_status_code: "200",
    };
    if (responseLatency !== undefined)
      scrapes.histogram(endMs, "http_server_request_duration_seconds", labels, count, responseLatency, 1);
    for (const { callee, count: made, latency } of calls)
      scrapes.histogram(
        endMs,
        "http_client_request_duration_seconds",
        { ...labels, server_address: `${callee}.${NAMESPACE}.svc.cluster.local` },
        made,
        latency,
        1,
      );
  },
  nginx(scrapes, endMs, { responseLatency, service }, count, _, isEntry) {
    if (!isEntry || responseLatency === undefined) return;
    const labels: Labels = { namespace: NAMESPACE, service, ingress: "shop", status: "200" };
    scrapes.counter(endMs, "nginx_ingress_controller_requests", labels, count);
    scrapes.histogram(
      endMs,
      "nginx_ingress_controller_request_duration_seconds",
      labels,
      count,
      responseLatency,
      1,
    );
  },
};

/** Windows as Prometheus has them: requests in one family, with cAdvisor and kube-state-metrics beside. */
export function recordedSeries(sets: readonly WindowSet[], family: Family, entry: string): PushedSeries[] {
  const scrapes = new Scrapes();
  const at = (name: string, labels: Labels, endMs: number, value: number): void =>
    scrapes.gauge(endMs, name, { namespace: NAMESPACE, ...labels }, value);
  for (const { endMs, startMs, windows } of sets) {
    const seconds = (endMs - startMs) / 1e3;
    const latencies = new Map(windows.map(({ responseLatency, service }) => [service, responseLatency]));
    for (const window of windows) {
      const { containers, replicasReady = 0, replicasWanted = replicasReady, service } = window;
      const calls = window.callees.flatMap(({ callee, callsPerSecond }) => {
        const latency = latencies.get(callee);
        return latency === undefined ? [] : [{ callee, count: callsPerSecond * seconds, latency }];
      });
      const count = (window.requestsPerSecond ?? 0) * seconds;
      family(scrapes, endMs, window, count, calls, service === entry);
      at("kube_deployment_spec_replicas", { deployment: service }, endMs, replicasWanted);
      at("kube_deployment_status_replicas_ready", { deployment: service }, endMs, replicasReady);
      at("kube_service_info", { service }, endMs, 1);
      const owner = { replicaset: `${service}-5d9`, owner_kind: "Deployment", owner_name: service };
      at("kube_replicaset_owner", owner, endMs, 1);
      const hpa = { horizontalpodautoscaler: service };
      at(
        "kube_horizontalpodautoscaler_info",
        { ...hpa, scaletargetref_kind: "Deployment", scaletargetref_name: service },
        endMs,
        1,
      );
      at("kube_horizontalpodautoscaler_spec_min_replicas", hpa, endMs, 1);
      at("kube_horizontalpodautoscaler_spec_max_replicas", hpa, endMs, 60);
      at(
        "kube_horizontalpodautoscaler_spec_target_metric",
        { ...hpa, metric_name: "cpu", metric_target_type: "utilization" },
        endMs,
        60,
      );
      for (const [place, each] of containers.entries()) {
        const pod = { pod: `${service}-5d9-${place}` };
        const container = { ...pod, container: service };
        const created = { created_by_kind: "ReplicaSet", created_by_name: `${service}-5d9` };
        at("kube_pod_info", { ...pod, node: "node-a", ...created }, endMs, 1);
        at("kube_pod_status_ready", { ...pod, condition: "true" }, endMs, 1);
        at("kube_pod_start_time", pod, endMs, startMs / 1e3 - 600);
        const image = `registry.example.com/${service}:1`;
        at(
          "kube_pod_container_info",
          { ...container, container_id: `containerd://${service}${place}`, image },
          endMs,
          1,
        );
        scrapes.counter(
          endMs,
          "container_cpu_usage_seconds_total",
          { namespace: NAMESPACE, ...container },
          (each.cpuUsageCores ?? 0) * seconds,
        );
        at("container_memory_working_set_bytes", container, endMs, each.memoryWorkingSetBytes ?? 1e8);
        const sizes = [
          ["requests", "cpu", each.cpuRequestCores],
          ["limits", "cpu", each.cpuLimitCores],
          ["requests", "memory", each.memoryRequestBytes],
          ["limits", "memory", each.memoryLimitBytes],
        ] as const;
        for (const [what, resource, value] of sizes.filter(([, , size]) => size !== undefined))
          at(`kube_pod_container_resource_${what}`, { ...container, resource }, endMs, value ?? 0);
      }
    }
    at(
      "kube_ingress_path",
      { ingress: "shop", path: "/", service_name: entry, service_port: "80" },
      endMs,
      1,
    );
  }
  return scrapes.series();
}

/** The same series, hour by hour: a store takes what follows, and little that is older. */
export function* byHour(
  series: readonly PushedSeries[],
  sets: readonly WindowSet[],
): Generator<PushedSeries[]> {
  const [first, last] = [sets[0]?.startMs ?? 0, sets.at(-1)?.endMs ?? 0];
  for (let fromMs = first; fromMs <= last; fromMs += 3_600_000) {
    yield series.flatMap(({ labels, samples = [] }) => {
      const within = samples.filter(([atMs]) => atMs >= fromMs && atMs < fromMs + 3_600_000);
      return within.length === 0 ? [] : [{ labels, samples: within }];
    });
  }
}
