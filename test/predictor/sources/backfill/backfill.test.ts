import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createLog } from "@tradewind/core/process/log.ts";
import { Backfill } from "@tradewind/predictor/sources/backfill/backfill.ts";
import type { BackfillProgress } from "@tradewind/predictor/sources/backfill/backfill.ts";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import { PrometheusSource } from "@tradewind/predictor/sources/prometheus/prometheus-source.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { installed } from "../../../installed.ts";
import { waitUntil } from "../../../wait-until.ts";
import { FakeServer, json } from "../../../core/net/endpoint/fake-server.ts";
import { startVictoriaMetrics } from "../prometheus/metric-servers.ts";
import type { MetricServer } from "../prometheus/metric-servers.ts";
import { importHistory } from "./history.ts";

const log = createLog("test", "silent");
const ALL = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
const victoria = installed("victoria-metrics");
const NOW_MS = Math.floor(Date.now() / 300_000) * 300_000 - 600_000;

let directory = "";
let path = "";
const closing: (() => Promise<void>)[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "tradewind-backfill-"));
  path = join(directory, "history.sqlite");
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(directory, { recursive: true, force: true });
});

function parts(
  url: string,
  options: Record<string, unknown> = {},
): { source: PrometheusSource; store: SqliteStore } {
  const parsed = PrometheusOptions.parse({ url, metrics: "otel", maxAttempts: 1, ...options });
  const source = new PrometheusSource(
    parsed,
    { namespace: "shop", entries: () => ["service-0"] },
    { breaker: { failures: 100, openMs: 1 } },
  );
  const store = new SqliteStore({ path, log });
  closing.push(
    async () => source.close(),
    async () => store.close(),
  );
  return { source, store };
}

describe.skipIf(victoria === undefined)("Backfill from a real victoria-metrics", () => {
  let server: MetricServer;
  beforeAll(async () => {
    server = await startVictoriaMetrics(victoria!);
    await importHistory(server.url, {
      services: 3,
      fromMs: NOW_MS - 86_400_000,
      toMs: NOW_MS,
      scrapeMs: 60_000,
    });
    await server.settled();
    await waitUntil(
      async () =>
        (
          await (await fetch(`${server.url}/api/v1/labels?start=${(NOW_MS - 3_600_000) / 1_000}`)).text()
        ).includes("service_name"),
      10_000,
      "the imported history to be there",
    );
  });
  afterAll(async () => server?.stop());

  it("brings a day of every service into the store, in the steps that it keeps", async () => {
    const { source, store } = parts(server.url, { backfill: { days: 1 } });
    const seen: BackfillProgress[] = [];
    const progress = await new Backfill({
      source,
      store,
      windowSeconds: 15,
      rawDays: 0.5,
      log,
      onProgress: (each) => seen.push(each),
    }).run(NOW_MS);
    expect(progress).toMatchObject({ state: "done", doneRatio: 1, queriesRefused: 0 });
    const windows = [...store.windows({ ...ALL, service: "service-1" })];
    const lengths = windows.map(({ startMs, endMs }) => endMs - startMs);
    // Of the first scrape nothing is known of the time before it.
    expect(lengths.filter((each) => each === 300_000).length).toBeGreaterThanOrEqual(143);
    expect(lengths.filter((each) => each === 60_000).length).toBeGreaterThanOrEqual(719);
    const inner = windows[Math.floor(windows.length / 2)];
    expect(inner?.requestsPerSecond).toBeCloseTo(2, 1);
    expect(inner?.responseLatency?.meanSeconds).toBeCloseTo(0.03, 3);
    expect(
      seen.some(({ etaSeconds, doneRatio }) => etaSeconds !== undefined && doneRatio > 0 && doneRatio < 1),
    ).toBe(true);

    const again = await new Backfill({ source, store, windowSeconds: 15, rawDays: 0.5, log }).run(NOW_MS);
    expect(again).toMatchObject({ state: "done", windows: 0 });
  });

  it("goes on where it was when it is killed in the middle", async () => {
    const child = spawn(
      process.execPath,
      [join(import.meta.dirname, "backfill-child.ts"), server.url, path, String(NOW_MS)],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    await waitUntil(() => Number(said.trimEnd().split("\n").at(-1)) > 0.2, 15_000, "a fifth of the backfill");
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("close", resolve));

    const { source, store } = parts(server.url, { backfill: { days: 1 } });
    const before = [...store.windows(ALL)].length;
    expect(before).toBeGreaterThan(100);
    const progress = await new Backfill({ source, store, windowSeconds: 15, rawDays: 0.5, log }).run(NOW_MS);
    expect(progress.state).toBe("done");
    const kept = [...store.windows(ALL)];
    expect(kept.length).toBeGreaterThanOrEqual(3 * (143 + 719));
    expect(progress.windows).toBeLessThan(kept.length - 100);
    expect(new Set(kept.map(({ service, startMs }) => `${service} ${startMs}`)).size).toBe(kept.length);
  });
});

