import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { storeScene, ALL, SERVICES, filled } from "./store-scene.ts";
import { aSet } from "./windows-of.ts";

/** What may become of a file on a bad disk. */
const DAMAGES: readonly (readonly [string, (path: string) => void])[] = [
  [
    "has noise in its middle",
    (path) => {
      const bytes = readFileSync(path);
      const middle = Math.floor(bytes.length / 2);
      for (let index = 0; index < bytes.length / 20; index += 1) bytes[middle + index] = (index * 31) & 0xff;
      writeFileSync(path, bytes);
    },
  ],
  ["was cut off", (path) => truncateSync(path, Math.floor(statSync(path).size / 4096 / 2) * 4096)],
  ["is no database at all", (path) => writeFileSync(path, "longer than a header would be ".repeat(100))],
];

describe("a store whose file is damaged", () => {
  const scene = storeScene();

  it.each(DAMAGES)("keeps a file that %s and begins a new history", async (_what, damage) => {
    await filled(scene, 400);
    damage(scene.path);
    const bytes = readFileSync(scene.path);
    const store = scene.open();
    expect(store.health()).toMatchObject({ state: "disk", damagedFilesTotal: 1, problem: undefined });
    const aside = readdirSync(scene.directory).filter((name) => name.includes(".corrupt-"));
    const middle = Math.floor(bytes.length / 2);
    const kept = aside.map((name) => readFileSync(join(scene.directory, name)));
    expect(kept.some((file) => file.includes(bytes.subarray(middle, middle + 512)))).toBe(true);
    store.append(aSet(9_000_000, SERVICES));
    await store.flush();
    expect([...store.windows(ALL)]).toHaveLength(SERVICES.length);
    expect(store.health()).toMatchObject({ pendingWindows: 0 });
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
