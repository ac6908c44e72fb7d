import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Window } from "@tradewind/core/contract/window.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import { PrometheusSource } from "@tradewind/predictor/sources/prometheus/prometheus-source.ts";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import { json } from "../../../core/net/endpoint/fake-server.ts";
import { FakePrometheus } from "./fake-prometheus.ts";
import type { FakeSeries } from "./fake-prometheus.ts";
import { meshSeries } from "./pushed-series.ts";

const END_MS = 1_800_000_000_000;
const INTERVAL = { startMs: END_MS - 15_000, endMs: END_MS };
const TIMES = Array.from({ length: 21 }, (_, index) => END_MS - 100_000 + index * 5_000);

let fake: FakePrometheus;
let source: PrometheusSource;

const open = (options: Record<string, unknown> = {}): PrometheusSource =>
  new PrometheusSource(
    PrometheusOptions.parse({
      url: fake.server.url,
      metrics: "istio",
      strategy: "samples",
      scrapeIntervalSeconds: 5,
      maxAttempts: 1,
      timeoutSeconds: 2,
      ...options,
    }),
    { namespace: "shop", entries: () => ["front"] },
    { breaker: { failures: 3, openMs: 15_000 } },
  );

beforeEach(async () => {
  fake = await FakePrometheus.start();
  fake.series = meshSeries(TIMES).map(({ labels, samples }) => ({
    labels,
    samples: (samples ?? []).map(([timeMs, value]): [number, string] => [timeMs / 1_000, String(value)]),
  }));
  source = open();
});
afterEach(async () => {
  vi.useRealTimers();
  await source.close();
  await fake.server.stop();
});

async function front(): Promise<Window | undefined> {
  const set = WindowSet.parse(await source.windows(INTERVAL, NO_RESOURCES));
  return set.windows.find(({ service }) => service === "front");
}

function change(change: (series: FakeSeries) => FakeSeries | undefined, name = /./): void {
  fake.lie = (result) =>
    result.flatMap((series) => (name.test(series.labels["__name__"]!) ? (change(series) ?? []) : series));
}

/** What the pushed series say: 10 requests/s, 10 % failing, 50 ms. */
function expectTruth(window: Window | undefined): void {
  expect(window?.requestsPerSecond).toBeCloseTo(10, 6);
  expect(window?.errorRatio).toBeCloseTo(0.1, 6);
  expect(window?.responseLatency?.meanSeconds).toBeCloseTo(0.05, 6);
  expect(window?.ownLatency?.meanSeconds).toBeCloseTo(0.03, 6);
}

