import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "@tradewind/core/process/log.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { emptyState } from "@tradewind/predictor/decide/state.ts";
import type { PolicyState } from "@tradewind/predictor/decide/state.ts";
import { POLICY_STATE, StateFile } from "@tradewind/predictor/run/application/state-file.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "tradewind-state-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true });
});

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const log = createLog("test", "silent");
const state = (calmWindows: number): PolicyState => ({
  ...emptyState("shop", "default"),
  calmWindows,
  services: [{ service: "geo", replicas: 3, seenAtMs: 5 }],
});

describe("the state file", () => {
  it("gives back what was written, for the same application only", async () => {
    const file = new StateFile(join(directory, "deep", "down"), POLICY_STATE, log, () => undefined);
    file.write(state(4));
    await file.flush();
    expect(await file.read("shop", "default", NOW_MS)).toEqual(state(4));
    expect(await file.read("other", "default", NOW_MS)).toBeUndefined();
    expect(await file.read("shop", "elsewhere", NOW_MS)).toBeUndefined();
  });

  it("keeps the newest of many writes and leaves nothing else behind", async () => {
    const file = new StateFile(directory, POLICY_STATE, log, () => undefined);
    for (let index = 0; index < 50; index += 1) file.write(state(index));
    await file.flush();
    expect((await file.read("shop", "default", NOW_MS))?.calmWindows).toBe(49);
    expect(await readdir(directory)).toEqual(["predictor-state.json"]);
  });

  it.each([
    ["half a file", '{"schema":"tradewind.dev/policy-st'],
    ["another schema", JSON.stringify({ ...state(1), schema: "tradewind.dev/policy-state/v0" })],
    ["negative replicas", JSON.stringify(state(1)).replace('"replicas":3', '"replicas":-3')],
  ])("sets %s aside and starts without", async (_name, text) => {
    let errors = 0;
    const file = new StateFile(directory, POLICY_STATE, log, () => (errors += 1));
    await writeFile(file.path, text);
    expect(await file.read("shop", "default", NOW_MS)).toBeUndefined();
    expect(errors).toBe(1);
    expect(await readFile(`${file.path}.corrupt-2026-01-02T03-04-05-678Z`, "utf8")).toBe(text);
  });

  it("cut by its last bytes loses the last service alone", async () => {
    let errors = 0;
    const file = new StateFile(directory, POLICY_STATE, log, () => (errors += 1));
    const whole = state(4);
    file.write({ ...whole, services: [...whole.services, { service: "rate", replicas: 2, seenAtMs: 5 }] });
    await file.flush();
    const text = await readFile(file.path, "utf8");
    await writeFile(file.path, text.slice(0, -30));
    expect(await file.read("shop", "default", NOW_MS)).toEqual(whole);
    expect(errors).toBe(1);
    expect(await readFile(`${file.path}.corrupt-2026-01-02T03-04-05-678Z`, "utf8")).toBe(text.slice(0, -30));
  });

  it("is not there at the first start, which is no error", async () => {
    let errors = 0;
    expect(
      await new StateFile(directory, POLICY_STATE, log, () => (errors += 1)).read("shop", "default", NOW_MS),
    ).toBeUndefined();
    expect(errors).toBe(0);
  });

  it("counts a write that fails and goes on", async () => {
    let errors = 0;
    await writeFile(join(directory, "file"), "");
    const file = new StateFile(join(directory, "file"), POLICY_STATE, log, () => (errors += 1));
    file.write(state(1));
    await file.flush();
    file.write(state(2));
    await file.flush();
    expect(errors).toBe(2);
  });
});
