import type { FakeSeries } from "../../../test/predictor/sources/prometheus/fake-prometheus.ts";
import type { World } from "../traffic.ts";
import type { RequestCase } from "./case.ts";

/** Series are there this long before the first window, s. */
const HISTORY_SECONDS = 1_200;
/** Bounds of buckets, in multiples of what every request takes: its percentiles lie between the two in the middle. */
const BOUNDS = [0.1, 0.5, 0.98, 1.02, 2, 10];

interface Scraped {
  readonly counter?: string;
  readonly histogram: string;
  /** What one unit of the histogram is worth, s. */
  readonly unit?: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly perSecond: number;
  readonly seconds: number;
  readonly everySeconds?: number;
  readonly offsetSeconds?: number;
  /** The process starts anew, and counts from 0, so long after the first window began. */
  readonly restartsAfterSeconds?: number;
}

/** A counter and a histogram of requests that all take the same time, as a server has scraped them. */
function scrape(world: World, one: Scraped): void {
  const {
    everySeconds = 15,
    labels,
    offsetSeconds = 0,
    perSecond,
    restartsAfterSeconds = Infinity,
    seconds,
    unit = 1,
  } = one;
  const grow = (name: string, share: number, more: Record<string, string> = {}): void => {
    const samples: FakeSeries["samples"] = [];
    const beginSeconds = world.fromMs / 1e3 - HISTORY_SECONDS;
    const restartSeconds = world.fromMs / 1e3 + restartsAfterSeconds;
    for (let at = beginSeconds + offsetSeconds; at <= world.toMs / 1e3 + 60; at += everySeconds) {
      const sinceSeconds = at - (at < restartSeconds ? beginSeconds : restartSeconds);
      samples.push([at, String(share * Math.floor(perSecond * sinceSeconds))]);
    }
    world.series.push({ labels: { ...labels, ...more, __name__: name }, samples });
  };
  if (one.counter !== undefined) grow(one.counter, 1);
  for (const bound of [...BOUNDS, Infinity]) {
    const le = bound === Infinity ? "+Inf" : String(Number(((bound * seconds) / unit).toPrecision(6)));
    grow(`${one.histogram}_bucket`, bound >= 1 ? 1 : 0, { le });
  }
  grow(`${one.histogram}_sum`, seconds / unit);
  grow(`${one.histogram}_count`, 1);
}

interface Family {
  readonly counter?: string;
  readonly histogram: string;
  readonly unit?: number;
  readonly served: (service: string) => Record<string, string>;
  /** Absent where the family has no calls. */
  readonly called?: (from: string, to: string) => Record<string, string>;
}

const RATE = 10;
const SECONDS = { web: 0.2, search: 0.05 };

function note(world: World, service: "search" | "web", perSecond = RATE): void {
  const { truth } = world;
  const ms = 1e3 * SECONDS[service];
  for (let endMs = world.fromMs; endMs < world.toMs; endMs += 1e3 / perSecond) {
    truth.note(truth.requests, service, { endMs, ms });
    if (service === "web") truth.note(truth.users, "all", { endMs, ms });
  }
}

/** `web` asks `search` for each request; both are measured by one family. */
function measured(family: Family, how: Partial<Scraped> = {}): (world: World) => void {
  const { called, served, ...names } = family;
  return (world) => {
    for (const service of ["web", "search"] as const) {
      note(world, service);
      const labels = { ...served(service), ...how.labels };
      scrape(world, { ...names, perSecond: RATE, seconds: SECONDS[service], ...how, labels });
    }
    if (called === undefined) return;
    const labels = { ...called("web", "search"), ...how.labels };
    scrape(world, { ...names, perSecond: RATE, seconds: SECONDS.search, ...how, labels });
    const ms = 1e3 * SECONDS.search;
    for (let endMs = world.fromMs; endMs < world.toMs; endMs += 1e3 / RATE)
      world.truth.note(world.truth.calls, "web search", { endMs, ms });
  };
}

const ISTIO: Family = {
  counter: "istio_requests_total",
  histogram: "istio_request_duration_milliseconds",
  unit: 0.001,
  served: (service) => ({
    reporter: "destination",
    destination_workload: service,
    destination_workload_namespace: "shop",
    response_code: "200",
  }),
  called: (from, to) => ({
    reporter: "source",
    source_workload: from,
    source_workload_namespace: "shop",
    destination_workload: to,
    destination_workload_namespace: "shop",
    response_code: "200",
  }),
};
const LINKERD: Family = {
  counter: "response_total",
  histogram: "response_latency_ms",
  unit: 0.001,
  served: (service) => ({
    direction: "inbound",
    namespace: "shop",
    deployment: service,
    classification: "success",
  }),
  called: (from, to) => ({
    direction: "outbound",
    namespace: "shop",
    deployment: from,
    dst_namespace: "shop",
    dst_deployment: to,
    classification: "success",
  }),
};
const SPAN_METRICS: Family = {
  counter: "traces_span_metrics_calls_total",
  histogram: "traces_span_metrics_duration_milliseconds",
  unit: 0.001,
  served: (service) => ({
    service_name: service,
    span_kind: "SPAN_KIND_SERVER",
    status_code: "STATUS_CODE_UNSET",
  }),
};
const SEMCONV: Family = {
  histogram: "http_server_request_duration_seconds",
  served: (service) => ({ job: `shop/${service}`, http_route: "/", http_response_status_code: "200" }),
};
const OLD_SEMCONV: Family = {
  histogram: "http_server_duration_milliseconds",
  unit: 0.001,
  served: (service) => ({ exported_job: service, job: "collector", http_status_code: "200" }),
};
const MICROMETER: Family = {
  histogram: "http_server_requests_seconds",
  served: (service) => ({
    namespace: "shop",
    pod: `${service}-7c9d8f6b5-x2x4v`,
    job: service,
    uri: "/",
    method: "GET",
    status: "200",
    outcome: "SUCCESS",
  }),
};
const PROM_CLIENT: Family = {
  histogram: "http_request_duration_seconds",
  served: (service) => ({
    namespace: "shop",
    pod: `${service}-7c9d8f6b5-x2x4v`,
    service,
    handler: "/",
    method: "GET",
    code: "200",
  }),
};

