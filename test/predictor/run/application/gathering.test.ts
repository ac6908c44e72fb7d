import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { Application } from "@tradewind/core/contract/application.ts";
import type { Running } from "@tradewind/core/process/running.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { Gathering } from "@tradewind/predictor/run/application/gathering.ts";
import { SourcesConfig } from "@tradewind/predictor/sources/sources-config.ts";
import { SpanOrigins } from "@tradewind/predictor/sources/span-origins.ts";
import { JaegerOptions } from "@tradewind/predictor/sources/jaeger/options.ts";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import { TempoOptions } from "@tradewind/predictor/sources/tempo/options.ts";
import { WindowBuilder } from "@tradewind/predictor/window/window-builder.ts";
import { openStoreForReading } from "@tradewind/predictor/store/database.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { installed } from "../../../installed.ts";
import { silentLog } from "../../../kubernetes/silent-log.ts";
import { waitUntil } from "../../../wait-until.ts";
import { FakePrometheus, inNamespace } from "../../sources/prometheus/fake-prometheus.ts";
import { FakeServer, json } from "../../../core/net/endpoint/fake-server.ts";
import { meshSeries } from "../../sources/prometheus/pushed-series.ts";

let directory = "";
let fake: FakePrometheus;
let running: Running | undefined;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "tradewind-gathering-"));
  fake = await FakePrometheus.start();
  fake.series = inNamespace(mesh(), "shop", 1);
});
afterEach(async () => {
  await running?.stop();
  running = undefined;
  await fake.server.stop();
  rmSync(directory, { recursive: true, force: true });
});

/** From a while ago to a minute ahead, a sample each quarter of a second. */
function mesh(): ReturnType<typeof meshSeries> {
  const nowMs = Math.floor(Date.now() / 1_000) * 1_000;
  return meshSeries(Array.from({ length: 400 }, (_, index) => nowMs - 40_000 + index * 250));
}

async function latest(): Promise<Map<string, Window>> {
  const response = await fetch(`${running!.addresses["http"]}/v1/windows`);
  if (!response.ok) return new Map();
  return new Map(WindowSet.parse(await response.json()).windows.map((window) => [window.service, window]));
}

async function start(options = "backfill: { enabled: false }"): Promise<Running> {
  const config = join(directory, "app.yaml");
  const prometheus = `{ name: mesh, url: "${fake.server.url}", metrics: istio, graceSeconds: 0.2, maxAttempts: 1, ${options} }`;
  writeFileSync(
    config,
    `entry: front\nnamespace: shop\nobjective: { milliseconds: 250 }\nsources: { prometheus: [${prometheus}] }\nstore: { flushSeconds: 0.2 }\n`,
  );
  return startPredictor({
    config,
    listen: "127.0.0.1:0",
    otlpListen: "127.0.0.1:0",
    windowSeconds: 1,
    graceSeconds: 0.2,
    state: directory,
    logLevel: "silent",
  });
}

describe("the predictor with a Prometheus as its only source", () => {
  it("decides on its windows, keeps them, names it when it is gone, and takes nobody to be idle then", async () => {
    running = await start();
    await waitUntil(async () => (await latest()).has("front"), 10_000, "a window of front");
    const front = (await latest()).get("front")!;
    expect(front.requestsPerSecond).toBeCloseTo(10, 6);
    expect(front.responseLatency?.meanSeconds).toBeCloseTo(0.05, 6);
    expect(front.ownLatencyDerived).toBe(true);

    await fake.server.stop();
    await waitUntil(async () => !(await latest()).has("front"), 10_000, "a window set without front");
    const metrics = await (await fetch(`${running.addresses["http"]}/metrics`)).text();
    expect(metrics).toMatch(
      /tradewind_source_failures_total\{source="mesh",kind="prometheus",failure="unreachable"\} [1-9]/,
    );
    expect(metrics).toContain('tradewind_store_state{state="disk"} 1');
    const promtool = installed("promtool");
    if (promtool !== undefined) execFileSync(promtool, ["check", "metrics"], { input: metrics });

    await running.stop();
    const tables = openStoreForReading(join(directory, "history.sqlite"));
    const kept = [...tables.windows(1, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, service: "front" })];
    tables.database.close();
    expect(kept.length).toBeGreaterThan(0);
    expect(kept[0]?.requestsPerSecond).toBeCloseTo(10, 6);
  });

  it("decides on the traffic of its own namespace where the server knows the same services of another", async () => {
    fake.series = [...inNamespace(mesh(), "dev", 0.01), ...fake.series];
    running = await start();
    await waitUntil(async () => (await latest()).has("front"), 10_000, "a window of front");
    const front = (await latest()).get("front")!;
    expect(front.namespace).toBe("shop");
    expect(front.requestsPerSecond).toBeCloseTo(10, 6);
  });

  it("goes on deciding on its windows while it answers nothing about the past", async () => {
    const honest = fake.server.handler;
    let held = 0;
    fake.server.handler = (request, response, body) => {
      if (request.url?.startsWith("/api/v1/query_range") === true) held += 1;
      else honest(request, response, body);
    };
    running = await start("concurrency: 2, timeoutSeconds: 60");
    await waitUntil(() => held === 2, 10_000, "as many questions about the past as are asked at once");
    const heldAtMs = Date.now();
    await waitUntil(
      async () => ((await latest()).get("front")?.startMs ?? 0) > heldAtMs,
      10_000,
      "a window of front that began after that",
    );
  });
});

