import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Window } from "@tradewind/core/contract/window.ts";
import { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import { PrometheusClient } from "@tradewind/predictor/sources/prometheus/client.ts";
import { singleWindow } from "@tradewind/predictor/sources/prometheus/grid.ts";
import { otel } from "@tradewind/predictor/sources/prometheus/otel.ts";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import { RateReader } from "@tradewind/predictor/sources/prometheus/rates.ts";
import { readRed } from "@tradewind/predictor/sources/prometheus/red.ts";
import { windowsOf } from "@tradewind/predictor/sources/prometheus/windows.ts";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import { FakePrometheus } from "./fake-prometheus.ts";
import type { FakeSeries } from "./fake-prometheus.ts";

const CLASSIC = { isNative: false, unitSeconds: 1 };

describe("the span metrics of OpenTelemetry", () => {
  it("give the namespace of Kubernetes only: service_namespace is another thing", () => {
    const ownerOf = otel([])[0]!.mapping(CLASSIC).service;
    const front = { service_name: "front", service_namespace: "retail" };
    expect(ownerOf(front)).toEqual({ service: "front" });
    expect(ownerOf({ ...front, k8s_namespace_name: "shop" })).toEqual({
      service: "front",
      namespace: "shop",
    });
  });
});

const END_MS = 1_800_000_000_000;
const SHOP = { k8s_namespace_name: "shop" };

function counter(name: string, labels: Record<string, string>, perSecond: number): FakeSeries {
  const samples = Array.from({ length: 21 }, (_, index): [number, string] => [
    END_MS / 1_000 - 100 + 5 * index,
    String(5 * index * perSecond),
  ]);
  return { labels: { __name__: name, ...labels }, samples };
}

/** Requests of `service`, all of which take `seconds`. */
function served(service: string, namespace: object, perSecond: number, seconds: number): FakeSeries[] {
  const labels = { service_name: service, span_kind: "SPAN_KIND_SERVER", ...namespace };
  const duration = "traces_span_metrics_duration_seconds";
  return [
    counter("traces_span_metrics_calls_total", { ...labels, status_code: "STATUS_CODE_UNSET" }, perSecond),
    ...["0.1", "1", "+Inf"].map((le) =>
      counter(
        `${duration}_bucket`,
        { ...labels, le },
        seconds <= Number(le.replace("+Inf", "9")) ? perSecond : 0,
      ),
    ),
    counter(`${duration}_sum`, labels, perSecond * seconds),
  ];
}

/** 20 calls/s of front to cart that take 0.2 s each, as service graphs have them: without a namespace. */
const GRAPH = [
  counter("traces_service_graph_request_total", { client: "front", server: "cart" }, 20),
  counter("traces_service_graph_request_client_seconds_sum", { client: "front", server: "cart" }, 4),
];

let fake: FakePrometheus;
let endpoint: EndpointClient;
beforeEach(async () => {
  fake = await FakePrometheus.start();
  endpoint = new EndpointClient("otel", "prometheus", PrometheusOptions.parse({ url: fake.server.url }));
});
afterEach(async () => {
  await endpoint.close();
  await fake.server.stop();
});

/** The windows of the application's namespace, `shop`. */
async function windows(series: FakeSeries[]): Promise<Window[]> {
  fake.series = series;
  const settings = { strategy: "samples", scrapeIntervalMs: 5_000, lookbackMs: 60_000 } as const;
  const scope = { matchers: [], copyLabels: [] };
  const reader = new RateReader(new PrometheusClient(endpoint), { ...settings, ...scope });
  const grid = singleWindow(END_MS - 15_000, END_MS);
  const reading = await readRed(reader, otel([])[0]!.mapping(CLASSIC), grid, "shop");
  const all = windowsOf(reading, 0, { namespace: "shop", resources: NO_RESOURCES });
  return all
    .filter(({ namespace }) => namespace === "shop")
    .sort((a, b) => a.service.localeCompare(b.service));
}

describe("span metrics with k8s_namespace_name beside a service graph without namespaces", () => {
  const shop = (namespace: object): FakeSeries[] => [
    ...served("front", namespace, 10, 0.5),
    ...served("cart", namespace, 20, 0.15),
  ];

  it("have the same callees and self times as without the label", async () => {
    const without = await windows([...shop({}), ...GRAPH]);
    expect(without).toMatchObject([
      { service: "cart", callees: [] },
      { service: "front", callees: [{ callee: "cart", callsPerSecond: 20 }] },
    ]);
    expect(without[1]?.ownLatency?.meanSeconds).toBeCloseTo(0.1, 6);
    expect(without[1]?.callees[0]?.transitSeconds).toBeCloseTo(0.05, 6);
    expect(await windows([...shop(SHOP), ...GRAPH])).toEqual(without);
  });

  it("have them in the application's own namespace where others have services of the same names", async () => {
    const dev = { k8s_namespace_name: "dev" };
    const others = [...served("front", dev, 1, 0.9), ...served("cart", dev, 1, 0.9)];
    expect(await windows([...others, ...shop(SHOP), ...GRAPH])).toEqual(
      await windows([...shop({}), ...GRAPH]),
    );
  });

  it("are summed up over processes of a service of which some have the label and some do not", async () => {
    const [front] = await windows([...served("front", SHOP, 10, 0.5), ...served("front", {}, 30, 0.1)]);
    expect(front?.requestsPerSecond).toBeCloseTo(40, 6);
    expect(front?.responseLatency?.meanSeconds).toBeCloseTo(0.2, 6);
  });
});
