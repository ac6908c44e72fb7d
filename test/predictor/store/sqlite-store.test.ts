import { spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { ProposedChange } from "@tradewind/core/contract/proposed-change.ts";
import type { FlowWindow, WindowSet } from "@tradewind/core/contract/window.ts";
import { createLog } from "@tradewind/core/log.ts";
import type { Logger } from "@tradewind/core/log.ts";
import { openStoreForReading } from "@tradewind/predictor/store/database.ts";
import { PendingRows } from "@tradewind/predictor/store/pending.ts";
import { StoreOptions } from "@tradewind/predictor/store/options.ts";
import type { DecisionQuery } from "@tradewind/predictor/store/window-store.ts";
import { SqliteStore } from "@tradewind/predictor/store/sqlite-store.ts";
import { wishOf } from "../../exporter/wish.ts";
import { waitUntil } from "../../wait-until.ts";
import { aSet, aWindow } from "./windows-of.ts";

const log = createLog("test", "silent");
const ALL = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
const SERVICES = ["cart", "stock", "front"];
let directory = "";
let path = "";
const open: SqliteStore[] = [];

function openStore(settings: Partial<ConstructorParameters<typeof SqliteStore>[0]> = {}): SqliteStore {
  const store = new SqliteStore({ path, log, ...settings });
  open.push(store);
  return store;
}

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "tradewind-store-"));
  path = join(directory, "history.sqlite");
});
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
  rmSync(directory, { recursive: true, force: true });
});

const aChange = (service: string, decidedAtMs: number): ProposedChange => ({
  id: `${decidedAtMs}-${service}`,
  application: "hotel",
  namespace: "shop",
  service,
  decidedAtMs,
  before: { replicas: 3 },
  proposal: wishOf({ service }),
  policyReason: "p95 is 412 ms, objective 300 ms (137 %)",
});

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

const modeOf = (file: string): number => statSync(file).mode & 0o777;

/** A flow called `GET` for each of these services. */
function aSetOfEntries(startMs: number, entries: readonly string[]): WindowSet {
  const { flows, ...set } = aSet(startMs, entries);
  return {
    ...set,
    flows: entries.flatMap((entryService) =>
      flows.map((flow): FlowWindow => ({ ...flow, flow: "GET", entryService })),
    ),
  };
}

async function filled(sets: number): Promise<void> {
  const store = openStore();
  for (let index = 0; index < sets; index += 1) store.append(aSet(index * 15_000, SERVICES));
  await store.close();
}

/** A file of 1,200 windows of which a twentieth, in the middle, is noise. */
async function damaged(): Promise<void> {
  await filled(400);
  const bytes = readFileSync(path);
  // Pages of windows and their index.
  for (let at = Math.floor(bytes.length * 0.5); at < bytes.length * 0.55; at += 1)
    bytes[at] = (at * 31) & 0xff;
  writeFileSync(path, bytes);
}

/** Windows that a store finds in a copy of the file. */
function salvagedFromCopy(): number {
  const copy = join(directory, "copy", "history.sqlite");
  cpSync(path, copy);
  return [...openStore({ path: copy }).windows(ALL)].length;
}

/** Names of files of the store that were set aside, without their time, and without logs and indexes. */
const asideNames = (): string[] =>
  readdirSync(directory)
    .filter((name) => name.includes(".corrupt-") && !/-(wal|shm)$/.test(name))
    .map((name) => name.replace(/-[-0-9TZ]+/, ""));