describe("Gathering", () => {
  it("ends with the time of its window when a source gives no turn to ask, and names the source", async () => {
    fake.server.handler = () => undefined;
    const prometheus = { url: fake.server.url, concurrency: 1, maxAttempts: 1, timeoutSeconds: 60 };
    const application = Application.parse({ entry: "front", objective: { milliseconds: 250 } });
    const gathering = new Gathering({
      config: SourcesConfig.parse({ prometheus: [prometheus] }),
      application,
      current: () => application,
      windowSeconds: 1,
      builder: new WindowBuilder({ windowSeconds: 1, namespace: "default" }),
      origins: new SpanOrigins(),
      clock: systemClock,
      log: silentLog,
    });
    const other = gathering.sources.prometheus[0]!.client.query("up", 0).catch(() => "unanswered");
    const { failed, sets } = await gathering.gather({ startMs: 0, endMs: 1_000 });
    expect({ failed, sets }).toEqual({ failed: [{ name: "prometheus", kind: "metrics" }], sets: [] });
    await gathering.stop();
    expect(await other).toBe("unanswered");
  });
});

describe("sources that answer and have not all of the application", () => {
  it("are named with what they lack: parts of traces, or request metrics of its namespace", async () => {
    const span = {
      traceId: "1".repeat(32),
      spanId: "2".repeat(16),
      name: "GET /",
      kind: 2,
      startTimeUnixNano: "1000000000",
      endTimeUnixNano: "1100000000",
    };
    const attributes = [{ key: "service.name", value: { stringValue: "front" } }];
    const resourceSpans = [{ resource: { attributes }, scopeSpans: [{ spans: [span] }] }];
    const traces = await FakeServer.start((request, response) =>
      json(
        response,
        request.url?.startsWith("/api/search") === true
          ? { traces: [{ traceID: span.traceId }] }
          : { trace: { resourceSpans }, status: "PARTIAL" },
      ),
    );
    fake.series = inNamespace(mesh(), "payments", 1);
    const application = Application.parse({
      namespace: "shop",
      entry: "front",
      objective: { milliseconds: 250 },
    });
    const gathering = new Gathering({
      config: SourcesConfig.parse({
        prometheus: [{ url: fake.server.url, metrics: "istio" }],
        tempo: [{ url: traces.url, api: "v2" }],
      }),
      application,
      current: () => application,
      windowSeconds: 10,
      builder: new WindowBuilder({ windowSeconds: 10, namespace: "shop" }),
      origins: new SpanOrigins(),
      clock: systemClock,
      log: silentLog,
    });
    try {
      const endMs = Date.now();
      const { failed } = await gathering.gather({ startMs: endMs - 10_000, endMs });
      expect(failed).toEqual([
        { name: "tempo", kind: "spans", problem: "tempo: the server has only a part of 1 of 1 traces" },
        {
          name: "prometheus",
          kind: "metrics",
          problem: expect.stringContaining("0 services of yours") as string,
        },
      ]);
    } finally {
      await gathering.stop();
      await traces.stop();
    }
  });
});

describe("the sources of an application whose entry changes", () => {
  it("go on with the new one", async () => {
    const traces = await FakeServer.start((_request, response) => json(response, { data: [], traces: [] }));
    const application = Application.parse({
      namespace: "shop",
      entry: "front",
      objective: { milliseconds: 250 },
    });
    const present = { ...application };
    const gathering = new Gathering({
      config: {
        prometheus: [PrometheusOptions.parse({ url: fake.server.url, metrics: "istio" })],
        jaeger: [JaegerOptions.parse({ url: traces.url })],
        tempo: [TempoOptions.parse({ url: traces.url })],
        zipkin: [],
      },
      application,
      current: () => present,
      windowSeconds: 10,
      builder: new WindowBuilder({ windowSeconds: 10, namespace: "shop" }),
      origins: new SpanOrigins(),
      clock: systemClock,
      log: silentLog,
    });
    const endMs = Date.now();
    const flows = async (): Promise<(string | undefined)[]> => {
      const { sets } = await gathering.gather({ startMs: endMs - 10_000, endMs });
      return sets.flatMap((set) => set.flows.map(({ entryService }) => entryService));
    };
    try {
      expect(await flows()).toEqual(["front"]);
      present.entries = ["cart"];
      traces.requests.length = 0;
      expect(await flows()).toEqual(["cart"]);
      const asked = traces.requests.map(
        ({ url }) => url.searchParams.get("service") ?? url.searchParams.get("q"),
      );
      expect(new Set(asked)).toEqual(new Set(["cart", '{ resource.service.name = "cart" }']));
    } finally {
      await gathering.stop();
      await traces.stop();
    }
  });
});
