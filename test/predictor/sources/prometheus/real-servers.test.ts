import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import { PrometheusSource } from "@tradewind/predictor/sources/prometheus/prometheus-source.ts";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import { installed } from "../../../installed.ts";
import { waitUntil } from "../../../wait-until.ts";
import { expectSameWindows, ofService, windowsFromSpans } from "../one-traffic.ts";
import { spanMetrics, traffic } from "../traffic.ts";
import type { MetricServer } from "./metric-servers.ts";
import { startPrometheus, startVictoriaMetrics } from "./metric-servers.ts";
import { clusterSeries, meshSeries, nativeSeries } from "./pushed-series.ts";
import { push } from "./remote-write.ts";

const WINDOW_MS = 60_000;
const SCRAPE_MS = 15_000;
/** Ends of windows: whole minutes in the recent past. */
const END_MS = Math.floor((Date.now() - 120_000) / WINDOW_MS) * WINDOW_MS;
const BEGIN_MS = END_MS - 4 * WINDOW_MS;
const TRAFFIC = traffic(BEGIN_MS, (END_MS - BEGIN_MS) / 1_000, 12, 7);
const SCRAPES = Array.from(
  { length: (END_MS - BEGIN_MS) / SCRAPE_MS + 1 },
  (_, index) => BEGIN_MS + index * SCRAPE_MS,
);

const servers = [
  { name: "prometheus", program: installed("prometheus"), start: startPrometheus },
  { name: "victoria-metrics", program: installed("victoria-metrics"), start: startVictoriaMetrics },
];

