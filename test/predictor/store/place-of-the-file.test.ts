import { randomBytes } from "node:crypto";
import { chmodSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStoreForReading } from "@tradewind/predictor/store/database.ts";
import { storeScene, ALL, SERVICES } from "./store-scene.ts";
import { aSet, aWindow } from "./windows-of.ts";

const modeOf = (file: string): number => statSync(file).mode & 0o777;

describe("where a store keeps its file", () => {
  const scene = storeScene();

  it("works in memory, and says so, where there can be no file", async () => {
    writeFileSync(join(scene.directory, "file"), "");
    const store = scene.open({ path: join(scene.directory, "file", "history.sqlite") });
    store.append(aSet(0, SERVICES));
    await store.flush();
    expect([...store.windows(ALL)]).toHaveLength(3);
    expect(store.health().state).toBe("memory");
    expect(store.health().problem).toMatch(/memory only/);
  });

  it("keeps to the memory that it may take where there can be no file, whatever the file might take", async () => {
    writeFileSync(join(scene.directory, "file"), "");
    const store = scene.open({ path: join(scene.directory, "file", "history.sqlite") });
    const memoryBytes = 64 * 1_048_576;
    const ofNoUse = (startMs: number) =>
      aWindow({ startMs, service: "bulky", containers: [{ id: randomBytes(700_000).toString("base64") }] });
    for (let index = 0; index < 99; index += 1) {
      const set = aSet(index * 15_000, SERVICES);
      store.append({ ...set, windows: [...set.windows, ofNoUse(set.startMs)] });
    }
    store.append(aSet(99 * 15_000, SERVICES));
    await store.flush();
    expect(store.health().bytes).toBeGreaterThan(memoryBytes);
    for (let turn = 0; turn < 5; turn += 1) await store.maintain(100 * 15_000);
    expect(store.health().bytes).toBeLessThanOrEqual(memoryBytes);
    expect([...store.windows(ALL)].at(-1)?.startMs).toBe(99 * 15_000);
  });

  it("moves what it gathered in memory to the file once there can be one", async () => {
    const blocked = join(scene.directory, "state");
    writeFileSync(blocked, "");
    let monotonicMs = 0;
    const clock = { nowMs: () => 0, monotonicMs: () => monotonicMs };
    const store = scene.open({ path: join(blocked, "history.sqlite"), clock });
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
    const inside = join(scene.directory, "state", "history.sqlite");
    const store = scene.open({ path: inside });
    store.append(aSet(0, SERVICES));
    await store.flush();
    const modes = () =>
      readdirSync(join(scene.directory, "state")).map((name) => [
        name,
        modeOf(join(scene.directory, "state", name)),
      ]);
    const PRIVATE = [
      ["history.sqlite", 0o600],
      ["history.sqlite-shm", 0o600],
      ["history.sqlite-wal", 0o600],
    ];
    expect(modes()).toEqual(PRIVATE);
    expect(modeOf(join(scene.directory, "state"))).toBe(0o700);
    await store.close();
    chmodSync(inside, 0o644);
    scene.open({ path: inside }).append(aSet(15_000, SERVICES));
    expect(modes()).toEqual(PRIVATE);
  });

  it.each(["state", "state/history.sqlite"])(
    "notices that %s was deleted, and writes everything again",
    async (deleted) => {
      const inside = join(scene.directory, "state", "history.sqlite");
      const store = scene.open({ path: inside });
      store.append(aSet(0, SERVICES));
      await store.flush();
      rmSync(join(scene.directory, deleted), { recursive: true });
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
    const state = join(scene.directory, "state");
    let monotonicMs = 0;
    const clock = { nowMs: () => 0, monotonicMs: () => monotonicMs };
    const store = scene.open({ path: join(state, "history.sqlite"), clock });
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
    const other = scene.open({ path: join(scene.directory, "other.sqlite") });
    other.append(aSet(0, ["other"]));
    await other.close();
    const store = scene.open();
    store.append(aSet(0, SERVICES));
    await store.flush();
    renameSync(join(scene.directory, "other.sqlite"), scene.path);
    for (const suffix of ["-wal", "-shm"]) rmSync(scene.path + suffix);
    store.append(aSet(15_000, ["cart"]));
    await store.flush();
    expect(store.health()).toMatchObject({ state: "disk", fileLossesTotal: 1 });
    expect([...store.windows(ALL)].map(({ service }) => service)).toEqual(["other", "cart"]);
  });
});
