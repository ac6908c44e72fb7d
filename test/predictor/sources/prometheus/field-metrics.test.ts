import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Window } from "@tradewind/core/contract/window.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import { PrometheusSource } from "@tradewind/predictor/sources/prometheus/prometheus-source.ts";
import type { Finding } from "@tradewind/predictor/sources/source.ts";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import { FakePrometheus } from "./fake-prometheus.ts";
import type { FakeSeries } from "./fake-prometheus.ts";

const END_MS = 1_800_000_000_000;
const WINDOW_MS = 15_000;

interface Scrapes {
  readonly everySeconds?: number;
  readonly offsetSeconds?: number;
  readonly from?: number;
  /** Before the end of the window. */
  readonly stopSeconds?: number;
}

/** A counter that has grown evenly for twenty minutes and is scraped. */
function counter(labels: Record<string, string>, perSecond: number, scrapes: Scrapes = {}): FakeSeries {
  const { everySeconds = 5, from = 0, offsetSeconds = 0, stopSeconds = 0 } = scrapes;
  const samples: [number, string][] = [];
  for (let at = offsetSeconds; at <= 1_200 - stopSeconds; at += everySeconds) {
    samples.push([END_MS / 1_000 - 1_200 + at, String(from + Math.floor(perSecond * at))]);
  }
  return { labels, samples };
}

const BOUNDS_SECONDS = [0.01, 0.1, 0.3, 1, 10];

interface Histogram {
  readonly name: string;
  readonly unit: number;
}

/** Requests of which each takes so many seconds, as a classic histogram. */
function histogram(
  { name, unit }: Histogram,
  labels: Record<string, string>,
  [perSecond, seconds]: readonly [number, number],
  scrapes?: Scrapes,
): FakeSeries[] {
  const part = (suffix: string, rate: number, more = {}): FakeSeries =>
    counter({ ...labels, ...more, __name__: `${name}_${suffix}` }, rate, scrapes);
  return [
    ...[...BOUNDS_SECONDS, Number.POSITIVE_INFINITY].map((bound) => {
      const le = bound === Number.POSITIVE_INFINITY ? "+Inf" : String(bound / unit);
      return part("bucket", seconds <= bound ? perSecond : 0, { le });
    }),
    part("sum", (perSecond * seconds) / unit),
    part("count", perSecond),
  ];
}

const ISTIO = { name: "istio_request_duration_milliseconds", unit: 0.001 };

/** Requests that Istio measures beside a workload. */
function istio(
  workload: string,
  traffic: readonly [number, number],
  more: Record<string, string> = {},
  scrapes?: Scrapes,
): FakeSeries[] {
  const labels = {
    reporter: "destination",
    destination_workload: workload,
    destination_workload_namespace: "shop",
    response_code: "200",
    ...more,
  };
  return [
    counter({ ...labels, __name__: "istio_requests_total" }, traffic[0], scrapes),
    ...histogram(ISTIO, labels, traffic, scrapes),
  ];
}

const shop = (more: Record<string, string> = {}, scrapes?: Scrapes): FakeSeries[] => [
  ...istio("front", [10, 0.2], more, scrapes),
  ...istio("cart", [20, 0.05], more, scrapes),
];

/** Requests by span metrics of these names. */
function spanMetrics(
  calls: string,
  latency: Histogram,
  services: Readonly<Record<string, readonly [number, number]>>,
  more: Record<string, string> = {},
): FakeSeries[] {
  return Object.entries(services).flatMap(([service, traffic]) => {
    const labels = { service_name: service, span_kind: "SPAN_KIND_SERVER", ...more };
    return [
      counter({ ...labels, __name__: calls, status_code: "STATUS_CODE_UNSET" }, traffic[0]),
      ...histogram(latency, labels, traffic),
    ];
  });
}

let fake: FakePrometheus;
let source: PrometheusSource;
beforeEach(async () => {
  fake = await FakePrometheus.start();
  source = open();
});
afterEach(async () => {
  await source.close();
  await fake.server.stop();
});

function open(options: Record<string, unknown> = {}): PrometheusSource {
  return new PrometheusSource(
    PrometheusOptions.parse({ url: fake.server.url, maxAttempts: 1, timeoutSeconds: 2, ...options }),
    { namespace: "shop", entries: () => ["front"] },
  );
}

