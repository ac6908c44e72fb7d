import { spawn } from "node:child_process";
import {
  cpSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { waitUntil } from "../../wait-until.ts";
import { storeScene, ALL, SERVICES, filled } from "./store-scene.ts";
import type { StoreScene } from "./store-scene.ts";
import { aSet } from "./windows-of.ts";

/** A file of 1,200 windows of which a twentieth, in the middle, is noise. */
async function damaged(scene: StoreScene): Promise<void> {
  await filled(scene, 400);
  const bytes = readFileSync(scene.path);
  // Pages of windows and their index.
  for (let at = Math.floor(bytes.length * 0.5); at < bytes.length * 0.55; at += 1)
    bytes[at] = (at * 31) & 0xff;
  writeFileSync(scene.path, bytes);
}

/** Windows that a store finds in a copy of the file. */
function salvagedFromCopy(scene: StoreScene): number {
  const copy = join(scene.directory, "copy", "history.sqlite");
  cpSync(scene.path, copy);
  return [...scene.open({ path: copy }).windows(ALL)].length;
}

/** Names of files of the store that were set aside, without their time, and without logs and indexes. */
const asideNames = (scene: StoreScene): string[] =>
  readdirSync(scene.directory)
    .filter((name) => name.includes(".corrupt-") && !/-(wal|shm)$/.test(name))
    .map((name) => name.replace(/-[-0-9TZ]+/, ""));

describe("a store whose file is damaged", () => {
  const scene = storeScene();

  it("sets a damaged file aside and takes over what is readable", async () => {
    await damaged(scene);
    const store = scene.open();
    const kept = [...store.windows(ALL)];
    expect(kept.length).toBeGreaterThan(400 * SERVICES.length * 0.7);
    expect(kept.length).toBeLessThan(400 * SERVICES.length);
    expect(new Set(kept.map(({ startMs, service }) => `${startMs}${service}`)).size).toBe(kept.length);
    expect(store.health()).toMatchObject({ state: "disk", salvagesTotal: 1 });
    expect(readdirSync(scene.directory).some((name) => name.includes(".corrupt-"))).toBe(true);
    store.append(aSet(9_000_000, SERVICES));
    await store.flush();
    expect(store.health().pendingWindows).toBe(0);
  });

  it("takes over a damaged file from the beginning when the process that did so was killed meanwhile", async () => {
    await damaged(scene);
    const expected = salvagedFromCopy(scene);
    const child = spawn(process.execPath, [join(import.meta.dirname, "salvage-child.ts"), scene.path], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    const signal = await new Promise((resolve) => child.once("close", (_code, by) => resolve(by)));
    expect(signal).toBe("SIGKILL");
    const store = scene.open();
    expect([...store.windows(ALL)]).toHaveLength(expected);
    expect(store.health()).toMatchObject({ state: "disk", salvagesTotal: 1 });
    await store.close();
    expect(asideNames(scene)).toEqual(["history.sqlite.corrupt"]);
  });

  it("takes over a damaged file that a process was killed in moving, with its write-ahead log", async () => {
    await damaged(scene);
    const expected = salvagedFromCopy(scene);
    writeFileSync(`${scene.path}.corrupt-2026-01-02T03-04-05-678Z.salvaging-wal`, "");
    expect([...scene.open().windows(ALL)]).toHaveLength(expected);
    expect(asideNames(scene)).toEqual(["history.sqlite.corrupt"]);
  });

  it("leaves a damaged file alone that five processes died of", async () => {
    await damaged(scene);
    const aside = `${scene.path}.corrupt-2026-01-02T03-04-05-678Z`;
    renameSync(scene.path, `${aside}.salvaging`);
    await scene.open().close();
    renameSync(aside, `${aside}.salvaging`);
    const database = new DatabaseSync(scene.path);
    database.exec(`INSERT INTO meta VALUES ('salvage-tries ${aside.split("/").at(-1)}.salvaging', '5')`);
    database.close();
    expect(scene.open().health()).toMatchObject({ state: "disk", salvagesTotal: 0 });
    expect(asideNames(scene)).toEqual(["history.sqlite.corrupt"]);
  });

  it("gives others their turn while it takes over a large damaged file, and a stop then loses nothing", async () => {
    await damaged(scene);
    const expected = salvagedFromCopy(scene);
    // Time runs so fast at first that only a page is taken over at once.
    let monotonicMs = 0;
    let passingMs = 60_000;
    const clock = { nowMs: () => Date.now(), monotonicMs: () => (monotonicMs += passingMs) };
    const store = scene.open({ clock });
    expect([...store.windows(ALL)].length).toBeLessThan(expected / 2);
    await store.close();

    const again = scene.open({ clock });
    passingMs = 0;
    again.append(aSet(9_000_000, SERVICES));
    await again.flush();
    await again.maintain(30 * 86_400_000);
    const count = (): number => [...again.windows(ALL)].length;
    await waitUntil(() => count() === expected + SERVICES.length, 20_000, "everything readable is there");
    const isDone = (): boolean => asideNames(scene).join() === "history.sqlite.corrupt";
    await waitUntil(isDone, 20_000, "the file is kept aside");
    expect(again.health()).toMatchObject({ state: "disk", salvagesTotal: 1 });
  });

  it("goes on with a damaged file where it was once there is room for it", async () => {
    await damaged(scene);
    const expected = salvagedFromCopy(scene);
    const store = scene.open({ maxPages: 40 });
    expect(store.health()).toMatchObject({ state: "disk-full" });
    expect([...store.windows(ALL)].length).toBeLessThan(expected);
    expect(asideNames(scene)).toContain("history.sqlite.corrupt.salvaging");
    await store.close();
    expect([...scene.open().windows(ALL)]).toHaveLength(expected);
    expect(asideNames(scene)).toEqual(["history.sqlite.corrupt"]);
  });

  it("reads what is left of a file that was cut off", async () => {
    await filled(scene, 300);
    truncateSync(scene.path, Math.floor(statSync(scene.path).size / 4096 / 2) * 4096);
    const store = scene.open();
    expect(store.health()).toMatchObject({ state: "disk", salvagesTotal: 1 });
    expect(store.health().salvagedRowsTotal).toBeGreaterThan(50);
  });

  it("starts anew when the file is no database at all", async () => {
    writeFileSync(scene.path, "this is not a database, but it is longer than a header would be ".repeat(100));
    const store = scene.open();
    store.append(aSet(0, SERVICES));
    await store.flush();
    expect(store.health()).toMatchObject({ state: "disk", salvagesTotal: 1, pendingWindows: 0 });
    expect([...store.windows(ALL)]).toHaveLength(3);
  });

  it("finds a changed bit in a row, leaves that row out and counts it", async () => {
    await filled(scene, 3);
    const database = new DatabaseSync(scene.path);
    database.exec(
      "UPDATE windows SET body = zeroblob(length(body)) WHERE start_ms = 15000 AND service_id = 1",
    );
    database.close();
    const store = scene.open();
    expect([...store.windows(ALL)]).toHaveLength(8);
    expect(store.health().unreadableRowsTotal).toBe(1);
  });
});
