import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { createLog } from "@tradewind/core/process/log.ts";
import type { Logger } from "@tradewind/core/process/log.ts";
import { PendingRows } from "@tradewind/predictor/store/pending.ts";
import { StoreOptions } from "@tradewind/predictor/store/options.ts";
import { storeScene, ALL, SERVICES, filled } from "./store-scene.ts";
import { aSet, aWindow } from "./windows-of.ts";

const log = createLog("test", "silent");

/** All that is measured of a container but its id. */
const aContainer = () => ({
  podName: "cart-5d8c7f9b6-x2x4z",
  node: "node-17",
  startedAtMs: 1.75e12,
  cpuRequestCores: 0.5,
  cpuLimitCores: 1,
  cpuUsageCores: 1 / 3,
  cpuThrottledRatio: 1 / 3,
  memoryRequestBytes: 1e9,
  memoryLimitBytes: 1e9,
  memoryWorkingSetBytes: 123_456_789,
  oomKills: 0,
  interference: {
    cpu: { supported: true, value: 1 / 3, source: "others-share+psi+steal" },
    memoryCapacity: { supported: true, value: 1 / 3, source: "others-share+psi+refaults" },
    memoryBandwidth: { supported: false },
    network: { supported: true, value: 1 / 3, source: "others-share+loss" },
  },
});

describe("a store whose disk is full", () => {
  const scene = storeScene();

  it("holds new windows in memory while the disk is full, loses no old ones, and says so", async () => {
    await filled(scene, 50);
    const before = statSync(scene.path).size;
    const store = scene.open({ maxPages: Math.ceil(before / 4096) + 4 });
    for (let index = 50; index < 400; index += 1) store.append(aSet(index * 15_000, SERVICES));
    await store.flush();
    const health = store.health();
    expect(health).toMatchObject({ state: "disk-full", lostWindowsTotal: 0 });
    expect(health.problem).toMatch(/disk is full/);
    expect(health.remedy).toMatch(/free space/);
    expect(health.pendingWindows).toBeGreaterThan(0);
    expect([...store.windows(ALL)]).toHaveLength(400 * SERVICES.length);

    await store.close();
    const roomier = scene.open();
    expect([...roomier.windows(ALL)].length).toBeGreaterThanOrEqual(50 * SERVICES.length);
  });

  it("writes what waited once there is room again", async () => {
    await filled(scene, 10);
    const pages = Math.ceil(statSync(scene.path).size / 4096) + 4;
    const store = scene.open({ maxPages: pages });
    for (let index = 10; index < 300; index += 1) store.append(aSet(index * 15_000, SERVICES));
    await store.flush();
    expect(store.health().state).toBe("disk-full");
    const inside = store as unknown as { file: { tables: { database: DatabaseSync } } };
    inside.file.tables.database.exec("PRAGMA max_page_count = 1000000");
    await store.flush();
    expect(store.health()).toMatchObject({ state: "disk", pendingWindows: 0, problem: undefined });
  });

  it("gives up the oldest waiting windows, and counts them, when memory for them is full", async () => {
    const options = StoreOptions.parse({ maxPendingWindows: 100 });
    const store = scene.open({ options });
    for (let index = 0; index < 500; index += 1) {
      store.append({
        startMs: index,
        endMs: index + 15_000,
        windows: [aWindow({ startMs: index * 15_000 })],
        flows: [],
      });
    }
    expect(store.health().pendingWindows).toBeLessThanOrEqual(111);
    expect(store.health().lostWindowsTotal).toBeGreaterThanOrEqual(389);
    expect([...store.windows(ALL)].at(-1)?.startMs).toBe(499 * 15_000);
  });

  it("gives up the oldest waiting windows of one of eight applications beyond an eighth of the memory and number for all", async () => {
    await filled(scene, 50);
    const store = scene.open({ maxPages: Math.ceil(statSync(scene.path).size / 4096) + 4, sharers: () => 8 });
    const containers = Array.from({ length: 10 }, (_, index) => ({ id: `c${index}`, cpuUsageCores: 0.5 }));
    const append = (from: number, to: number, of: { containers?: typeof containers }): void => {
      for (let index = from; index < to; index += 1) {
        const window = aWindow({ startMs: index * 15_000, ...of });
        store.append({ startMs: window.startMs, endMs: window.endMs, windows: [window], flows: [] });
      }
    };
    append(50, 1_000, {});
    await store.flush();
    expect(store.health()).toMatchObject({ state: "disk-full", lostWindowsTotal: 0 });
    append(1_000, 3_000, { containers });
    const { pending } = store as unknown as { pending: PendingRows };
    expect(pending.bytes).toBeLessThanOrEqual((64 * 1_048_576) / 8);
    expect(pending.bytes).toBeGreaterThan((0.8 * 64 * 1_048_576) / 8);
    expect(store.health().lostWindowsTotal).toBeGreaterThan(0);
    expect([...store.windows(ALL)].at(-1)?.startMs).toBe(2_999 * 15_000);
    append(3_000, 12_000, { containers: [] });
    expect(pending.rows.length).toBeLessThanOrEqual(50_000 / 8);
  });

  it("counts what waits about as long as it is as JSON", () => {
    const pending = new PendingRows(() => ({ rows: 10, bytes: Infinity }));
    const latency = { count: 1, meanSeconds: 1 / 3, p50Seconds: 1 / 3, p95Seconds: 1 / 3, p99Seconds: 1 / 3 };
    const containers = Array.from({ length: 10 }, (_, index) => ({ id: `c${index}`, ...aContainer() }));
    const window = aWindow({ startMs: 0, containers, ownLatency: latency, responseLatency: latency });
    pending.push({ kind: "window", origin: "live", window });
    const { length } = JSON.stringify(window);
    expect(pending.bytes).toBeGreaterThan(length * 0.8);
    expect(pending.bytes).toBeLessThan(length * 1.5);
    pending.shift(1);
    expect(pending.bytes).toBe(0);
  });

  it("logs once that the disk is full, however often it is tried again", async () => {
    await filled(scene, 50);
    const lines: unknown[] = [];
    const noted = Object.assign(Object.create(log) as Logger, {
      error: (_fields: unknown, line: unknown): void => void lines.push(line),
    });
    const store = scene.open({ maxPages: Math.ceil(statSync(scene.path).size / 4096) + 4, log: noted });
    for (let index = 50; index < 400; index += 1) store.append(aSet(index * 15_000, SERVICES));
    for (let attempt = 0; attempt < 3; attempt += 1) await store.flush();
    expect(store.health().writeErrorsTotal).toBe(3);
    expect(lines).toEqual(["the disk is full"]);
  });
});