describe("Backfill and a server in trouble", () => {
  let server: FakeServer;
  beforeEach(async () => {
    server = await FakeServer.start(() => undefined);
    closing.push(async () => server.stop());
  });

  const counts = {
    status: "success",
    data: {
      resultType: "vector",
      result: ["traces_span_metrics_calls_total", "traces_span_metrics_duration_seconds_bucket"].map(
        (name) => ({
          metric: { __name__: name },
          value: [1, "10"],
        }),
      ),
    },
  };
  const services = {
    status: "success",
    data: { resultType: "vector", result: [{ metric: { service_name: "service-0" }, value: [1, "10"] }] },
  };
  const empty = { status: "success", data: { resultType: "matrix", result: [] } };

  it.each([
    ["is busy", (response: ServerResponse) => json(response, "", 429)],
    ["gives partial answers", (response: ServerResponse) => json(response, { ...empty, isPartial: true })],
  ])("slows down for one that %s, and finishes when it does not any more", async (_name, refuse) => {
    let refusals = 0;
    server.handler = (request, response) => {
      const query = new URL(request.url ?? "", "http://x").searchParams.get("query") ?? "";
      if (query.startsWith("count by (__name__)")) json(response, counts);
      else if (query.startsWith("count")) json(response, services);
      else if (refusals < 10) {
        refusals += 1;
        refuse(response);
      } else json(response, empty);
    };
    const { source, store } = parts(server.url, { backfill: { days: 1, concurrency: 1 } });
    const waits: number[] = [];
    const wait = async (ms: number): Promise<void> => {
      waits.push(ms);
      return Promise.resolve();
    };
    const progress = await new Backfill({ source, store, windowSeconds: 15, rawDays: 2, log, wait }).run(
      NOW_MS,
    );
    expect(progress.state).toBe("done");
    expect(progress.queriesRefused).toBeGreaterThan(0);
    expect(waits[0]).toBe(1_000);
    expect(waits).toEqual([...waits].sort((a, b) => a - b));
  });

  it("gives up, and says why, on one that refuses for good; the rest is left for the next start", async () => {
    server.handler = (_request, response) => json(response, "", 401);
    const { source, store } = parts(server.url, { backfill: { days: 1 } });
    const progress = await new Backfill({
      source,
      store,
      windowSeconds: 15,
      rawDays: 2,
      log,
      wait: async () => Promise.resolve(),
    }).run(NOW_MS);
    expect(progress).toMatchObject({
      state: "failed",
      doneRatio: 0,
      problem: expect.stringMatching(/401/) as string,
    });
    expect(store.doneChunks("anything")).toEqual([]);
  });

  it("does not read what was measured live", async () => {
    const asked: number[] = [];
    server.handler = (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "", "http://x");
      const query = searchParams.get("query") ?? "";
      if (query.startsWith("count by (__name__)")) return json(response, counts);
      if (query.startsWith("count")) return json(response, services);
      if (!pathname.endsWith("query_range") && query.endsWith("]")) return json(response, empty);
      asked.push(
        Number(searchParams.get("start")),
        Number(searchParams.get("end") ?? searchParams.get("time")),
      );
      return json(response, empty);
    };
    const { source, store } = parts(server.url, { backfill: { days: 0.25, concurrency: 1 } });
    for (let startMs = NOW_MS - 3_600_000; startMs < NOW_MS; startMs += 15_000) {
      store.append({
        startMs,
        endMs: startMs + 15_000,
        windows: [
          {
            namespace: "shop",
            service: "cart",
            startMs,
            endMs: startMs + 15_000,
            callees: [],
            containers: [],
          },
        ],
        flows: [],
      });
    }
    await store.flush();
    await new Backfill({ source, store, windowSeconds: 15, rawDays: 2, log }).run(NOW_MS);
    expect(asked.length).toBeGreaterThan(0);
    expect(Math.max(...asked) * 1_000).toBeLessThanOrEqual(NOW_MS - 3_600_000);
  });
});
