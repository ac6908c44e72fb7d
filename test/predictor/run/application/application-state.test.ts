import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createLog } from "@tradewind/core/process/log.ts";
import {
  adoptState,
  removeOldStates,
  stateDirectory,
  statePlaces,
} from "@tradewind/predictor/run/application/application-state.ts";

const log = createLog("test", "silent");
const HOTEL = { namespace: "shop", name: "hotel" };

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "tradewind-state-"));
  onTestFinished(async () => rm(path, { recursive: true, force: true }));
  return path;
}

describe("the state of an application that becomes one of several", () => {
  it("moves to its place, history included, and only if it is its own", async () => {
    const state = await directory();
    await writeFile(
      join(state, "predictor-state.json"),
      JSON.stringify({ application: "hotel", namespace: "shop" }),
    );
    for (const name of ["history.sqlite", "history.sqlite-wal", "history.sqlite.corrupt-2026", "other"])
      await writeFile(join(state, name), name);
    await adoptState(state, { namespace: "bank", name: "hotel" }, log);
    expect(await statePlaces(state)).toEqual([]);
    await adoptState(state, HOTEL, log);
    expect((await readdir(stateDirectory(state, HOTEL))).sort()).toEqual([
      "history.sqlite",
      "history.sqlite-wal",
      "history.sqlite.corrupt-2026",
      "predictor-state.json",
    ]);
    expect((await readdir(state)).sort()).toEqual(["applications", "other"]);
    expect(await statePlaces(state)).toEqual([HOTEL]);
  });

  it("does not take the place of one that is there, and a damaged one is left alone", async () => {
    const state = await directory();
    await writeFile(join(state, "predictor-state.json"), "{");
    await adoptState(state, HOTEL, log);
    await mkdir(stateDirectory(state, HOTEL), { recursive: true });
    await writeFile(
      join(state, "predictor-state.json"),
      JSON.stringify({ application: "hotel", namespace: "shop" }),
    );
    await adoptState(state, HOTEL, log);
    expect(await readdir(stateDirectory(state, HOTEL))).toEqual([]);
  });
});

describe("the state of an application that is gone", () => {
  it("is removed once nobody has written it for as long as a history is kept, and not while it is planned", async () => {
    const state = await directory();
    const nowMs = Date.now();
    const old = new Date(nowMs - 10_000);
    for (const name of ["planned", "recent", "long-gone"]) {
      const path = stateDirectory(state, { namespace: "shop", name });
      await mkdir(path, { recursive: true });
      await writeFile(join(path, "predictor-state.json"), "{}");
      if (name === "recent") continue;
      for (const each of [join(path, "predictor-state.json"), path]) await utimes(each, old, old);
    }
    const removed = await removeOldStates(state, new Set(["shop/planned"]), {
      log,
      nowMs,
      olderThanMs: 5_000,
    });
    expect(removed).toEqual(["shop/long-gone"]);
    expect((await statePlaces(state)).map(({ name }) => name).sort()).toEqual(["planned", "recent"]);
  });
});
