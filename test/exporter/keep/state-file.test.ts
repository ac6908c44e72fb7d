import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import { decideWish } from "../decide-wish.ts";
import { StateFile } from "@tradewind/exporter/keep/state-file.ts";
import type { LoadedState } from "@tradewind/exporter/keep/state-file.ts";
import { NO_LIMITS, wishOf } from "../wish.ts";

const NOW = 1_000_000;

function recordOf(service: string): DecisionRecord {
  const plan = { application: "hotel", sequence: 1, predictorStartedAtMs: 0, plannedAtMs: NOW };
  const rules = {
    exporterStartedAtMs: 0,
    staleAfterSeconds: 300,
    restartGraceSeconds: 0,
    limitsOf: () => NO_LIMITS,
  };
  const decision = decideWish(wishOf({ service }), plan, { exporterStartedAtMs: 0 }, rules);
  if ("refusal" in decision) throw new Error(decision.refusal.reason.code);
  return decision.record;
}

const jsonOf = (records: readonly DecisionRecord[]) => records.map((record) => JSON.stringify(record));

function corrupt(loaded: LoadedState): Extract<LoadedState, { kind: "corrupt" }> {
  if (loaded.kind !== "corrupt") throw new Error(`the state is ${loaded.kind}`);
  return loaded;
}

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "tradewind-state-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

describe("the state file", () => {
  it("gives back what was saved, many records and odd names included, and leaves nothing else behind", async () => {
    const path = await directory();
    const records = ["search", "検索 “x”", "a\\b"]
      .concat(Array.from({ length: 2_000 }, (_, i) => `s${i}`))
      .map(recordOf);
    await new StateFile(path).save(jsonOf(records), NOW);
    expect(await new StateFile(path).load(NOW)).toEqual({
      kind: "read",
      decisions: records,
    });
    expect(await readdir(path)).toEqual(["decisions.json"]);
  });

  it("is absent at first, in a directory that may not exist yet", async () => {
    const path = join(await directory(), "not", "yet");
    expect(await new StateFile(path).load(NOW)).toEqual({ kind: "absent" });
    await new StateFile(path).save([], NOW);
    expect(await new StateFile(path).load(NOW)).toMatchObject({ kind: "read", decisions: [] });
  });

  it("cut in its first line is set aside whole, never read by halves", async () => {
    const path = await directory();
    const file = new StateFile(path);
    await file.save(jsonOf([recordOf("search")]), NOW);
    const whole = await readFile(file.path, "utf8");
    for (const length of [0, 1, 40, whole.indexOf("\n") - 1]) {
      await writeFile(file.path, whole.slice(0, length));
      const loaded = await file.load(NOW + length);
      const remains = await readFile(corrupt(loaded).setAsidePath, "utf8");
      expect(remains).toBe(whole.slice(0, length));
    }
    expect(await file.load(NOW)).toEqual({ kind: "absent" });
  });

  it("that lost its last 30 bytes gives back 41 of 42 decisions, and is kept as it was", async () => {
    const path = await directory();
    const file = new StateFile(path);
    const records = Array.from({ length: 42 }, (_, i) => recordOf(`s${i}`));
    await file.save(jsonOf(records), NOW);
    const whole = await readFile(file.path, "utf8");
    await writeFile(file.path, whole.slice(0, -30));
    const loaded = await file.load(NOW);
    const setAsidePath = `${file.path}.corrupt-1970-01-01T00-16-40-000Z`;
    expect(loaded).toMatchObject({
      kind: "read",
      decisions: records.slice(0, 41),
      rejected: { setAsidePath },
    });
    await file.save(jsonOf(records.slice(0, 41)), NOW);
    expect(await readFile(setAsidePath, "utf8")).toBe(whole.slice(0, -30));
  });

  it("with an overwritten record in the middle gives back the others", async () => {
    const file = new StateFile(await directory());
    const records = ["a", "b", "c"].map(recordOf);
    await file.save(jsonOf(records), NOW);
    const lines = (await readFile(file.path, "utf8")).split("\n");
    await writeFile(file.path, lines.with(2, "U".repeat(lines[2]!.length)).join("\n"));
    expect(await file.load(NOW)).toMatchObject({
      decisions: [{ service: "a" }, { service: "c" }],
      rejected: { count: 1, firstReason: expect.stringContaining("line 3") as string },
    });
  });

  it("keeps records that only a later release can read until that release reads them again", async () => {
    const path = await directory();
    const later = jsonOf(Array.from({ length: 42 }, (_, i) => recordOf(`s${i}`))).map((json) =>
      json.replace('"final":{"replicas":', '"final":{"wanted":'),
    );
    const ours = jsonOf([recordOf("ours")]);
    const file = new StateFile(path);
    await file.save([...later, ...ours], NOW);
    const v2 = (await readFile(file.path, "utf8")).replace("exporter-state/v1", "exporter-state/v2");
    await writeFile(file.path, v2);
    for (const restart of [1, 2]) {
      const restarted = new StateFile(path);
      expect(await restarted.load(NOW)).toMatchObject({
        decisions: [{ service: "ours" }],
        rejected: { count: 42 },
      });
      await restarted.save(ours, NOW + restart);
    }
    const { decisions } = JSON.parse(await readFile(file.path, "utf8")) as { decisions: unknown[] };
    expect(decisions).toEqual([...later, ...ours].map((json) => JSON.parse(json) as unknown));
    expect(await readdir(path)).toEqual(["decisions.json"]);
  });

  it.each([
    ["of another program", '{"hello":"world"}'],
    ["without its list", '{"schema":"tradewind.dev/exporter-state/v1","savedAtMs":1}'],
    ["of zero bytes, as a power cut leaves them", "\0".repeat(4_096)],
  ])("%s is set aside with a message that names it", async (_what, text) => {
    const file = new StateFile(await directory());
    await writeFile(file.path, text);
    const loaded = await file.load(Date.UTC(2026, 0, 2, 3, 4, 5));
    expect(loaded).toMatchObject({
      kind: "corrupt",
      setAsidePath: `${file.path}.corrupt-2026-01-02T03-04-05-000Z`,
    });
    expect(corrupt(loaded).error.message).toContain(file.path);
  });

  it("keeps the last good state when the disk is full in the middle of a write", async () => {
    const path = await directory();
    const file = new StateFile(path);
    await file.save(jsonOf([recordOf("search")]), NOW);
    await symlink("/dev/full", `${file.path}.tmp`);
    await expect(file.save(jsonOf([recordOf("rate")]), NOW + 1)).rejects.toThrow(/cannot write .*free space/);
    expect(await file.load(NOW)).toMatchObject({
      kind: "read",
      decisions: [{ service: "search" }],
    });
    // What was written of the new state is gone, and the next write finds its place free.
    expect(await readdir(path)).toEqual(["decisions.json"]);
    await file.save(jsonOf([recordOf("rate")]), NOW + 2);
    expect(await file.load(NOW)).toMatchObject({
      kind: "read",
      decisions: [{ service: "rate" }],
    });
  });

  it("overwrites what a killed writer left, and says what is wrong when its place is taken", async () => {
    const file = new StateFile(await directory());
    await writeFile(`${file.path}.tmp`, "half a fi");
    await file.save([], NOW);
    expect(await file.load(NOW)).toMatchObject({ kind: "read" });
    await rm(file.path);
    await mkdir(file.path);
    await expect(file.load(NOW)).rejects.toThrow(/cannot read .*check owner and mode/);
    await expect(file.save([], NOW)).rejects.toThrow(/cannot write/);
  });
});