const services = ["web", "search"];
const setting = { services };

export const METRICS: readonly RequestCase[] = [
  { name: "istio", setting, make: measured(ISTIO) },
  { name: "istio-scraped-every-minute", setting, make: measured(ISTIO, { everySeconds: 60 }) },
  { name: "istio-scraped-every-half-minute", setting, make: measured(ISTIO, { everySeconds: 30 }) },
  {
    name: "istio-processes-that-start-anew",
    setting,
    make: measured(ISTIO, { everySeconds: 5, restartsAfterSeconds: 47 }),
  },
  {
    name: "istio-stored-twice",
    setting,
    make: (world) => {
      for (const [index, replica] of ["prometheus-0", "prometheus-1"].entries())
        measured(ISTIO, { labels: { prometheus_replica: replica }, offsetSeconds: 4 * index })(world);
      halved(world);
    },
  },
  {
    name: "istio-of-two-clusters",
    setting,
    isLost: true,
    make: (world) => {
      measured(ISTIO, { labels: { cluster: "eu" } })(world);
      measured(ISTIO, { labels: { cluster: "us" }, perSecond: 40, offsetSeconds: 1 })(world);
    },
  },
  {
    name: "istio-of-two-pods-each",
    setting,
    make: (world) => {
      for (const pod of ["a", "b"]) measured(ISTIO, { labels: { pod }, perSecond: RATE / 2 })(world);
      halved(world);
    },
  },
  { name: "linkerd", setting, make: measured(LINKERD) },
  {
    name: "linkerd-with-probes",
    setting,
    make: (world) => {
      measured(LINKERD)(world);
      for (const service of services)
        scrape(world, {
          ...LINKERD,
          labels: { ...LINKERD.served(service), srv_port: "4191", target_port: "4191" },
          perSecond: 3,
          seconds: 0.001,
        });
    },
  },
  { name: "span-metrics", setting, make: measured(SPAN_METRICS) },
  {
    name: "span-metrics-with-health-checks",
    setting,
    make: withHealthChecks(SPAN_METRICS, { span_name: "GET /readyz" }),
  },
  {
    name: "semconv-with-health-checks",
    setting,
    make: withHealthChecks(SEMCONV, { http_route: "/livez" }),
  },
  {
    name: "span-metrics-without-suffixes",
    setting,
    make: measured({
      ...SPAN_METRICS,
      counter: "traces_span_metrics_calls",
      histogram: "traces_span_metrics_duration",
    }),
  },
  {
    name: "span-metrics-written-by-several",
    setting,
    isLost: true,
    make: (world) => {
      measured(SPAN_METRICS)(world);
      for (const series of world.series)
        series.samples = series.samples.map(([at, value], index) => [
          at,
          String(Number(value) / (1 + (index % 3))),
        ]);
    },
  },
  { name: "semconv", setting, make: measured(SEMCONV) },
  { name: "semconv-of-old", setting, make: measured(OLD_SEMCONV) },
  {
    name: "family-of-another-team-beside-ours",
    setting,
    make: (world) => {
      measured(SPAN_METRICS)(world);
      const labels = { ...ISTIO.served("billing"), destination_workload_namespace: "payments" };
      scrape(world, { ...ISTIO, labels, perSecond: 100, seconds: 1 });
    },
  },
  { name: "micrometer", setting, make: measured(MICROMETER) },
  { name: "prometheus-clients", setting, make: measured(PROM_CLIENT) },
  {
    name: "a-pod-that-is-scraped-no-more",
    setting,
    isLost: true,
    make: (world) => {
      measured(ISTIO)(world);
      const stopSeconds = world.fromMs / 1e3 + 60;
      for (const series of world.series)
        if (series.labels["destination_workload"] === "search" && series.labels["reporter"] === "destination")
          series.samples = series.samples.filter(([at]) => at < stopSeconds);
    },
  },
];

/** Three checks a second beside the requests of each service. */
function withHealthChecks(family: Family, path: Readonly<Record<string, string>>): (world: World) => void {
  return (world) => {
    measured(family)(world);
    for (const service of services) {
      const labels = { ...family.served(service), ...path };
      scrape(world, { ...family, labels, perSecond: 3, seconds: 0.001 });
    }
  };
}

/** What two series tell of together is true once. */
function halved({ truth }: World): void {
  for (const counts of [truth.requests, truth.users, truth.calls])
    for (const [key, events] of counts) counts.set(key, events.slice(0, events.length / 2));
}