async function windows(endMs = END_MS): Promise<ReadonlyMap<string, Window>> {
  const set = await source.windows({ startMs: endMs - WINDOW_MS, endMs }, NO_RESOURCES);
  return new Map(WindowSet.parse(set).windows.map((window) => [window.service, window]));
}

async function expectTraffic(
  traffic: Readonly<Record<string, readonly [number, number]>> = { front: [10, 0.2], cart: [20, 0.05] },
): Promise<void> {
  const found = await windows();
  expect([...found.keys()].sort()).toEqual(Object.keys(traffic).sort());
  for (const [service, [perSecond, seconds]] of Object.entries(traffic)) {
    const { missing, requestsPerSecond, responseLatency } = found.get(service)!;
    expect(missing).toBeUndefined();
    expect(requestsPerSecond! / perSecond).toBeCloseTo(1, 1);
    expect(responseLatency!.meanSeconds / seconds).toBeCloseTo(1, 1);
  }
}

const problems = async (): Promise<readonly Finding[]> =>
  (await source.check(END_MS)).filter(({ level }) => level === "problem");

describe("series that a store holds twice", () => {
  beforeEach(() => {
    fake.series = [
      ...shop({ prometheus_replica: "prometheus-0" }),
      ...shop({ prometheus_replica: "prometheus-1" }, { offsetSeconds: 2 }),
    ];
  });

  it("count once, with their latency, and are named by the source and the doctor", async () => {
    await expectTraffic();
    expect(source.remarks()).toMatchObject([
      { message: /prometheus_replica \(prometheus-0, prometheus-1\)/ },
    ]);
    expect(await problems()).toMatchObject([
      { message: /stored 2 times/, remedy: /matchers: \{ prometheus_replica: prometheus-0 \}/ },
    ]);
  });

  it("count once while one of the two is away", async () => {
    await expectTraffic();
    fake.series = [
      ...shop({ prometheus_replica: "prometheus-0" }, { stopSeconds: 60 }),
      ...shop({ prometheus_replica: "prometheus-1" }, { offsetSeconds: 2 }),
    ];
    await expectTraffic();
  });

  it("are not spoken of where a condition picks one of them", async () => {
    source = open({ matchers: { prometheus_replica: "prometheus-0" } });
    await expectTraffic();
    expect(source.remarks()).toEqual([]);
    expect(await problems()).toEqual([]);
  });
});

describe("two clusters in one store", () => {
  const other = [
    ...istio("front", [40, 0.8], { cluster: "us" }),
    ...istio("cart", [80, 0.05], { cluster: "us" }),
  ];

  beforeEach(() => {
    fake.series = [...shop({ cluster: "eu" }), ...other];
  });

  it("give no windows, and say which label tells them apart and what to set", async () => {
    await expect(windows()).rejects.toMatchObject({
      code: "several-clusters",
      message: /cluster \(eu, us\).*matchers: \{ cluster: eu \}/,
    });
    expect(await problems()).toMatchObject([{ message: /cluster \(eu, us\)/ }]);
  });

  it("give those of the one that the source names", async () => {
    source = open({ matchers: { cluster: "eu" } });
    await expectTraffic();
    expect(await problems()).toEqual([]);
  });

  it("are nothing to speak of where the other one has other services, or another namespace", async () => {
    fake.series = [
      ...shop({ cluster: "eu" }),
      ...istio("ads", [5, 0.1], { cluster: "us" }),
      ...istio("front", [99, 0.9], { cluster: "us", destination_workload_namespace: "staging" }),
    ];
    await expectTraffic({ front: [10, 0.2], cart: [20, 0.05], ads: [5, 0.1] });
  });
});

