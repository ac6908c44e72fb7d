import type { NativeSample, PushedSeries } from "./remote-write.ts";

/** A counter that grows evenly, as scraped at these times. */
function counter(
  labels: Record<string, string>,
  perSecond: number,
  timesMs: readonly number[],
): PushedSeries {
  const beginMs = timesMs[0] ?? 0;
  return {
    labels,
    samples: timesMs.map((timeMs) => [timeMs, (perSecond * (timeMs - beginMs)) / 1_000] as const),
  };
}

function gauge(labels: Record<string, string>, value: number, timesMs: readonly number[]): PushedSeries {
  return { labels, samples: timesMs.map((timeMs) => [timeMs, value] as const) };
}

interface Mesh {
  readonly requests: string;
  readonly latency: string;
  readonly unit: number;
  readonly server: (workload: string) => Record<string, string>;
  readonly client: (from: string, to: string) => Record<string, string>;
  readonly status: (failed: boolean) => Record<string, string>;
}

const MESHES: readonly Mesh[] = [
  {
    requests: "istio_requests_total",
    latency: "istio_request_duration_milliseconds",
    unit: 1_000,
    server: (workload) => ({
      reporter: "destination",
      source_workload: "any",
      source_workload_namespace: "shop",
      destination_workload: workload,
      destination_workload_namespace: "shop",
    }),
    client: (from, to) => ({
      reporter: "source",
      source_workload: from,
      source_workload_namespace: "shop",
      destination_workload: to,
      destination_workload_namespace: "shop",
    }),
    status: (failed) => ({ response_code: failed ? "503" : "200" }),
  },
  {
    requests: "response_total",
    latency: "response_latency_ms",
    unit: 1_000,
    server: (workload) => ({ direction: "inbound", deployment: workload, namespace: "shop" }),
    client: (from, to) => ({
      direction: "outbound",
      deployment: from,
      namespace: "shop",
      dst_deployment: to,
      dst_namespace: "shop",
    }),
    status: (failed) => ({ classification: failed ? "failure" : "success" }),
  },
  {
    requests: "hubble_http_requests_total",
    latency: "hubble_http_request_duration_seconds",
    unit: 1,
    server: (workload) => ({
      reporter: "server",
      destination_workload: workload,
      destination_namespace: "shop",
    }),
    client: (from, to) => ({
      reporter: "client",
      source_workload: from,
      source_namespace: "shop",
      destination_workload: to,
      destination_namespace: "shop",
    }),
    status: (failed) => ({ status: failed ? "500" : "200" }),
  },
];

/** 10 requests/s of front, a tenth failing, 50 ms each; each calls cart twice for 10 ms. In every mesh's metrics. */
export function meshSeries(timesMs: readonly number[]): PushedSeries[] {
  return MESHES.flatMap(({ requests, latency, unit, server, client, status }) => {
    const distribution = (
      labels: Record<string, string>,
      perSecond: number,
      seconds: number,
    ): PushedSeries[] => [
      ...[0.005, 0.02, 0.1, Number.POSITIVE_INFINITY].map((bound) => {
        const le = bound === Number.POSITIVE_INFINITY ? "+Inf" : String(bound * unit);
        return counter(
          { ...labels, __name__: `${latency}_bucket`, le },
          seconds <= bound ? perSecond : 0,
          timesMs,
        );
      }),
      counter({ ...labels, __name__: `${latency}_sum` }, perSecond * seconds * unit, timesMs),
      counter({ ...labels, __name__: `${latency}_count` }, perSecond, timesMs),
    ];
    const served = (
      workload: string,
      perSecond: number,
      failing: number,
      seconds: number,
    ): PushedSeries[] => [
      counter({ ...server(workload), ...status(false), __name__: requests }, perSecond - failing, timesMs),
      ...(failing > 0
        ? [counter({ ...server(workload), ...status(true), __name__: requests }, failing, timesMs)]
        : []),
      ...distribution(server(workload), perSecond, seconds),
    ];
    const calls = counter({ ...client("front", "cart"), ...status(false), __name__: requests }, 20, timesMs);
    return [
      served("front", 10, 1, 0.05),
      served("cart", 20, 0, 0.01),
      [calls],
      distribution(client("front", "cart"), 20, 0.01),
    ].flat();
  });
}

/** The same series, as another Prometheus stores them that scrapes a little later. */
export function storedBy(series: readonly PushedSeries[], replica: string, delayMs: number): PushedSeries[] {
  return series.map(({ labels, samples = [] }) => ({
    labels: { ...labels, prometheus_replica: replica },
    samples: samples.map(([timeMs, value], index) => {
      const [nextMs, next] = samples[index + 1] ?? [timeMs + 1, value];
      return [timeMs + delayMs, value + ((next - value) * delayMs) / (nextMs - timeMs)] as const;
    }),
  }));
}

