import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import { PrometheusSource } from "@tradewind/predictor/sources/prometheus/prometheus-source.ts";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import { installed } from "../../../installed.ts";
import { waitUntil } from "../../../wait-until.ts";
import { ofService } from "../one-traffic.ts";
import type { MetricServer } from "./metric-servers.ts";
import { startPrometheus, startVictoriaMetrics } from "./metric-servers.ts";
import { clusterSeries, meshSeries, nativeMeshSeries, storedBy } from "./pushed-series.ts";
import { push } from "./remote-write.ts";
import type { PushedSeries } from "./remote-write.ts";

const WINDOW_MS = 60_000;
const SCRAPE_MS = 15_000;
const END_MS = Math.floor((Date.now() - 120_000) / WINDOW_MS) * WINDOW_MS;
const INTERVAL = { startMs: END_MS - WINDOW_MS, endMs: END_MS };
const SCRAPES = Array.from({ length: 33 }, (_, index) => END_MS - (32 - index) * SCRAPE_MS);

const sources: PrometheusSource[] = [];
afterEach(async () => {
  for (const source of sources.splice(0)) await source.close();
});

function open(server: MetricServer, options: Record<string, unknown>): PrometheusSource {
  const parsed = PrometheusOptions.parse({ url: server.url, metrics: "istio", ...options });
  const source = new PrometheusSource(parsed, { namespace: "shop", entries: () => ["front"] });
  sources.push(source);
  return source;
}

async function filled(server: MetricServer, series: readonly PushedSeries[]): Promise<void> {
  await push(server.url, series);
  await server.settled();
  await waitUntil(
    async () => {
      const query = new URLSearchParams({
        nocache: "1",
        time: String(END_MS / 1_000),
        query: "istio_requests_total",
      });
      const answer = await fetch(`${server.url}/api/v1/query?${query.toString()}`);
      return ((await answer.json()) as { data: { result: unknown[] } }).data.result.length > 0;
    },
    15_000,
    "the pushed samples to be there",
  );
}

const servers = [
  { name: "prometheus", program: installed("prometheus"), start: startPrometheus },
  { name: "victoria-metrics", program: installed("victoria-metrics"), start: startVictoriaMetrics },
];

describe.each(servers)("a real $name to which a pair of Prometheus writes", ({ program, start }) => {
  let server: MetricServer;
  beforeAll(async () => {
    if (program === undefined) return;
    server = await start(program);
    const series = [...meshSeries(SCRAPES), ...clusterSeries(SCRAPES)];
    await filled(server, [...storedBy(series, "a", 0), ...storedBy(series, "b", 4_000)]);
  });
  afterAll(async () => server?.stop());

  it.skipIf(program === undefined).each(["samples", "server"])(
    "gives each request once, read as %s, and in the past",
    async (strategy) => {
      const source = open(server, { strategy });
      const set = await source.windows(INTERVAL, NO_RESOURCES);
      expect(ofService(set, "front").requestsPerSecond).toBeCloseTo(10, 1);
      expect(ofService(set, "front").ownLatency?.meanSeconds).toBeCloseTo(0.03, 3);
      expect(ofService(set, "front").callees[0]?.callsPerSecond).toBeCloseTo(20, 1);
      const grid = { firstEndMs: END_MS - 2 * WINDOW_MS, stepMs: WINDOW_MS, count: 2 };
      const { sets } = await source.history(grid, END_MS);
      for (const past of sets) expect(ofService(past, "front").requestsPerSecond).toBeCloseTo(10, 1);
    },
  );

  it.skipIf(program === undefined)("gives the use of each container and node once", async () => {
    const source = open(server, { metrics: "none", resources: true });
    const { services } = await source.resources(INTERVAL);
    const [container] = services.get("cart")!.containers;
    expect(container?.cpuUsageCores).toBeCloseTo(0.4, 2);
    expect(container?.cpuThrottledRatio).toBeCloseTo(0.25, 2);
    expect(container?.interference?.cpu.value).toBeGreaterThanOrEqual(0.39);
    expect(container?.interference?.cpu.value).toBeLessThan(0.6);
    expect(source.remarks()).toMatchObject([{ message: /prometheus_replica \(a, b\)/ }]);
  });
});

const prometheus = installed("prometheus");

describe.skipIf(prometheus === undefined)("native histograms of a mesh on a real prometheus", () => {
  let server: MetricServer;
  beforeAll(async () => {
    server = await startPrometheus(prometheus!);
    await filled(server, nativeMeshSeries(SCRAPES));
  });
  afterAll(async () => server?.stop());

  it("give rates, call graph and self time as classic ones do", async () => {
    const set = await open(server, {}).windows(INTERVAL, NO_RESOURCES);
    const front = ofService(set, "front");
    expect(front.requestsPerSecond).toBeCloseTo(10, 1);
    expect(front.responseLatency?.meanSeconds).toBeCloseTo(0.05, 3);
    expect(front.ownLatency?.meanSeconds).toBeCloseTo(0.03, 3);
    expect(front.callees[0]).toMatchObject({ callee: "cart" });
    expect(ofService(set, "cart").ownLatency?.meanSeconds).toBeCloseTo(0.01, 3);
  });
});