describe("conditions on labels", () => {
  it("are part of every question, about requests, containers and nodes", async () => {
    fake.series = shop({ cluster: "eu" });
    source = open({ matchers: { cluster: "eu", env: "prod" }, resources: true });
    await windows().catch(() => undefined);
    await source.resources({ startMs: END_MS - WINDOW_MS, endMs: END_MS });
    await source.check(END_MS);
    const queries = fake.server.requests
      .map(({ body, url }) => url.searchParams.get("query") ?? new URLSearchParams(body).get("query"))
      .filter((query) => query !== null && query !== "vector(1)");
    expect(queries.length).toBeGreaterThan(30);
    for (const query of queries) {
      for (const part of query!.split(" + ")) expect(part).toContain('cluster="eu",env="prod"');
    }
  });

  it("stand where PromQL of the user's own has $matchers, and must stand in all of it", () => {
    const custom = { requestsPerSecond: "sum by (app) (rate(hits{$matchers}[$range]))" };
    const options = { url: "http://x", metrics: "custom", matchers: { cluster: "eu" }, custom };
    expect(PrometheusOptions.safeParse(options).success).toBe(true);
    const without = { ...custom, errorsPerSecond: "sum by (app) (rate(errors[$range]))" };
    expect(PrometheusOptions.safeParse({ ...options, custom: without }).error?.issues[0]?.message).toMatch(
      /\$matchers/,
    );
  });

  it("are put where $matchers stands in PromQL of the user's own", async () => {
    const custom = { requestsPerSecond: 'sum by (service) (rate(hits{code="200",$matchers}[$range]))' };
    source = open({ metrics: "custom", custom, matchers: { cluster: "eu", env: "prod" } });
    await windows();
    expect(fake.server.requests[0]?.url.searchParams.get("query")).toBe(
      'sum by (service) (rate(hits{code="200",cluster="eu",env="prod"}[60s]))',
    );
  });

  it.each(["a-b", "1a", "", "x".repeat(300), "service.name"])(
    "are refused on a label called '%s'",
    (label) => {
      const options = { url: "http://x", matchers: { [label]: "eu" } };
      expect(PrometheusOptions.safeParse(options).success).toBe(false);
    },
  );
});

describe("a counter that several collectors write as one series", () => {
  const latency = { name: "traces_span_metrics_duration_milliseconds", unit: 0.001 };
  const calls = "traces_span_metrics_calls_total";

  beforeEach(() => {
    const mixed = (series: FakeSeries): FakeSeries => ({
      labels: series.labels,
      samples: series.samples.map(([at, value], index) => [at, String(Number(value) + 1_700 * (index % 3))]),
    });
    fake.series = [
      ...spanMetrics(calls, latency, { front: [10, 0.2] }).map(mixed),
      ...spanMetrics(calls, latency, { cart: [20, 0.05] }),
    ];
  });

  it("gives no rate, no latency and no flow of its service, with the reason, and all of the others", async () => {
    const set = await source.windows({ startMs: END_MS - WINDOW_MS, endMs: END_MS }, NO_RESOURCES);
    const [front, cart] = ["front", "cart"].map((name) =>
      set.windows.find(({ service }) => service === name),
    );
    expect(front).not.toHaveProperty("requestsPerSecond");
    expect(front).not.toHaveProperty("responseLatency");
    expect(front?.missing).toMatch(
      /calls_total falls in more than a tenth of its steps: several processes write one series/,
    );
    expect(cart).toMatchObject({ responseLatency: {} });
    expect(cart?.requestsPerSecond).toBeCloseTo(20, 0);
    expect(set.flows).toEqual([]);
  });

  it("is a problem for the doctor, with the services", async () => {
    expect(await problems()).toMatchObject([{ message: /so of 'front'/, remedy: /label of its own/ }]);
  });
});

describe("metrics: auto", () => {
  const latency = { name: "traces_span_metrics_duration_milliseconds", unit: 0.001 };
  const calls = "traces_span_metrics_calls_total";
  const ours = { front: [10, 0.2], cart: [20, 0.05] } as const;

  it("takes the family that tells of the application, not the one of another namespace", async () => {
    fake.series = [
      ...istio("front", [99, 0.9], { destination_workload_namespace: "payments" }),
      ...spanMetrics(calls, latency, ours),
    ];
    await expectTraffic();
    expect(await source.check(END_MS)).toContainEqual(
      expect.objectContaining({
        message: expect.stringContaining("otel are there, of 2 services of yours") as string,
      }),
    );
  });

  it("takes the family that tells of the entry service, and of two that do the one of more services", async () => {
    fake.series = [
      ...istio("cart", [20, 0.05]),
      ...istio("ads", [20, 0.05]),
      ...istio("stock", [20, 0.05]),
      ...spanMetrics(calls, latency, ours),
    ];
    await expectTraffic();
    source = open();
    fake.series = [...istio("front", [10, 0.2]), ...spanMetrics(calls, latency, ours)];
    await expectTraffic();
  });

  it("has no windows, and says so, where nothing tells of the application", async () => {
    fake.series = istio("front", [99, 0.9], { destination_workload_namespace: "payments" });
    await expect(windows()).rejects.toMatchObject({
      code: "no-series",
      message: /istio tell of 0 services of yours.*payments\/front/,
    });
    expect(await problems()).toMatchObject([{ message: /0 services of yours/, remedy: /namespace/ }]);
  });
});

