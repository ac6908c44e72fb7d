import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { openStoreForReading } from "@tradewind/predictor/store/database.ts";
import type { DecisionQuery } from "@tradewind/predictor/store/window-store.ts";
import { storeScene, ALL, SERVICES, aChange } from "./store-scene.ts";
import { aSet, aSetOfEntries, aWindow } from "./windows-of.ts";

describe("SqliteStore", () => {
  const scene = storeScene();

  it("gives back after a restart what was stored, and before that what still waits", async () => {
    const store = scene.open();
    const set = aSet(15_000, SERVICES);
    store.append(set);
    expect([...store.windows(ALL)]).toEqual(set.windows);
    expect([...store.flows(ALL)]).toEqual([{ ...set.flows[0], startMs: 15_000, endMs: 30_000 }]);
    await store.close();

    const again = scene.open();
    expect([...again.windows(ALL)]).toEqual(expect.arrayContaining(set.windows));
    expect([...again.windows({ ...ALL, service: "stock" })].map(({ service }) => service)).toEqual(["stock"]);
    expect([...again.windows({ fromMs: 0, toMs: 15_000 })]).toEqual([]);
    expect(again.health()).toMatchObject({ state: "disk", problem: undefined, lostWindowsTotal: 0 });
  });

  it("keeps flows of one name apart by the service that they enter", async () => {
    const store = scene.open();
    const set = aSetOfEntries(0, ["front", "poller"]);
    store.append(set);
    await store.flush();
    expect([...store.flows(ALL)]).toEqual(set.flows.map((flow) => ({ ...flow, startMs: 0, endMs: 15_000 })));
  });

  it("gives back after a restart the newest proposed changes, of one service or of all, those that still wait among them", async () => {
    const store = scene.open();
    for (const [atMs, service] of [
      [1_000, "cart"],
      [2_000, "stock"],
      [3_000, "cart"],
    ] as const) {
      store.appendDecision(aChange(service, atMs));
    }
    await store.close();
    const again = scene.open();
    again.appendDecision(aChange("cart", 4_000));
    const timesOf = (query: DecisionQuery) => again.decisions(query).map(({ decidedAtMs }) => decidedAtMs);
    expect(timesOf({ most: 9 })).toEqual([4_000, 3_000, 2_000, 1_000]);
    expect(timesOf({ most: 2, service: "cart" })).toEqual([4_000, 3_000]);
    expect(again.decisions({ most: 9, service: "stock" })).toEqual([aChange("stock", 2_000)]);
    expect(timesOf({ most: 9, fromMs: 2_000, toMs: 4_000 })).toEqual([3_000, 2_000]);
    expect(timesOf({ most: 9, fromMs: 4_000 })).toEqual([4_000]);
  });

  it("keeps chunks that are done", async () => {
    const store = scene.open();
    store.markDone("job", { startMs: 0, endMs: 10 });
    await store.flush();
    expect(store.doneChunks("job")).toEqual([{ startMs: 0, endMs: 10 }]);
  });

  it("does not let history from a server replace a live window", async () => {
    const store = scene.open();
    const live = aWindow({ startMs: 0, requestsPerSecond: 1 });
    store.append({ startMs: 0, endMs: 15_000, windows: [live], flows: [] });
    const past = aWindow({ startMs: 0, requestsPerSecond: 99 });
    const other = aWindow({ startMs: 15_000, requestsPerSecond: 99 });
    store.append({ startMs: 0, endMs: 15_000, windows: [past, other], flows: [] }, "backfill");
    await store.flush();
    expect([...store.windows(ALL)].map(({ requestsPerSecond }) => requestsPerSecond)).toEqual([1, 99]);
  });

  it("gives each time in one resolution only", async () => {
    const store = scene.open();
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
    const child = spawn(process.execPath, [join(import.meta.dirname, "writer-child.ts"), scene.path], {
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
    const store = scene.open();
    expect(store.health()).toMatchObject({ state: "disk", damagedFilesTotal: 0 });
    const kept = [...store.windows(ALL)];
    expect(kept.length).toBeGreaterThanOrEqual(committed * SERVICES.length);
    expect(kept.length % SERVICES.length).toBe(0);
  });

  it("refuses a file of a newer version without touching it", () => {
    const database = new DatabaseSync(scene.path);
    database.exec("PRAGMA user_version = 999");
    database.close();
    const store = scene.open();
    expect(store.health().state).toBe("memory");
    expect(store.health().problem).toMatch(/newer version/);
    expect(readdirSync(scene.directory).filter((name) => name.includes("corrupt"))).toEqual([]);
  });

  it("can be read beside a running writer", async () => {
    const store = scene.open();
    store.append(aSet(0, SERVICES));
    await store.flush();
    const reader = openStoreForReading(scene.path);
    expect([...reader.windows(15, ALL)]).toHaveLength(3);
    reader.database.close();
    expect(() => openStoreForReading(join(scene.directory, "none"))).toThrow(/no history/);
  });
});