describe("SqliteStore", () => {
  it("gives back after a restart what was stored, and before that what still waits", async () => {
    const store = openStore();
    const set = aSet(15_000, SERVICES);
    store.append(set);
    expect([...store.windows(ALL)]).toEqual(set.windows);
    expect([...store.flows(ALL)]).toEqual([{ ...set.flows[0], startMs: 15_000, endMs: 30_000 }]);
    await store.close();

    const again = openStore();
    expect([...again.windows(ALL)]).toEqual(expect.arrayContaining(set.windows));
    expect([...again.windows({ ...ALL, service: "stock" })].map(({ service }) => service)).toEqual(["stock"]);
    expect([...again.windows({ fromMs: 0, toMs: 15_000 })]).toEqual([]);
    expect(again.health()).toMatchObject({ state: "disk", problem: undefined, lostWindowsTotal: 0 });
  });

  it("keeps flows of one name apart by the service that they enter", async () => {
    const store = openStore();
    const set = aSetOfEntries(0, ["front", "poller"]);
    store.append(set);
    await store.flush();
    expect([...store.flows(ALL)]).toEqual(set.flows.map((flow) => ({ ...flow, startMs: 0, endMs: 15_000 })));
  });

  it("gives back after a restart the newest proposed changes, of one service or of all, those that still wait among them", async () => {
    const store = openStore();
    for (const [atMs, service] of [
      [1_000, "cart"],
      [2_000, "stock"],
      [3_000, "cart"],
    ] as const) {
      store.appendDecision(aChange(service, atMs));
    }
    await store.close();
    const again = openStore();
    again.appendDecision(aChange("cart", 4_000));
    const timesOf = (query: DecisionQuery) => again.decisions(query).map(({ decidedAtMs }) => decidedAtMs);
    expect(timesOf({ most: 9 })).toEqual([4_000, 3_000, 2_000, 1_000]);
    expect(timesOf({ most: 2, service: "cart" })).toEqual([4_000, 3_000]);
    expect(again.decisions({ most: 9, service: "stock" })).toEqual([aChange("stock", 2_000)]);
    expect(timesOf({ most: 9, fromMs: 2_000, toMs: 4_000 })).toEqual([3_000, 2_000]);
    expect(timesOf({ most: 9, fromMs: 4_000 })).toEqual([4_000]);
  });

  it("keeps models, and chunks that are done", async () => {
    const store = openStore();
    const model = {
      name: "profile/shop/cart",
      hash: "0123456789abcdef",
      createdAtMs: 5,
      body: Buffer.from([1, 2, 3]),
      metadata: { rows: 7 },
    };
    store.saveModel({ ...model, createdAtMs: 1, hash: "0000000000000000" });
    store.saveModel(model);
    store.markDone("job", { startMs: 0, endMs: 10 });
    expect(store.model(model.name)?.createdAtMs).toBe(5);
    await store.flush();
    expect(store.model(model.name)).toMatchObject({ hash: model.hash, metadata: { rows: 7 } });
    expect(Buffer.from(store.model(model.name)!.body)).toEqual(model.body);
    expect(store.doneChunks("job")).toEqual([{ startMs: 0, endMs: 10 }]);
    expect(store.model("unknown")).toBeUndefined();
  });

  it("does not let history from a server replace a live window", async () => {
    const store = openStore();
    const live = aWindow({ startMs: 0, requestsPerSecond: 1 });
    store.append({ startMs: 0, endMs: 15_000, windows: [live], flows: [] });
    const past = aWindow({ startMs: 0, requestsPerSecond: 99 });
    const other = aWindow({ startMs: 15_000, requestsPerSecond: 99 });
    store.append({ startMs: 0, endMs: 15_000, windows: [past, other], flows: [] }, "backfill");
    await store.flush();
    expect([...store.windows(ALL)].map(({ requestsPerSecond }) => requestsPerSecond)).toEqual([1, 99]);
  });

  it("gives each time in one resolution only", async () => {
    const store = openStore();
    store.append(
      { startMs: 0, endMs: 60_000, windows: [aWindow({ startMs: 0, endMs: 60_000 })], flows: [] },
      "backfill",
    );
    for (const startMs of [45_000, 60_000]) store.append(aSet(startMs, ["cart"]));
    await store.flush();
    expect([...store.windows(ALL)].map(({ startMs, endMs }) => [startMs, endMs])).toEqual([
      [0, 60_000],
      [60_000, 75_000],
    ]);
    expect([...store.windows({ ...ALL, resolutionSeconds: 15 })]).toHaveLength(2);
  });

  it("loses no committed window when its process is killed", async () => {
    const child = spawn(process.execPath, [join(import.meta.dirname, "writer-child.ts"), path], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    await new Promise<void>((resolve) => {
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        said += text;
        if (said.split("\n").length > 40) {
          child.kill("SIGKILL");
          resolve();
        }
      });
    });
    await new Promise((resolve) => child.once("close", resolve));
    const committed = Number(said.trimEnd().split("\n").at(-1));
    expect(committed).toBeGreaterThanOrEqual(40);
    const store = openStore();
    expect(store.health()).toMatchObject({ state: "disk", salvagesTotal: 0 });
    const kept = [...store.windows(ALL)];
    expect(kept.length).toBeGreaterThanOrEqual(committed * SERVICES.length);
    expect(kept.length % SERVICES.length).toBe(0);
  });

  it("holds new windows in memory while the disk is full, loses no old ones, and says so", async () => {
    await filled(50);
    const before = statSync(path).size;
    const store = openStore({ maxPages: Math.ceil(before / 4096) + 4 });
    for (let index = 50; index < 400; index += 1) store.append(aSet(index * 15_000, SERVICES));
    await store.flush();
    const health = store.health();
    expect(health).toMatchObject({ state: "disk-full", lostWindowsTotal: 0 });
    expect(health.problem).toMatch(/disk is full/);
    expect(health.remedy).toMatch(/free space/);
    expect(health.pendingWindows).toBeGreaterThan(0);
    expect([...store.windows(ALL)]).toHaveLength(400 * SERVICES.length);

    await store.close();
    const roomier = openStore();
    expect([...roomier.windows(ALL)].length).toBeGreaterThanOrEqual(50 * SERVICES.length);
  });

  it("writes what waited once there is room again", async () => {
    await filled(10);
    const pages = Math.ceil(statSync(path).size / 4096) + 4;
    const store = openStore({ maxPages: pages });
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
    const store = openStore({ options });
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
    await filled(50);
    const store = openStore({ maxPages: Math.ceil(statSync(path).size / 4096) + 4, sharers: () => 8 });
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
    await filled(50);
    const lines: unknown[] = [];
    const noted = Object.assign(Object.create(log) as Logger, {
      error: (_fields: unknown, line: unknown): void => void lines.push(line),
    });
    const store = openStore({ maxPages: Math.ceil(statSync(path).size / 4096) + 4, log: noted });
    for (let index = 50; index < 400; index += 1) store.append(aSet(index * 15_000, SERVICES));
    for (let attempt = 0; attempt < 3; attempt += 1) await store.flush();
    expect(store.health().writeErrorsTotal).toBe(3);
    expect(lines).toEqual(["the disk is full"]);
  });

  it("sets a damaged file aside and takes over what is readable", async () => {
    await damaged();
    const store = openStore();
    const kept = [...store.windows(ALL)];
    expect(kept.length).toBeGreaterThan(400 * SERVICES.length * 0.7);
    expect(kept.length).toBeLessThan(400 * SERVICES.length);
    expect(new Set(kept.map(({ startMs, service }) => `${startMs}${service}`)).size).toBe(kept.length);
    expect(store.health()).toMatchObject({ state: "disk", salvagesTotal: 1 });
    expect(readdirSync(directory).some((name) => name.includes(".corrupt-"))).toBe(true);
    store.append(aSet(9_000_000, SERVICES));
    await store.flush();
    expect(store.health().pendingWindows).toBe(0);
  });

  it("takes over a damaged file from the beginning when the process that did so was killed meanwhile", async () => {
    await damaged();
    const expected = salvagedFromCopy();
    const child = spawn(process.execPath, [join(import.meta.dirname, "salvage-child.ts"), path], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    const signal = await new Promise((resolve) => child.once("close", (_code, by) => resolve(by)));
    expect(signal).toBe("SIGKILL");
    const store = openStore();
    expect([...store.windows(ALL)]).toHaveLength(expected);
    expect(store.health()).toMatchObject({ state: "disk", salvagesTotal: 1 });
    await store.close();
    expect(asideNames()).toEqual(["history.sqlite.corrupt"]);
  });

  it("takes over a damaged file that a process was killed in moving, with its write-ahead log", async () => {
    await damaged();
    const expected = salvagedFromCopy();
    writeFileSync(`${path}.corrupt-2026-01-02T03-04-05-678Z.salvaging-wal`, "");
    expect([...openStore().windows(ALL)]).toHaveLength(expected);
    expect(asideNames()).toEqual(["history.sqlite.corrupt"]);
  });

  it("leaves a damaged file alone that five processes died of", async () => {
    await damaged();
    const aside = `${path}.corrupt-2026-01-02T03-04-05-678Z`;
    renameSync(path, `${aside}.salvaging`);
    await openStore().close();
    renameSync(aside, `${aside}.salvaging`);
    const database = new DatabaseSync(path);
    database.exec(`INSERT INTO meta VALUES ('salvage-tries ${aside.split("/").at(-1)}.salvaging', '5')`);
    database.close();
    expect(openStore().health()).toMatchObject({ state: "disk", salvagesTotal: 0 });
    expect(asideNames()).toEqual(["history.sqlite.corrupt"]);
  });

  it("gives others their turn while it takes over a large damaged file, and a stop then loses nothing", async () => {
    await damaged();
    const expected = salvagedFromCopy();
    // Time runs so fast at first that only a page is taken over at once.
    let monotonicMs = 0;
    let passingMs = 60_000;
    const clock = { nowMs: () => Date.now(), monotonicMs: () => (monotonicMs += passingMs) };
    const store = openStore({ clock });
    expect([...store.windows(ALL)].length).toBeLessThan(expected / 2);
    await store.close();

    const again = openStore({ clock });
    passingMs = 0;
    again.append(aSet(9_000_000, SERVICES));
    await again.flush();
    await again.maintain(30 * 86_400_000);
    const count = (): number => [...again.windows(ALL)].length;
    await waitUntil(() => count() === expected + SERVICES.length, 20_000, "everything readable is there");
    const isDone = (): boolean => asideNames().join() === "history.sqlite.corrupt";
    await waitUntil(isDone, 20_000, "the file is kept aside");
    expect(again.health()).toMatchObject({ state: "disk", salvagesTotal: 1 });
  });

  it("goes on with a damaged file where it was once there is room for it", async () => {
    await damaged();
    const expected = salvagedFromCopy();
    const store = openStore({ maxPages: 40 });
    expect(store.health()).toMatchObject({ state: "disk-full" });
    expect([...store.windows(ALL)].length).toBeLessThan(expected);
    expect(asideNames()).toContain("history.sqlite.corrupt.salvaging");
    await store.close();
    expect([...openStore().windows(ALL)]).toHaveLength(expected);
    expect(asideNames()).toEqual(["history.sqlite.corrupt"]);
  });

  it("reads what is left of a file that was cut off", async () => {
    await filled(300);
    truncateSync(path, Math.floor(statSync(path).size / 4096 / 2) * 4096);
    const store = openStore();
    expect(store.health()).toMatchObject({ state: "disk", salvagesTotal: 1 });
    expect(store.health().salvagedRowsTotal).toBeGreaterThan(50);
  });

  it("starts anew when the file is no database at all", async () => {
    writeFileSync(path, "this is not a database, but it is longer than a header would be ".repeat(100));
    const store = openStore();
    store.append(aSet(0, SERVICES));
    await store.flush();
    expect(store.health()).toMatchObject({ state: "disk", salvagesTotal: 1, pendingWindows: 0 });
    expect([...store.windows(ALL)]).toHaveLength(3);
  });

  it("finds a changed bit in a row, leaves that row out and counts it", async () => {
    await filled(3);
    const database = new DatabaseSync(path);
    database.exec(
      "UPDATE windows SET body = zeroblob(length(body)) WHERE start_ms = 15000 AND service_id = 1",
    );
    database.close();
    const store = openStore();
    expect([...store.windows(ALL)]).toHaveLength(8);
    expect(store.health().unreadableRowsTotal).toBe(1);
  });

  it("works in memory, and says so, where there can be no file", async () => {
    writeFileSync(join(directory, "file"), "");
    const store = openStore({ path: join(directory, "file", "history.sqlite") });
    store.append(aSet(0, SERVICES));
    await store.flush();
    expect([...store.windows(ALL)]).toHaveLength(3);
    expect(store.health().state).toBe("memory");
    expect(store.health().problem).toMatch(/memory only/);
  });

  it("keeps to the memory that it may take where there can be no file, whatever the file might take", async () => {
    writeFileSync(join(directory, "file"), "");
    const store = openStore({ path: join(directory, "file", "history.sqlite") });
    const memoryBytes = 64 * 1_048_576;
    const body = Buffer.alloc(memoryBytes - 524_288);
    store.saveModel({ name: "large", hash: "0123", createdAtMs: 0, body, metadata: {} });
    const services = Array.from({ length: 40 }, (_, index) => `service-${index}`);
    for (let index = 0; index < 100; index += 1) store.append(aSet(index * 15_000, services));
    await store.flush();
    expect(store.health().bytes).toBeGreaterThan(memoryBytes);
    for (let turn = 0; turn < 5; turn += 1) await store.maintain(100 * 15_000);
    expect(store.health().bytes).toBeLessThanOrEqual(memoryBytes);
    expect([...store.windows(ALL)].at(-1)?.startMs).toBe(99 * 15_000);
  });

  it("moves what it gathered in memory to the file once there can be one", async () => {
    const blocked = join(directory, "state");
    writeFileSync(blocked, "");
    let monotonicMs = 0;
    const clock = { nowMs: () => 0, monotonicMs: () => monotonicMs };
    const store = openStore({ path: join(blocked, "history.sqlite"), clock });
    store.append(aSet(0, SERVICES));
    await store.flush();
    rmSync(blocked);
    monotonicMs += 60_000;
    store.append(aSet(15_000, SERVICES));
    await store.flush();
    expect(store.health()).toMatchObject({ state: "disk", problem: undefined });
    expect([...store.windows(ALL)]).toHaveLength(6);
  });

  it("is readable for its own user alone, with its log and index, and makes an older file so", async () => {
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    const inside = join(directory, "state", "history.sqlite");
    const store = openStore({ path: inside });
    store.append(aSet(0, SERVICES));
    await store.flush();
    const modes = () =>
      readdirSync(join(directory, "state")).map((name) => [name, modeOf(join(directory, "state", name))]);
    const PRIVATE = [
      ["history.sqlite", 0o600],
      ["history.sqlite-shm", 0o600],
      ["history.sqlite-wal", 0o600],
    ];
    expect(modes()).toEqual(PRIVATE);
    expect(modeOf(join(directory, "state"))).toBe(0o700);
    await store.close();
    chmodSync(inside, 0o644);
    openStore({ path: inside }).append(aSet(15_000, SERVICES));
    expect(modes()).toEqual(PRIVATE);
  });

  it.each(["state", "state/history.sqlite"])(
    "notices that %s was deleted, and writes everything again",
    async (deleted) => {
      const inside = join(directory, "state", "history.sqlite");
      const store = openStore({ path: inside });
      store.append(aSet(0, SERVICES));
      await store.flush();
      rmSync(join(directory, deleted), { recursive: true });
      store.append(aSet(15_000, SERVICES));
      await store.flush();
      expect(store.health()).toMatchObject({
        state: "disk",
        fileLossesTotal: 1,
        pendingWindows: 0,
        problem: undefined,
      });
      expect([...store.windows(ALL)]).toHaveLength(6);
      expect(modeOf(inside)).toBe(0o600);
      const reader = openStoreForReading(inside);
      expect([...reader.windows(15, ALL)]).toHaveLength(6);
      reader.database.close();
    },
  );

  it("holds new windows and says why while a deleted directory cannot be made again", async () => {
    const state = join(directory, "state");
    let monotonicMs = 0;
    const clock = { nowMs: () => 0, monotonicMs: () => monotonicMs };
    const store = openStore({ path: join(state, "history.sqlite"), clock });
    store.append(aSet(0, SERVICES));
    await store.flush();
    rmSync(state, { recursive: true });
    writeFileSync(state, "in the way");
    store.append(aSet(15_000, SERVICES));
    await store.flush();
    expect(store.health()).toMatchObject({ state: "failing", fileLossesTotal: 1 });
    expect(store.health().problem).toMatch(/history cannot be written/);
    expect(store.health().pendingWindows).toBeGreaterThan(0);
    expect([...store.windows(ALL)]).toHaveLength(6);
    rmSync(state);
    monotonicMs += 60_000;
    await store.flush();
    expect(store.health()).toMatchObject({ state: "disk", fileLossesTotal: 1, pendingWindows: 0 });
    expect([...store.windows(ALL)]).toHaveLength(6);
  });

  it("takes a file that was put in its place as it is", async () => {
    const other = openStore({ path: join(directory, "other.sqlite") });
    other.append(aSet(0, ["other"]));
    await other.close();
    const store = openStore();
    store.append(aSet(0, SERVICES));
    await store.flush();
    renameSync(join(directory, "other.sqlite"), path);
    for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix);
    store.append(aSet(15_000, ["cart"]));
    await store.flush();
    expect(store.health()).toMatchObject({ state: "disk", fileLossesTotal: 1 });
    expect([...store.windows(ALL)].map(({ service }) => service)).toEqual(["other", "cart"]);
  });

  it("refuses a file of a newer version without touching it", () => {
    const database = new DatabaseSync(path);
    database.exec("PRAGMA user_version = 999");
    database.close();
    const store = openStore();
    expect(store.health().state).toBe("memory");
    expect(store.health().problem).toMatch(/newer version/);
    expect(readdirSync(directory).filter((name) => name.includes("corrupt"))).toEqual([]);
  });

  it("can be read beside a running writer", async () => {
    const store = openStore();
    store.append(aSet(0, SERVICES));
    await store.flush();
    const reader = openStoreForReading(path);
    expect([...reader.windows(15, ALL)]).toHaveLength(3);
    reader.database.close();
    expect(() => openStoreForReading(join(directory, "none"))).toThrow(/no history/);
  });
});