describe("metrics of what lets requests in", () => {
  const family = (
    [requests, latency]: readonly [string, Histogram],
    labels: Record<string, string>,
    [ok, failed]: readonly [Record<string, string>, Record<string, string>],
  ): FakeSeries[] => [
    counter({ ...labels, ...ok, __name__: requests }, 9),
    counter({ ...labels, ...failed, __name__: requests }, 1),
    ...histogram(latency, labels, [10, 0.2]),
  ];
  const NGINX = "nginx_ingress_controller_requests";
  const NGINX_LATENCY = { name: "nginx_ingress_controller_request_duration_seconds", unit: 1 };
  const TRAEFIK = "traefik_service_requests_total";
  const TRAEFIK_LATENCY = { name: "traefik_service_request_duration_seconds", unit: 1 };
  const ENVOY = "envoy_cluster_upstream_rq_xx";
  const ENVOY_LATENCY = { name: "envoy_cluster_upstream_rq_time", unit: 0.001 };
  const codes = (label: string): [Record<string, string>, Record<string, string>] => [
    { [label]: "200" },
    { [label]: "503" },
  ];
  const classes: [Record<string, string>, Record<string, string>] = [
    { envoy_response_code_class: "2" },
    { envoy_response_code_class: "5" },
  ];
  it.each([
    [
      "ingress-nginx by its own labels",
      family([NGINX, NGINX_LATENCY], { namespace: "shop", service: "front", ingress: "a" }, codes("status")),
    ],
    [
      "ingress-nginx by labels that the scrape renamed",
      family(
        [NGINX, NGINX_LATENCY],
        {
          exported_namespace: "shop",
          exported_service: "front",
          namespace: "ingress-nginx",
          service: "controller",
        },
        codes("status"),
      ),
    ],
    [
      "Traefik by namespace, Service and port of an Ingress",
      family([TRAEFIK, TRAEFIK_LATENCY], { service: "shop-front-80@kubernetes" }, codes("code")),
    ],
    [
      "Traefik by an IngressRoute with a named port",
      family([TRAEFIK, TRAEFIK_LATENCY], { service: "shop-front-http@kubernetescrd" }, codes("code")),
    ],
    [
      "Traefik by a route of the Gateway API",
      family([TRAEFIK, TRAEFIK_LATENCY], { service: "shop-front-http-80@kubernetesgateway" }, codes("code")),
    ],
    [
      "Traefik that labels routers and no services",
      family(
        ["traefik_router_requests_total", { name: "traefik_router_request_duration_seconds", unit: 1 }],
        { router: "shop-web@kubernetes", service: "shop-front-80@kubernetes" },
        codes("code"),
      ),
    ],
    [
      "Envoy by Istio's name of a cluster",
      family(
        [ENVOY, ENVOY_LATENCY],
        { envoy_cluster_name: "outbound|80||front.shop.svc.cluster.local" },
        classes,
      ),
    ],
    [
      "Envoy Gateway by the name of the HTTPRoute",
      family([ENVOY, ENVOY_LATENCY], { envoy_cluster_name: "httproute/shop/front/rule/0" }, classes),
    ],
    [
      "Contour by namespace, Service and port",
      family([ENVOY, ENVOY_LATENCY], { envoy_cluster_name: "shop_front_80" }, classes),
    ],
  ])("are read of the entry service: %s", async (_, series) => {
    fake.series = series;
    const found = await windows();
    expect([...found.keys()]).toEqual(["front"]);
    const { errorRatio, requestsPerSecond, responseLatency } = found.get("front")!;
    expect(requestsPerSecond).toBeCloseTo(10, 0);
    expect(errorRatio).toBeCloseTo(0.1, 1);
    expect(responseLatency!.meanSeconds).toBeCloseTo(0.2, 2);
  });

  it("tell nothing of services of other namespaces, though a name begins alike", async () => {
    fake.series = family(
      [TRAEFIK, TRAEFIK_LATENCY],
      { service: "shopping-front-80@kubernetes" },
      codes("code"),
    );
    await expect(windows()).rejects.toMatchObject({ code: "no-series" });
  });
});