describe.each(servers)("PrometheusSource on a real $name", ({ name, program, start }) => {
  let server: MetricServer;
  const sources: PrometheusSource[] = [];
  const source = (options: Record<string, unknown>): PrometheusSource => {
    const made = new PrometheusSource(PrometheusOptions.parse({ url: server.url, ...options }), {
      namespace: "shop",
      entries: () => ["front"],
    });
    sources.push(made);
    return made;
  };

  beforeAll(async () => {
    if (program === undefined) return;
    server = await start(program);
    const series = [...spanMetrics(TRAFFIC, SCRAPES), ...meshSeries(SCRAPES), ...clusterSeries(SCRAPES)];
    if (name === "prometheus") series.push(...nativeSeries(SCRAPES));
    await push(server.url, series);
    await server.settled();
    await waitUntil(
      async () => {
        const answer = await fetch(
          `${server.url}/api/v1/query?nocache=1&time=${END_MS / 1_000}&query=count({__name__!=""})`,
        );
        return (
          Number(
            ((await answer.json()) as { data: { result: { value: string[] }[] } }).data.result[0]?.value[1],
          ) > 100
        );
      },
      15_000,
      "the pushed samples to be there",
    );
  });
  afterAll(async () => {
    for (const made of sources) await made.close();
    await server?.stop();
  });

  it.skipIf(program === undefined)(
    "gives the same windows from stored samples as the spans themselves, exactly",
    async () => {
      const set = await source({ metrics: "otel", strategy: "samples" }).windows(
        { startMs: END_MS - WINDOW_MS, endMs: END_MS },
        NO_RESOURCES,
      );
      const truth = windowsFromSpans(TRAFFIC, END_MS - WINDOW_MS, END_MS);
      expectSameWindows(set, truth, 1e-6);
      expect(set.flows).toMatchObject([
        { flow: "front", entryService: "front", services: ["front", "cart", "stock", "database"] },
      ]);
    },
  );

  it.skipIf(program === undefined)(
    "gives nearly the same windows from the server's rates, for a window and for many",
    async () => {
      const reading = source({ metrics: "otel", strategy: "server" });
      const tolerance = 1e-3;
      const one = await reading.windows({ startMs: END_MS - WINDOW_MS, endMs: END_MS }, NO_RESOURCES);
      expectSameWindows(one, windowsFromSpans(TRAFFIC, END_MS - WINDOW_MS, END_MS), tolerance);
      const grid = { firstEndMs: BEGIN_MS + 2 * WINDOW_MS, stepMs: WINDOW_MS, count: 3 };
      const { sets, samples } = await reading.history(grid, END_MS);
      expect(sets).toHaveLength(3);
      expect(samples).toBeGreaterThan(100);
      sets.forEach((set) =>
        expectSameWindows(set, windowsFromSpans(TRAFFIC, set.startMs, set.endMs), tolerance),
      );
    },
  );

  it.skipIf(program === undefined)("has no windows for a time without samples", async () => {
    const set = await source({ metrics: "otel" }).windows(
      { startMs: END_MS - WINDOW_MS, endMs: END_MS },
      NO_RESOURCES,
    );
    expect(set.windows.length).toBeGreaterThan(0);
    const later = await source({ metrics: "otel" }).history(
      { firstEndMs: BEGIN_MS - 86_400_000, stepMs: WINDOW_MS, count: 3 },
      END_MS,
    );
    expect(later.sets.map(({ windows }) => windows)).toEqual([[], [], []]);
  });

  it.skipIf(program === undefined)("reads Istio, Linkerd, Hubble and the user's own PromQL", async () => {
    const interval = { startMs: END_MS - WINDOW_MS, endMs: END_MS };
    for (const metrics of ["istio", "linkerd", "hubble"]) {
      const set = await source({ metrics, namespaces: ["shop"], strategy: "samples" }).windows(
        interval,
        NO_RESOURCES,
      );
      expect(set.windows.map(({ service }) => service).sort()).toEqual(["cart", "front"]);
      // Pushed: 10 requests/s of front, 1 of 10 fails, 50 ms each; each calls cart twice, 10 ms a call.
      const front = ofService(set, "front");
      expect(front).toMatchObject({ namespace: "shop", ownLatencyDerived: true });
      expect(front.requestsPerSecond).toBeCloseTo(10, 6);
      expect(front.errorRatio).toBeCloseTo(0.1, 6);
      expect(front.responseLatency?.meanSeconds).toBeCloseTo(0.05, 6);
      expect(front.ownLatency?.meanSeconds).toBeCloseTo(0.05 - 2 * 0.01, 6);
      expect(front.callees).toMatchObject([{ callee: "cart" }]);
      expect(front.callees[0]?.callsPerSecond).toBeCloseTo(20, 6);
      expect(ofService(set, "cart").ownLatency?.meanSeconds).toBeCloseTo(0.01, 6);
    }
    const custom = {
      requestsPerSecond:
        'sum by (destination_workload) (rate(istio_requests_total{reporter="destination"}[$range]))',
      errorsPerSecond:
        'sum by (destination_workload) (rate(istio_requests_total{reporter="destination",response_code=~"5.."}[$range]))',
      latencyBuckets:
        'sum by (destination_workload, le) (rate(istio_request_duration_milliseconds_bucket{reporter="destination"}[$range]))',
      latencySum:
        'sum by (destination_workload) (rate(istio_request_duration_milliseconds_sum{reporter="destination"}[$range]))',
      latencyUnit: "milliseconds",
      serviceLabel: "destination_workload",
    };
    const own = await source({ metrics: "custom", custom }).windows(interval, NO_RESOURCES);
    expect(ofService(own, "front").requestsPerSecond).toBeCloseTo(10, 1);
    expect(ofService(own, "front").responseLatency?.meanSeconds).toBeCloseTo(0.05, 3);
    expect(ofService(own, "front")).not.toHaveProperty("ownLatency");
  });

  if (name === "prometheus")
    it.skipIf(program === undefined)("reads native histograms", async () => {
      const custom = {
        requestsPerSecond: "sum by (service) (histogram_count(rate(native_seconds[$range])))",
        latencyNative: "sum by (service) (rate(native_seconds[$range]))",
      };
      const set = await source({ metrics: "custom", custom }).windows(
        { startMs: END_MS - WINDOW_MS, endMs: END_MS },
        NO_RESOURCES,
      );
      // Pushed: half of the calls in (1, 2], half in (2, 4], mean 2 s.
      const { responseLatency, requestsPerSecond } = ofService(set, "slow");
      expect(requestsPerSecond).toBeCloseTo(8, 1);
      expect(responseLatency?.meanSeconds).toBeCloseTo(2, 6);
      expect(responseLatency?.p50Seconds).toBeCloseTo(2, 6);
      expect(responseLatency?.p95Seconds).toBeCloseTo(2 * 2 ** 0.9, 6);
    });

  it.skipIf(program === undefined)(
    "reads replicas, containers and interference from the cluster's own exporters",
    async () => {
      const reading = source({ metrics: "none", resources: true, namespaces: ["shop"] });
      const { services } = await reading.resources({ startMs: END_MS - WINDOW_MS, endMs: END_MS });
      expect([...services.keys()].sort()).toEqual(["cart", "orders"]);
      const cart = services.get("cart")!;
      expect(cart).toMatchObject({
        namespace: "shop",
        replicasWanted: 2,
        replicasReady: 1,
        lastStartedAtMs: BEGIN_MS - 600_000,
      });
      const [container] = cart.containers;
      expect(cart.containers).toHaveLength(1);
      expect(container).toMatchObject({
        id: "0123abcd",
        podName: "cart-5d9-x",
        node: "node-a",
        cpuLimitCores: 1,
        cpuRequestCores: 0.5,
        memoryLimitBytes: 256e6,
        memoryWorkingSetBytes: 100e6,
      });
      expect(container?.cpuUsageCores).toBeCloseTo(0.4, 3);
      expect(container?.cpuThrottledRatio).toBeCloseTo(0.25, 3);
      // The node is busy with 2 of 4 cores, 0.4 of them this container's.
      expect(container?.interference?.cpu).toMatchObject({ supported: true });
      expect(container?.interference?.cpu.value).toBeGreaterThanOrEqual(0.39);
      expect(container?.interference?.memoryBandwidth).toEqual({ supported: false });
      expect(services.get("orders")).toMatchObject({ replicasWanted: 3, replicasReady: 3, containers: [] });
    },
  );

  it.skipIf(program === undefined)("says in plain words what is there and what is missing", async () => {
    const findings = await source({ metrics: "otel", resources: true }).check(END_MS);
    expect(findings.filter(({ level }) => level === "problem")).toEqual([]);
    expect(findings.map(({ message }) => message).join("\n")).toMatch(/request metrics of otel are there/);
    const none = await source({ metrics: "custom", custom: { requestsPerSecond: "sum by ((" } })
      .windows({ startMs: END_MS - WINDOW_MS, endMs: END_MS }, NO_RESOURCES)
      .catch((error: unknown) => String(error));
    expect(none).toMatch(/refused the query/);
    const stale = await source({ metrics: "otel" }).check(END_MS + 250_000);
    expect(stale.map(({ message }) => message).join("\n")).toMatch(
      /newest sample is \d+ s old|no fresh samples|no request metrics/,
    );
    const absent = await source({ metrics: "otel" }).check(END_MS + 86_400_000);
    expect(absent.at(-1)).toMatchObject({ level: "problem", message: /holds no request metrics of otel/ });
  });
});