/** The latency of {@link meshSeries} in Istio's names as native histograms of schema 0, beside its counters. */
export function nativeMeshSeries(timesMs: readonly number[]): PushedSeries[] {
  const [istio] = MESHES;
  if (istio === undefined) return [];
  const { client, latency, requests, server } = istio;
  const distribution = (
    labels: Record<string, string>,
    perSecond: number,
    [millis, bucket]: readonly [number, number],
  ): PushedSeries => ({
    labels: { ...labels, __name__: latency },
    histograms: timesMs.map((timestamp): NativeSample => {
      const calls = Math.round((perSecond * (timestamp - (timesMs[0] ?? 0))) / 1_000);
      return {
        timestamp,
        countInt: calls,
        sum: calls * millis,
        schema: 0,
        zeroThreshold: 0.001,
        zeroCountInt: 0,
        positiveSpans: [{ offset: bucket, length: 1 }],
        positiveDeltas: [calls],
      };
    }),
  });
  return [
    ...meshSeries(timesMs).filter(({ labels }) => labels["__name__"] === requests),
    distribution(server("front"), 10, [50, 6]),
    distribution(server("cart"), 20, [10, 4]),
    distribution(client("front", "cart"), 20, [10, 4]),
  ];
}

/** Half of 8 calls/s in (1, 2] s, half in (2, 4] s, mean 2 s, as a native histogram of schema 0. */
export function nativeSeries(timesMs: readonly number[]): PushedSeries[] {
  const histograms = timesMs.map((timestamp, index): NativeSample => {
    const calls = 60 * (index + 1);
    return {
      timestamp,
      countInt: 2 * calls,
      sum: 4 * calls,
      schema: 0,
      zeroThreshold: 0.001,
      zeroCountInt: 0,
      positiveSpans: [{ offset: 1, length: 2 }],
      positiveDeltas: [calls, 0],
    };
  });
  return [{ labels: { __name__: "native_seconds", service: "slow", instance: "a" }, histograms }];
}

/** A deployment of two with one ready pod, a stateful set, and the node of that pod. */
export function clusterSeries(timesMs: readonly number[]): PushedSeries[] {
  const beginMs = timesMs[0] ?? 0;
  const named = (__name__: string, labels: Record<string, string>): Record<string, string> => ({
    __name__,
    namespace: "shop",
    ...labels,
  });
  const pod = { pod: "cart-5d9-x" };
  const container = { ...pod, container: "cart" };
  const node = (__name__: string, labels: Record<string, string> = {}): Record<string, string> => ({
    __name__,
    instance: "10.0.0.1:9100",
    ...labels,
  });
  const level = (labels: Record<string, string>, value: number): PushedSeries =>
    gauge(labels, value, timesMs);
  const grows = (labels: Record<string, string>, perSecond: number): PushedSeries =>
    counter(labels, perSecond, timesMs);
  return [
    level(
      named("kube_pod_info", {
        ...pod,
        node: "node-a",
        created_by_kind: "ReplicaSet",
        created_by_name: "cart-5d9",
      }),
      1,
    ),
    level(
      named("kube_replicaset_owner", {
        replicaset: "cart-5d9",
        owner_kind: "Deployment",
        owner_name: "cart",
      }),
      1,
    ),
    level(named("kube_pod_container_info", { ...container, container_id: "containerd://0123abcd" }), 1),
    level(named("kube_pod_status_ready", { ...pod, condition: "true" }), 1),
    level(named("kube_pod_start_time", pod), beginMs / 1_000 - 600),
    level(named("kube_deployment_spec_replicas", { deployment: "cart" }), 2),
    level(named("kube_deployment_status_replicas_ready", { deployment: "cart" }), 1),
    level(named("kube_statefulset_replicas", { statefulset: "orders" }), 3),
    level(named("kube_statefulset_status_replicas_ready", { statefulset: "orders" }), 3),
    grows(named("container_cpu_usage_seconds_total", container), 0.4),
    grows(named("container_cpu_usage_seconds_total", { ...pod, container: "POD" }), 9),
    grows(named("container_cpu_cfs_periods_total", container), 10),
    grows(named("container_cpu_cfs_throttled_periods_total", container), 2.5),
    grows(named("container_cpu_cfs_throttled_seconds_total", container), 0.05),
    level(named("container_memory_working_set_bytes", container), 100e6),
    level(named("kube_pod_container_resource_requests", { ...container, resource: "cpu" }), 0.5),
    level(named("kube_pod_container_resource_limits", { ...container, resource: "cpu" }), 1),
    level(named("kube_pod_container_resource_requests", { ...container, resource: "memory" }), 128e6),
    level(named("kube_pod_container_resource_limits", { ...container, resource: "memory" }), 256e6),
    level(node("node_uname_info", { nodename: "node-a" }), 1),
    ...["0", "1", "2", "3"].flatMap((cpu) => [
      grows(node("node_cpu_seconds_total", { cpu, mode: "idle" }), 0.5),
      grows(node("node_cpu_seconds_total", { cpu, mode: "user" }), 0.5),
    ]),
    level(node("node_memory_MemTotal_bytes"), 8e9),
    level(node("node_memory_MemAvailable_bytes"), 6e9),
    grows(node("node_network_receive_bytes_total", { device: "eth0" }), 1e6),
    grows(node("node_network_transmit_bytes_total", { device: "eth0" }), 1e6),
    level(node("node_network_speed_bytes", { device: "eth0" }), 125e6),
  ];
}