describe("names of request metrics", () => {
  const traffic = { front: [10, 0.2], cart: [20, 0.05] } as const;

  it.each([
    ["traces_span_metrics_calls", "traces_span_metrics_duration", 0.001],
    ["traces_span_metrics_calls", "traces_span_metrics_duration", 1],
    ["traces_span_metrics_calls", "traces_span_metrics_duration_seconds", 1],
    ["traces.span.metrics.calls", "traces.span.metrics.duration", 0.001],
    ["traces.span.metrics.calls_total", "traces.span.metrics.duration_milliseconds", 0.001],
    ["calls", "duration", 0.001],
  ])("of spans may be %s and %s, in units of %d s", async (calls, name, unit) => {
    fake.series = spanMetrics(calls, { name, unit }, traffic);
    await expectTraffic();
  });

  it("of spans may have labels with dots, as their metrics", async () => {
    const latency = { name: "traces.span.metrics.duration", unit: 0.001 };
    const dotted = spanMetrics("traces.span.metrics.calls", latency, traffic).map(({ labels, samples }) => {
      const { service_name: name, span_kind: kind, ...rest } = labels;
      return { labels: { ...rest, "service.name": name!, "span.kind": kind! }, samples };
    });
    const calls = dotted.map(({ labels, samples }) => ({
      labels: { ...labels, "span.kind": "SPAN_KIND_CLIENT", "server.address": "cart" },
      samples,
    }));
    fake.series = [...dotted, ...calls];
    await expectTraffic();
  });

  it.each([
    ["http_server_request_duration_seconds", 1],
    ["http_server_request_duration", 1],
    ["http.server.request.duration", 1],
    ["http_server_duration_milliseconds", 0.001],
    ["rpc_server_duration_milliseconds", 0.001],
    ["rpc_server_call_duration_seconds", 1],
  ])("of servers may be %s", async (name, unit) => {
    fake.series = Object.entries(traffic).flatMap(([service, load]) =>
      histogram(
        { name, unit },
        { job: `retail/${service}`, http_route: "/", k8s_namespace_name: "shop" },
        load,
      ),
    );
    await expectTraffic();
  });

  it("of servers give errors by status, and with those of clients callees and self time", async () => {
    const server = { name: "http_server_request_duration_seconds", unit: 1 };
    const client = { name: "http_client_request_duration_seconds", unit: 1 };
    const front = { service_name: "front" };
    fake.series = [
      ...histogram(server, { ...front, http_response_status_code: "200" }, [9, 0.2]),
      ...histogram(server, { ...front, http_response_status_code: "503" }, [1, 0.2]),
      ...histogram(client, { ...front, server_address: "cart.shop.svc.cluster.local" }, [10, 0.05]),
      ...histogram(client, { ...front, server_address: "api.example.com" }, [10, 0.05]),
      ...histogram(server, { service_name: "cart" }, [10, 0.04]),
    ];
    const found = (await windows()).get("front");
    expect(found?.requestsPerSecond).toBeCloseTo(10, 1);
    expect(found?.errorRatio).toBeCloseTo(0.1, 1);
    expect(found?.callees).toMatchObject([{ callee: "cart" }]);
    expect(found?.ownLatency?.meanSeconds).toBeCloseTo(0.1, 1);
  });

  it("call services of Istio's spans NAME.NAMESPACE", async () => {
    const latency = { name: "traces_span_metrics_duration_milliseconds", unit: 0.001 };
    fake.series = spanMetrics("traces_span_metrics_calls_total", latency, {
      "front.shop": [10, 0.2],
      "cart.shop": [20, 0.05],
    });
    await expectTraffic();
  });
});

it("gives no requests for probes of the kubelet and scrapes of the proxy in Linkerd's metrics", async () => {
  const inbound = { direction: "inbound", namespace: "shop", deployment: "front", pod: "front-1" };
  const served = (more: Record<string, string>, traffic: readonly [number, number]): FakeSeries[] => [
    counter({ ...inbound, ...more, __name__: "response_total", classification: "success" }, traffic[0]),
    ...histogram({ name: "response_latency_ms", unit: 0.001 }, { ...inbound, ...more }, traffic),
  ];
  fake.series = [
    ...served({ target_port: "8080", authz_name: "default", route_name: "default" }, [2, 0.2]),
    ...served({ target_port: "8080", authz_name: "probe", route_name: "probe" }, [4, 0.002]),
    ...served({ target_port: "4191", authz_name: "default", route_name: "default" }, [1, 0.008]),
  ];
  await expectTraffic({ front: [2, 0.2] });
});

