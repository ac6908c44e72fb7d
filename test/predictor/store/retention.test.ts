import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { StoreOptions } from "@tradewind/predictor/store/options.ts";
import type { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { storeScene, ALL, SERVICES, aChange } from "./store-scene.ts";
import { aSet, aSetOfEntries } from "./windows-of.ts";

function namesIn(file: string): Set<string> {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare("SELECT service FROM services").all();
  database.close();
  return new Set(rows.map((row) => String(row["service"])));
}

describe("retention", () => {
  const scene = storeScene();

  it("keeps the newest proposed changes of a small store, a tenth of it at most, and none beyond their time", async () => {
    const options = StoreOptions.parse({ maxBytes: 1_048_576, decisionDays: 1 });
    const store = scene.open({ options });
    for (let index = 0; index < 150; index += 1) store.appendDecision(aChange("cart", 1_000 + index));
    await store.flush();
    await store.maintain(2_000);
    const kept = store.decisions({ most: 1_000 });
    expect(kept).toHaveLength(104);
    expect(kept[0]!.decidedAtMs).toBe(1_149);
    await store.maintain(2 * 86_400_000);
    expect(store.decisions({ most: 1_000 })).toEqual([]);
  });

  const DAY_MS = 86_400_000;

  async function maintained(store: SqliteStore, nowMs: number): Promise<void> {
    for (let turn = 0; turn < 20; turn += 1) await store.maintain(nowMs);
  }

  it("sums up to five minutes, then hours, then removes, and never counts a time twice", async () => {
    const store = scene.open();
    for (let startMs = 0; startMs < 3_600_000; startMs += 15_000) store.append(aSet(startMs, ["cart"]));
    await store.flush();
    await maintained(store, DAY_MS);
    expect([...store.windows(ALL)]).toHaveLength(240);

    await maintained(store, 3 * DAY_MS);
    const fiveMinutes = [...store.windows(ALL)];
    expect(fiveMinutes).toHaveLength(12);
    expect(fiveMinutes[0]).toMatchObject({ startMs: 0, endMs: 300_000, requestsPerSecond: 10 });
    expect(fiveMinutes[0]?.responseLatency?.count).toBe(20 * 150);
    expect([...store.flows(ALL)]).toHaveLength(12);

    await maintained(store, 20 * DAY_MS);
    expect([...store.windows(ALL)]).toMatchObject([{ startMs: 0, endMs: 3_600_000 }]);
    await maintained(store, 100 * DAY_MS);
    expect([...store.windows(ALL)]).toEqual([]);
  });

  it("sums up flows of one name apart by the service that they enter, whatever key they were stored by", async () => {
    const store = scene.open();
    for (let startMs = 0; startMs < 300_000; startMs += 15_000)
      store.append(aSetOfEntries(startMs, ["front", "poller"]));
    await store.flush();
    const byName = new DatabaseSync(scene.path);
    byName.exec("DELETE FROM flows WHERE start_ms < 150000 AND flow LIKE 'poller%'");
    byName.exec("UPDATE flows SET flow = 'GET' WHERE start_ms < 150000");
    byName.close();
    const rates = (): unknown[] =>
      [...store.flows(ALL)].map(({ entryService, endMs, flow, latency }) => [
        entryService,
        flow,
        endMs,
        latency.count,
      ]);
    expect(rates()).toHaveLength(30);
    await maintained(store, 3 * DAY_MS);
    expect(rates()).toEqual([
      ["front", "GET", 300_000, 20 * 150],
      ["poller", "GET", 300_000, 10 * 150],
    ]);
  });

  it("keeps the file under its size by giving up the oldest first", async () => {
    const options = StoreOptions.parse({ maxBytes: 1_048_576 });
    const store = scene.open({ options });
    const services = Array.from({ length: 40 }, (_, index) => `service-${index}`);
    for (let index = 0; index < 150; index += 1) store.append(aSet(index * 15_000, services));
    await store.flush();
    expect(store.health().bytes).toBeGreaterThan(1_048_576);
    await maintained(store, 150 * 15_000);
    expect(store.health().bytes).toBeLessThanOrEqual(1_048_576);
    const kept = [...store.windows(ALL)];
    expect(kept.at(-1)?.startMs).toBe(149 * 15_000);
    expect(kept[0]?.startMs).toBeGreaterThan(0);
  });

  it("keeps the file under its share of the size, as others come that share it", async () => {
    const maxBytes = 4 * 1_048_576;
    let sharers = 1;
    const store = scene.open({ options: StoreOptions.parse({ maxBytes }), sharers: () => sharers });
    const services = Array.from({ length: 40 }, (_, index) => `service-${index}`);
    for (let index = 0; index < 150; index += 1) store.append(aSet(index * 15_000, services));
    await store.flush();
    await maintained(store, 150 * 15_000);
    const all = store.health().bytes;
    expect(all).toBeGreaterThan(1_048_576);
    sharers = 4;
    expect(store.health().maxBytes).toBe(1_048_576);
    await maintained(store, 150 * 15_000);
    expect(store.health().bytes).toBeLessThanOrEqual(1_048_576);
    expect([...store.windows(ALL)].at(-1)?.startMs).toBe(149 * 15_000);
  });

  it("removes the names of services with the last of their windows, and writes them again when they come back", async () => {
    const store = scene.open();
    const names = (count: number): string[] =>
      Array.from({ length: count }, (_, index) => `invented-${index}`);
    store.append(aSet(0, names(6_000)));
    store.append(aSet(50 * DAY_MS, SERVICES));
    await store.flush();
    await maintained(store, 95 * DAY_MS);
    expect([...namesIn(scene.path)].sort()).toEqual([...SERVICES].sort());
    store.append(aSet(95 * DAY_MS, [...SERVICES, "invented-7"]));
    await store.flush();
    expect(namesIn(scene.path).size).toBe(4);
    expect([...store.windows({ ...ALL, service: "invented-7" })]).toHaveLength(1);
    expect([...store.windows({ ...ALL, service: "stock" })]).toHaveLength(2);
  });

  it("gives up no window while names that no window refers to take the space", async () => {
    const maxBytes = 1_048_576;
    const store = scene.open({ options: StoreOptions.parse({ maxBytes }) });
    store.append(aSet(0, SERVICES));
    await store.flush();
    const invent = new DatabaseSync(scene.path);
    invent.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
      INSERT INTO services (namespace, service) SELECT 'shop', 'invented-' || i || '-${"x".repeat(30)}' FROM n`);
    invent.close();
    expect(store.health().bytes).toBeGreaterThan(maxBytes);
    await maintained(store, 60_000);
    expect(store.health().bytes).toBeLessThanOrEqual(maxBytes);
    expect([...store.windows(ALL)]).toHaveLength(SERVICES.length);
    expect(namesIn(scene.path).size).toBe(SERVICES.length);
  });

  it("gives up the oldest flows too, before newer windows", async () => {
    const options = StoreOptions.parse({ maxBytes: 1_048_576 });
    const store = scene.open({ options });
    for (let index = 0; index < 100; index += 1) {
      const { flows, ...set } = aSet(index * 15_000, ["cart"]);
      const many = Array.from({ length: 200 }, (_, flow) => ({ ...flows[0]!, flow: `GET /${flow}` }));
      store.append({ ...set, flows: many });
    }
    await store.flush();
    expect(store.health().bytes).toBeGreaterThan(1_048_576);
    await maintained(store, 100 * 15_000);
    expect(store.health().bytes).toBeLessThanOrEqual(1_048_576);
    expect([...store.windows(ALL)].at(-1)?.startMs).toBe(99 * 15_000);
    expect([...store.flows(ALL)].at(-1)?.startMs).toBe(99 * 15_000);
  });
});