describe("retention", () => {
  it("keeps the newest proposed changes of a small store, a tenth of it at most, and none beyond their time", async () => {
    const options = StoreOptions.parse({ maxBytes: 1_048_576, decisionDays: 1 });
    const store = openStore({ options });
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
    const store = openStore();
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
    const store = openStore();
    for (let startMs = 0; startMs < 300_000; startMs += 15_000)
      store.append(aSetOfEntries(startMs, ["front", "poller"]));
    await store.flush();
    const byName = new DatabaseSync(path);
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

  it("removes the models of a service that trained none for as long as hours are kept, and no others", async () => {
    const store = openStore();
    const trained = (name: string, createdAtMs: number) =>
      store.saveModel({ name, hash: `${createdAtMs}`, createdAtMs, body: Buffer.from([1]), metadata: {} });
    trained("residual/shop/gone", DAY_MS);
    trained("residual/shop/cart", DAY_MS);
    trained("residual/shop/cart", 80 * DAY_MS);
    await store.flush();
    await maintained(store, 100 * DAY_MS);
    expect(store.model("residual/shop/gone")).toBeUndefined();
    expect(store.model("residual/shop/cart")?.createdAtMs).toBe(80 * DAY_MS);
    expect(store.modelByHash(`${DAY_MS}`)?.name).toBe("residual/shop/cart");
  });

  it("keeps the file under its size by giving up the oldest first", async () => {
    const options = StoreOptions.parse({ maxBytes: 1_048_576 });
    const store = openStore({ options });
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
    const store = openStore({ options: StoreOptions.parse({ maxBytes }), sharers: () => sharers });
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
    const store = openStore();
    const names = (count: number): string[] =>
      Array.from({ length: count }, (_, index) => `invented-${index}`);
    store.append(aSet(0, names(6_000)));
    store.append(aSet(50 * DAY_MS, SERVICES));
    await store.flush();
    await maintained(store, 95 * DAY_MS);
    expect([...namesIn(path)].sort()).toEqual([...SERVICES].sort());
    store.append(aSet(95 * DAY_MS, [...SERVICES, "invented-7"]));
    await store.flush();
    expect(namesIn(path).size).toBe(4);
    expect([...store.windows({ ...ALL, service: "invented-7" })]).toHaveLength(1);
    expect([...store.windows({ ...ALL, service: "stock" })]).toHaveLength(2);
  });

  it("gives up no window while names that no window refers to take the space", async () => {
    const maxBytes = 1_048_576;
    const store = openStore({ options: StoreOptions.parse({ maxBytes }) });
    store.append(aSet(0, SERVICES));
    await store.flush();
    const invent = new DatabaseSync(path);
    invent.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
      INSERT INTO services (namespace, service) SELECT 'shop', 'invented-' || i || '-${"x".repeat(30)}' FROM n`);
    invent.close();
    expect(store.health().bytes).toBeGreaterThan(maxBytes);
    await maintained(store, 60_000);
    expect(store.health().bytes).toBeLessThanOrEqual(maxBytes);
    expect([...store.windows(ALL)]).toHaveLength(SERVICES.length);
    expect(namesIn(path).size).toBe(SERVICES.length);
  });

  it("gives up the oldest flows too, before newer windows", async () => {
    const options = StoreOptions.parse({ maxBytes: 1_048_576 });
    const store = openStore({ options });
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

function namesIn(file: string): Set<string> {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare("SELECT service FROM services").all();
  database.close();
  return new Set(rows.map((row) => String(row["service"])));
}
