import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Running } from "@tradewind/core/running.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { openStoreForReading } from "@tradewind/predictor/store/database.ts";
import { startPredictor } from "@tradewind/predictor/predictor.ts";
import { installed } from "../../installed.ts";
import { waitUntil } from "../../wait-until.ts";
import { FakePrometheus, inNamespace } from "../sources/prometheus/fake-prometheus.ts";
import { meshSeries } from "../sources/prometheus/pushed-series.ts";

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

async function start(): Promise<Running> {
  const config = join(directory, "app.yaml");
  const prometheus = `{ name: mesh, url: "${fake.server.url}", metrics: istio, graceSeconds: 0.2, maxAttempts: 1, backfill: { enabled: false } }`;
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
});