describe("PrometheusSource and a server that lies", () => {
  it("reads the truth from an honest one", async () => {
    expectTruth(await front());
    expect(source.endpoint.health).toMatchObject({ state: "ok", partialResultsTotal: 0 });
  });

  it("is right when samples come out of order and twice", async () => {
    change(({ labels, samples }) => ({ labels, samples: [...samples, ...samples].reverse() }));
    expectTruth(await front());
    expect(source.endpoint.health.partialResultsTotal).toBeGreaterThan(0);
  });

  it("is right when a whole series comes twice", async () => {
    fake.lie = (result) => [...result, ...result];
    expectTruth(await front());
  });

  it("is right when some samples are no numbers", async () => {
    change(({ labels, samples }) => ({
      labels,
      samples: samples.map(([at, value], index) => [at, index % 4 === 1 ? "NaN" : value]),
    }));
    expectTruth(await front());
  });

  it("is right when counters begin again", async () => {
    change(({ labels, samples }) => {
      const restart = Number(samples[Math.floor(samples.length / 2)]?.[1]);
      return {
        labels,
        samples: samples.map(([at, value]) => [
          at,
          String(Number(value) >= restart ? Number(value) - restart : Number(value)),
        ]),
      };
    });
    const window = await front();
    // Whatever grew between the last sample before a restart and the restart itself is nobody's to know.
    expect(window?.requestsPerSecond).toBeGreaterThan(6);
    expect(window?.requestsPerSecond).toBeLessThanOrEqual(10.001);
    expect(window?.responseLatency?.p95Seconds ?? 0.05).toBeLessThanOrEqual(0.1);
  });

  it("has no latency, but a rate, when a bucket is missing its +Inf or the sum is ten times too high", async () => {
    change((series) => (series.labels["le"] === "+Inf" ? undefined : series), /bucket/);
    expect(await front()).not.toHaveProperty("responseLatency");
    change(
      ({ labels, samples }) => ({
        labels,
        samples: samples.map(([at, value]) => [at, String(10 * Number(value))]),
      }),
      /_sum$/,
    );
    const window = await front();
    expect(window).not.toHaveProperty("responseLatency");
    expect(window).not.toHaveProperty("ownLatency");
    expect(window?.requestsPerSecond).toBeCloseTo(10, 6);
    expect(source.endpoint.health.partialResultsTotal).toBeGreaterThan(0);
  });

  it("has no latency when everything in a histogram is not a number", async () => {
    change(({ labels, samples }) => ({ labels, samples: samples.map(([at]) => [at, "NaN"]) }), /bucket|_sum/);
    const window = await front();
    expect(window).not.toHaveProperty("responseLatency");
    expect(window?.requestsPerSecond).toBeCloseTo(10, 6);
  });

  it("has no window for a service whose series are missing, and none at 0", async () => {
    change((series) => (series.labels["destination_workload"] === "front" ? undefined : series));
    expect(await front()).toBeUndefined();
    fake.lie = () => [];
    const { windows } = await source.windows(INTERVAL, NO_RESOURCES);
    expect(windows).toMatchObject([{ service: "cart", missing: /no sample/ }]);
    expect(windows[0]).not.toHaveProperty("requestsPerSecond");
  });

  it("has no rate when more than half of a service's processes fell silent", async () => {
    const series = fake.series;
    fake.series = ["a", "b", "c"].flatMap((instance) =>
      series.map(({ labels, samples }) => ({ labels: { ...labels, instance }, samples })),
    );
    change(({ labels, samples }) =>
      labels["instance"] === "a"
        ? { labels, samples }
        : { labels, samples: samples.filter(([at]) => at * 1_000 <= INTERVAL.startMs) },
    );
    expect(await front()).not.toHaveProperty("requestsPerSecond");
    change(({ labels, samples }) =>
      labels["instance"] !== "a"
        ? { labels, samples }
        : { labels, samples: samples.filter(([at]) => at * 1_000 <= INTERVAL.startMs) },
    );
    expect((await front())?.requestsPerSecond).toBeCloseTo(20, 6);
  });

  it.each([
    ["series without labels", [{ metric: 5, values: [] }]],
    [
      "samples that are no pairs",
      [{ metric: { __name__: "istio_requests_total" }, values: [7, "x", null, [1]] }],
    ],
    ["series that are nothing", [null, 4, "x", []]],
  ])("takes no harm from %s", async (_name, result) => {
    fake.server.handler = (request, response) => {
      const query = new URL(request.url ?? "", "http://x").searchParams.get("query") ?? "";
      const counts = fake.answer(query, END_MS / 1_000);
      json(
        response,
        query.startsWith("count by") ? counts : { status: "success", data: { resultType: "matrix", result } },
      );
    };
    expect((await source.windows(INTERVAL, NO_RESOURCES)).windows).toEqual([]);
  });

  it.each([
    ["no bounds", { count: "4", sum: "1", buckets: [[0, "x", "1", "4"]] }],
    ["a mean outside its buckets", { count: "4", sum: "90", buckets: [[0, "0.1", "1", "4"]] }],
  ])(
    "has no latency, but a rate, of a native histogram with %s, and counts it as partial",
    async (_name, histogram) => {
      const custom = { requestsPerSecond: "requests", latencyNative: "latency", serviceLabel: "app" };
      const seconds = END_MS / 1_000;
      fake.server.handler = (request, response) => {
        const isLatency = request.url?.includes("query=latency") === true;
        const sample = isLatency ? { histogram: [seconds, histogram] } : { value: [seconds, "4"] };
        const result = [{ metric: { app: "front" }, ...sample }];
        json(response, { status: "success", data: { resultType: "vector", result } });
      };
      source = open({ metrics: "custom", custom });
      const window = await front();
      expect(window).toMatchObject({ requestsPerSecond: 4 });
      expect(window).not.toHaveProperty("responseLatency");
      expect(source.endpoint.health.partialResultsTotal).toBe(1);
    },
  );

  describe.each([
    ["isPartial of VictoriaMetrics", { isPartial: true }],
    [
      "a warning of Thanos",
      {
        warnings: [
          "receive series from Addr: 10.0.0.1:10901: rpc error: code = DeadlineExceeded desc = late",
        ],
      },
    ],
  ])("and answers that lack data, by %s", (_name, beside) => {
    const lacking = (query: RegExp): void => {
      fake.beside = (asked) => (query.test(asked) ? beside : {});
    };

    it("has no windows, rather than half of the load, where requests are lacking", async () => {
      lacking(/^istio_requests_total\{reporter=~/);
      await expect(source.windows(INTERVAL, NO_RESOURCES)).rejects.toMatchObject({ failure: "partial" });
      expect(source.endpoint.health.failuresTotal.partial).toBe(1);
      expect(source.endpoint.health.partialResultsTotal).toBe(1);
    });

    it.each([
      ["calls", /^istio_requests_total\{reporter="source"/],
      ["the times of calls", /^istio_request_duration_milliseconds_sum\{reporter="source"/],
    ])("has the rate, but neither callees nor self time, where %s are lacking", async (_what, query) => {
      lacking(query);
      const window = await front();
      expect(window?.requestsPerSecond).toBeCloseTo(10, 6);
      expect(window?.responseLatency?.meanSeconds).toBeCloseTo(0.05, 6);
      expect(window?.callees).toEqual([]);
      expect(window).not.toHaveProperty("ownLatency");
    });

    it("does not choose metrics by them", async () => {
      lacking(/^count by \(__name__\)/);
      await expect(source.windows(INTERVAL, NO_RESOURCES)).rejects.toMatchObject({ failure: "partial" });
    });
  });

  it("counts remarks on the query as warnings and believes the answer, whatever metric they name", async () => {
    const remark =
      'PromQL info: metric might not be a counter, name does not end in _total: "requests_failed" (1:6)';
    fake.beside = () => ({ warnings: [remark] });
    expectTruth(await front());
    expect(source.endpoint.health.warningsTotal).toBeGreaterThan(0);
    expect(source.endpoint.health.partialResultsTotal).toBe(0);
  });
});

describe("PrometheusSource and a server in trouble", () => {
  const failed = async (): Promise<string> =>
    source.windows(INTERVAL, NO_RESOURCES).then(
      () => "no error",
      (error: unknown) => (error as Error).message,
    );

  it("has no windows, in time, from one that hangs", async () => {
    source = open({ timeoutSeconds: 0.3 });
    fake.server.handler = () => undefined;
    expect(await failed()).toMatch(/within 0.3 s/);
    expect(source.endpoint.health).toMatchObject({ state: "failing", lastProblem: { failure: "timeout" } });
  });

  it("keeps what one answered when other questions fail", async () => {
    const honest = fake.server.handler;
    fake.server.handler = (request, response, body) => {
      if (decodeURIComponent(request.url ?? "").includes("_bucket{")) json(response, "", 500);
      else honest(request, response, body);
    };
    const window = await front();
    expect(window?.requestsPerSecond).toBeCloseTo(10, 6);
    expect(window).not.toHaveProperty("responseLatency");
    expect(source.endpoint.health.failuresTotal["server-error"]).toBe(1);
  });

  it.each([
    [429, /too many requests/],
    [503, /overloaded or not ready/],
  ])("says so of one that answers %i", async (status, words) => {
    fake.server.handler = (_request, response) => json(response, "", status);
    expect(await failed()).toMatch(words);
    expect((await source.check(END_MS))[0]).toMatchObject({
      subject: "prometheus prometheus",
      level: "problem",
    });
  });

  it("comes back by itself from one that was gone for ten minutes, and names it meanwhile", async () => {
    expectTruth(await front());
    vi.useFakeTimers({ toFake: ["Date"] });
    await fake.server.stop();
    const messages = new Set<string>();
    for (let second = 0; second < 600; second += 15) {
      messages.add(await failed());
      vi.setSystemTime(Date.now() + 15_000);
    }
    expect([...messages].every((text) => text.startsWith("prometheus (http://127.0.0.1"))).toBe(true);
    expect([...messages].join()).toMatch(/nothing listens/);
    expect((await source.check(END_MS))[0]).toMatchObject({ level: "problem", message: /nothing listens/ });
    await fake.server.listen(fake.server.port);
    vi.setSystemTime(Date.now() + 15_000);
    expectTruth(await front());
    expect(source.endpoint.health.state).toBe("ok");
  });
});