it.each([
  {
    name: "http_server_requests_seconds",
    labels: { uri: "/", status: "200" },
    health: { uri: "/actuator/health" },
  },
  {
    name: "http_request_duration_seconds",
    labels: { handler: "/", code: "200" },
    health: { handler: "/metrics" },
  },
])(
  "$name of libraries is found by the pods it was scraped of, without health checks",
  async ({ health, labels, name }) => {
    const from = { job: "pods", namespace: "shop", pod: "front-7c9d8f6b5-x2x4v" };
    const metric = { name, unit: 1 };
    fake.series = [
      ...histogram(metric, { ...from, ...labels }, [4, 0.2]),
      ...histogram(metric, { ...from, ...labels, ...health }, [2, 0.002]),
    ];
    await expectTraffic({ front: [4, 0.2] });
  },
);

it("health checks are left out of the conventions' histograms and of span metrics", async () => {
  const semconv = { name: "http_server_request_duration_seconds", unit: 1 };
  const of = { job: "shop/front", http_response_status_code: "200" };
  fake.series = [
    ...histogram(semconv, { ...of, http_route: "/" }, [4, 0.2]),
    ...histogram(semconv, { ...of, http_route: "/healthz" }, [2, 0.002]),
    ...histogram(semconv, { ...of }, [1, 0.2]),
  ];
  await expectTraffic({ front: [5, 0.2] });
  const latency = { name: "traces_span_metrics_duration_milliseconds", unit: 0.001 };
  const spans = (name: string, traffic: readonly [number, number]) =>
    spanMetrics("traces_span_metrics_calls_total", latency, { front: traffic }, { span_name: name });
  fake.series = [...spans("GET /", [4, 0.2]), ...spans("GET /healthz", [2, 0.002])];
  source = open();
  await expectTraffic({ front: [4, 0.2] });
});

describe("request metrics of libraries that are not on the list", () => {
  const pod = { namespace: "shop", pod: "front-7c9d8f6b5-x2x4v", job: "kubernetes-pods" };

  it.each([
    ["grpc_server_handling_seconds", 1, { ...pod, grpc_type: "unary", grpc_service: "shop.Front" }],
    ["flask_http_request_duration_seconds", 1, { ...pod, method: "GET", status: "200" }],
    ["django_http_requests_latency_seconds_by_view_method", 1, { ...pod, view: "index" }],
    ["axum_http_requests_duration_seconds", 1, { ...pod, endpoint: "/" }],
    ["gin_request_duration_seconds", 1, { ...pod, code: "200" }],
    ["http_request_duration_ms", 0.001, { ...pod, code: "200" }],
    ["app_request_latency", 0.001, pod],
    ["http_server_request_duration_seconds", 1, { ...pod, http_route: "/" }],
    [
      "http_request_duration_seconds",
      1,
      { kubernetes_namespace: "shop", kubernetes_pod_name: "front-7c9d8f6b5-x2x4v", job: "kubernetes-pods" },
    ],
    [
      "http_request_duration_seconds",
      1,
      { k8s_namespace_name: "shop", k8s_deployment_name: "front", job: "collector" },
    ],
  ])("such as %s, in units of %d s, are found by their pod's labels", async (name, unit, labels) => {
    fake.series = [
      ...histogram({ name, unit }, labels, [4, 0.2]),
      ...histogram({ name: "http_client_requests_seconds", unit: 1 }, pod, [9, 0.1]),
      ...histogram({ name: "apiserver_request_duration_seconds", unit: 1 }, pod, [9, 0.1]),
    ];
    await expectTraffic({ front: [4, 0.2] });
  });

  it("of another namespace are none of ours, although their job has no namespace", async () => {
    const of = (namespace: string, name: string) =>
      histogram(
        { name: "http_server_request_duration_seconds", unit: 1 },
        { namespace, pod: `${name}-7c9d8f6b5-x2x4v`, job: "kubernetes-pods" },
        [4, 0.2],
      );
    fake.series = [...of("shop", "front"), ...of("payments", "billing")];
    await expectTraffic({ front: [4, 0.2] });
  });

  it("are named by the service that a Collector tells of, not by the Collector's pod", async () => {
    fake.series = histogram(
      { name: "http_server_request_duration_seconds", unit: 1 },
      { job: "retail/front", namespace: "monitoring", pod: "otel-collector-7c9d8f6b5-x2x4v" },
      [4, 0.2],
    );
    await expectTraffic({ front: [4, 0.2] });
  });

  it("without buckets give no windows, and say what to set", async () => {
    const labels = { ...pod, uri: "/", status: "200" };
    fake.series = [
      counter({ ...labels, __name__: "http_server_requests_seconds_count" }, 4),
      counter({ ...labels, __name__: "http_server_requests_seconds_sum" }, 1),
    ];
    await expect(windows()).rejects.toMatchObject({
      code: "no-series",
      message: /http_server_requests_seconds has a count and a sum but no buckets.*percentiles-histogram/,
    });
  });

  it("with quantiles alone are no native histograms", async () => {
    const labels = { ...pod, handler: "/" };
    fake.series = [
      counter({ ...labels, __name__: "http_request_duration_seconds", quantile: "0.95" }, 0.001),
      counter({ ...labels, __name__: "http_request_duration_seconds_count" }, 4),
      counter({ ...labels, __name__: "http_request_duration_seconds_sum" }, 1),
    ];
    await expect(windows()).rejects.toMatchObject({
      code: "no-series",
      message: /no buckets, so no percentile/,
    });
  });
});

