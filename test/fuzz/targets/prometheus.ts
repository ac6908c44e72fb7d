import { LatencySummary, WindowSet } from "@tradewind/core/contract/window.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { summarise } from "@tradewind/predictor/sources/prometheus/bucket.ts";
import {
  cumulativeBuckets,
  mergeBuckets,
  parseBound,
  plainBuckets,
} from "@tradewind/predictor/sources/prometheus/classic-histogram.ts";
import { counterColumn } from "@tradewind/predictor/sources/prometheus/counter.ts";
import { singleWindow } from "@tradewind/predictor/sources/prometheus/grid.ts";
import { readNativeHistogram } from "@tradewind/predictor/sources/prometheus/native-histogram.ts";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import { PrometheusSource } from "@tradewind/predictor/sources/prometheus/prometheus-source.ts";
import { readSamples } from "@tradewind/predictor/sources/prometheus/samples.ts";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import type { ResourceView } from "@tradewind/predictor/window/resources.ts";
import { attempt, attemptAsync, expect, expectNumbers, never } from "../engine/oracle.ts";
import type { Target } from "../engine/target.ts";
import { textTarget, valueTarget } from "./kinds.ts";
import { answerWith } from "./traces.ts";

const END_S = 1_800_000_000;
const INTERVAL = { startMs: (END_S - 60) * 1_000, endMs: END_S * 1_000 };
const GRID = singleWindow(INTERVAL.startMs, INTERVAL.endMs);
const TIMES = [END_S - 75, END_S - 60, END_S - 45, END_S - 30, END_S - 15, END_S];

const growing = (perSecond: number): unknown[] =>
  TIMES.map((time, at) => [time, String(100 + 15 * at * perSecond)]);
const matrix = (...series: readonly (readonly [object, number])[]): unknown => ({
  status: "success",
  data: { resultType: "matrix", result: series.map(([metric, rate]) => ({ metric, values: growing(rate) })) },
});
const vector = (...series: readonly (readonly [object, unknown])[]): unknown => ({
  status: "success",
  data: {
    resultType: "vector",
    result: series.map(([metric, value]) => ({ metric, value: [END_S, value] })),
  },
  warnings: ["a store did not answer"],
});

const FRONT = { service_name: "front", span_kind: "SPAN_KIND_SERVER", k8s_namespace_name: "shop" };
const NATIVE = {
  count: "12",
  sum: "3.4",
  buckets: [
    [0, "0.25", "0.35", "8"],
    [0, "0.35", "0.5", "4"],
  ],
};
const CALLS = "traces_span_metrics_calls_total";
const SECONDS = "traces_span_metrics_duration_seconds";

/** Answers by the metric that the question names, longest name first. */
const CLASSIC: Readonly<Record<string, unknown>> = {
  "count by (__name__)": vector([{ __name__: CALLS }, "2"], [{ __name__: `${SECONDS}_bucket` }, "6"]),
  [`${SECONDS}_bucket`]: matrix(
    [{ ...FRONT, le: "0.1" }, 5],
    [{ ...FRONT, le: "0.5" }, 8],
    [{ ...FRONT, le: "+Inf" }, 10],
    [{ ...FRONT, service_name: "cart", le: "0.5" }, 9],
    [{ ...FRONT, service_name: "cart", le: "+Inf" }, 9],
  ),
  [`${SECONDS}_sum`]: matrix([FRONT, 2], [{ ...FRONT, service_name: "cart" }, 1]),
  [CALLS]: matrix(
    [{ ...FRONT, status_code: "STATUS_CODE_OK" }, 9],
    [{ ...FRONT, status_code: "STATUS_CODE_ERROR" }, 1],
  ),
  traces_service_graph_request_total: matrix([{ client: "front", server: "cart" }, 9]),
  traces_service_graph_request_client_seconds_sum: matrix([{ client: "front", server: "cart" }, 0.5]),
};
const NATIVE_ANSWERS: Readonly<Record<string, unknown>> = {
  ...CLASSIC,
  "count by (__name__)": vector([{ __name__: CALLS }, "2"], [{ __name__: SECONDS }, "1"]),
  [SECONDS]: {
    status: "success",
    data: { resultType: "vector", result: [{ metric: FRONT, histogram: [END_S, NATIVE] }] },
  },
};
const POD = { namespace: "shop", pod: "front-1", container: "main", node: "node-1" };
const CLUSTER: Readonly<Record<string, unknown>> = {
  kube_pod_info: vector([{ ...POD, created_by_kind: "ReplicaSet", created_by_name: "front-5d4f8c7b9" }, "1"]),
  kube_replicaset_owner: vector([
    { namespace: "shop", replicaset: "front-5d4f8c7b9", owner_kind: "Deployment", owner_name: "front" },
    "1",
  ]),
  kube_pod_container_info: vector([{ ...POD, container_id: "containerd://a1" }, "1"]),
  kube_pod_status_ready: vector([POD, "1"]),
  kube_pod_start_time: vector([POD, String(END_S - 600)]),
  kube_deployment_spec_replicas: vector([{ namespace: "shop", deployment: "front" }, "2"]),
  kube_deployment_status_replicas_ready: vector([{ namespace: "shop", deployment: "front" }, "2"]),
  kube_pod_container_resource_limits: vector([POD, "1"]),
  container_cpu_usage_seconds_total: vector([POD, "0.4"]),
  container_cpu_cfs_periods_total: vector([POD, "10"]),
  container_cpu_cfs_throttled_periods_total: vector([POD, "3"]),
  container_memory_working_set_bytes: vector([POD, "1e8"]),
  node_cpu_seconds_total: vector([{ instance: "node-1:9100" }, "1.5"]),
};