it("reads Istio's counters that recording rules have summed over pods", async () => {
  fake.series = shop().map(({ labels, samples }) => ({
    labels: { ...labels, __name__: `workload:${labels["__name__"]!}` },
    samples,
  }));
  await expectTraffic();
});

describe("samples that come less often than windows", () => {
  it("give a rate in every window, measured over the real time between them, and the doctor says so", async () => {
    fake.series = shop({}, { everySeconds: 60, offsetSeconds: 20 });
    for (let back = 8; back >= 0; back -= 1) {
      const front = (await windows(END_MS - back * WINDOW_MS)).get("front");
      expect(front?.requestsPerSecond).toBeCloseTo(10, 1);
    }
    const findings = await source.check(END_MS);
    expect(findings.filter(({ level }) => level !== "ok")).toMatchObject([
      { level: "warning", message: /a sample every 60 s/ },
    ]);
  });

  it("are missed, by name, where they stop: no rate is made up", async () => {
    fake.series = shop({}, { stopSeconds: 60 });
    const before = await windows(END_MS - 60_000);
    expect(before.get("front")?.requestsPerSecond).toBeCloseTo(10, 1);
    for (const endMs of [END_MS, END_MS + 120_000]) {
      const front = (await windows(endMs)).get("front");
      expect(front).not.toHaveProperty("requestsPerSecond");
      expect(front?.missing).toMatch(/no sample of istio_requests_total of 'front'/);
    }
  });

  it.each([
    { what: "works as before, by its name", cores: 0.4, missing: /pod front-2 came, which works as before/ },
    { what: "does nothing any more, not at all", cores: 0.01, missing: /^$/ },
  ])("are missed of one of two pods that $what", async ({ cores, missing }) => {
    const container = (podName: string, cpuUsageCores: number) => ({
      id: podName,
      node: "node-1",
      podName,
      cpuUsageCores,
    });
    const containers = [container("front-1", 0.4), container("front-2", cores)];
    const view = { services: new Map([["front", { namespace: "shop", containers }]]) };
    const at = async (endMs: number): Promise<Window | undefined> =>
      (await source.windows({ startMs: endMs - WINDOW_MS, endMs }, view)).windows.find(
        ({ service }) => service === "front",
      );
    fake.series = [
      ...istio("front", [10, 0.2], { pod: "front-1" }),
      ...istio("front", [10, 0.2], { pod: "front-2" }, { stopSeconds: 60 }),
    ];
    expect((await at(END_MS - 60_000))?.missing).toBeUndefined();
    expect((await at(END_MS))?.missing ?? "").toMatch(missing);
  });

  it("are no longer missed of a service that has been gone for ten minutes", async () => {
    fake.series = [...shop(), ...istio("ads", [5, 0.1], {}, { stopSeconds: 700 })];
    expect((await windows(END_MS - 700_000)).get("ads")?.requestsPerSecond).toBeCloseTo(5, 1);
    expect((await windows(END_MS - 300_000)).get("ads")?.missing).toMatch(/no sample/);
    expect((await windows()).has("ads")).toBe(false);
  });
});