const isTradewindError = (error: unknown): boolean => error instanceof TradewindError;

/** Windows and resources from whatever a server answers; the windows hold to their contract. */
function source(name: string, seeds: readonly unknown[], options: object): Target {
  return valueTarget(
    `prometheus/${name}`,
    seeds,
    async (value) => {
      const answers = Object.entries((value ?? {}) as Record<string, unknown>).sort(
        ([a], [b]) => b.length - a.length,
      );
      const reader = new PrometheusSource(
        PrometheusOptions.parse({ url: "http://prometheus:9090", metrics: "otel", ...options }),
        { namespace: "shop", entries: () => ["front"] },
      );
      answerWith(
        reader.endpoint,
        (_path, query) => answers.find(([metric]) => query.includes(metric))?.[1] ?? {},
      );
      const view: ResourceView | undefined = await attemptAsync(
        async () => reader.resources(INTERVAL),
        isTradewindError,
      );
      const set = await attemptAsync(
        async () => reader.windows(INTERVAL, view ?? NO_RESOURCES),
        isTradewindError,
      );
      if (set === undefined) return;
      const parsed = WindowSet.safeParse(set);
      expect(parsed.success, "contract", () => `the windows are not valid: ${parsed.error?.message ?? ""}`);
    },
    "slow",
  );
}

/** A latency that was formed holds to its contract, and its percentiles rise. */
function expectLatency(latency: unknown): void {
  if (latency === undefined) return;
  const parsed = LatencySummary.safeParse(latency);
  expect(parsed.success, "latency", () => `not a latency: ${JSON.stringify(latency)}`);
  const { p50Seconds = 0, p95Seconds = 0, p99Seconds = 0 } = parsed.data ?? {};
  expect(p50Seconds <= p95Seconds && p95Seconds <= p99Seconds, "order", () => JSON.stringify(latency));
}

const native = valueTarget("prometheus/native-histogram", [NATIVE], (value) => {
  for (const unit of [1, 0.001]) {
    const histogram = attempt(() => readNativeHistogram(value, unit), never);
    if (histogram === undefined) continue;
    expectNumbers([histogram.count, histogram.buckets.counts, histogram.buckets.lowers]);
    expectLatency(summarise(histogram.buckets, histogram.sum * unit, histogram.count, 15));
  }
});

const classic = valueTarget(
  "prometheus/classic-histogram",
  [
    [
      {
        sum: 2.5,
        points: [
          ["0.1", 5],
          ["0.5", 8],
          ["+Inf", 10],
        ],
      },
      {
        sum: 1.5,
        points: [
          ["0.1", 5],
          ["0.25", 6],
          ["0.5", 8],
          ["+Inf", 10],
        ],
      },
    ],
  ],
  (value) => {
    if (!Array.isArray(value)) return;
    const histograms = value.flatMap((each) => {
      const { points, sum } = (each ?? {}) as { points?: unknown; sum?: unknown };
      const known = new Map<number, number>();
      for (const pair of Array.isArray(points) ? points : []) {
        const [le, count] = Array.isArray(pair) ? (pair as unknown[]) : [];
        const bound = typeof le === "string" ? attempt(() => parseBound(le), never) : undefined;
        if (bound !== undefined && typeof count === "number") known.set(bound, count);
      }
      return attempt(() => cumulativeBuckets(known, typeof sum === "number" ? sum : Number.NaN), never) ?? [];
    });
    const { merged } = mergeBuckets(histograms);
    const calls = merged?.cumulative.at(-1) ?? 0;
    if (merged === undefined || calls <= 0) return;
    expectLatency(attempt(() => summarise(plainBuckets(merged, 1), merged.sum, calls, 15), never));
  },
);

const samples = valueTarget("prometheus/samples", [growing(3)], (value) => {
  if (!Array.isArray(value)) return;
  const read = attempt(() => readSamples(value, INTERVAL.startMs - 60_000, INTERVAL.endMs), never);
  if (read === undefined) return;
  const { dropped, timesMs, values } = read;
  expect(
    timesMs.length + dropped === value.length,
    "count",
    () => `${timesMs.length} + ${dropped} of ${value.length}`,
  );
  expect(values.every(Number.isFinite), "number", () => "a sample that is no number");
  expect(
    timesMs.every((at, index) => index === 0 || at > (timesMs[index - 1] ?? 0)),
    "order",
    () => "times do not rise",
  );
  const { perSecond } = counterColumn(read, GRID, 60_000);
  const rate = perSecond[0] ?? Number.NaN;
  expect(Number.isNaN(rate) || rate >= 0, "rate", () => `a rate of ${rate}`);
});

export const PROMETHEUS_TARGETS: readonly Target[] = [
  textTarget("prometheus/bound", ["0.1", "+Inf", "1e+06"], (text) => {
    const bound = attempt(() => parseBound(text), never);
    expect(!Number.isNaN(bound ?? 0), "number", () => "a bound that is no number");
  }),
  classic,
  native,
  samples,
  source("classic", [CLASSIC, { ...CLASSIC, ...CLUSTER }], { resources: true }),
  source("native", [NATIVE_ANSWERS], {}),
  source("server-rates", [CLASSIC], { strategy: "server" }),
];
