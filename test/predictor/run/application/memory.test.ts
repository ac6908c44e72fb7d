import { createLog } from "@tradewind/core/process/log.ts";
import { firstState, openMemory } from "@tradewind/predictor/run/application/memory.ts";
import { emptyState } from "@tradewind/predictor/decide/state.ts";
import type { PolicyState } from "@tradewind/predictor/decide/state.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";

const NOW_MS = 1_750_000_000_000;
const parts = {
  application: { name: "hotel", namespace: "shop" },
  clock: { nowMs: () => NOW_MS, monotonicMs: () => 0 },
  log: createLog("test", "silent"),
};
const stateOf = (agoMs: number, changes: Partial<PolicyState> = {}): PolicyState => ({
  ...emptyState("hotel", "shop"),
  windowEndMs: NOW_MS - agoMs,
  services: [{ service: "geo", replicas: 4, seenAtMs: NOW_MS - agoMs }],
  ...changes,
});
const first = (...states: readonly unknown[]): PolicyState =>
  firstState(
    parts,
    states.map((state) => JSON.stringify(state)),
  );

describe("a predictor's own state", () => {
  it("that was written before the clock was set back counts as one of now", async () => {
    const directory = mkdtempSync(join(tmpdir(), "tradewind-memory-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const metrics = { stateFailed: () => undefined };
    const open = async (nowMs: number) => {
      const ends: (() => Promise<void> | void)[] = [];
      const clock = { ...parts.clock, nowMs: () => nowMs };
      const memory = await openMemory({ ...parts, clock, directory, metrics, ends });
      return { memory, close: async () => Promise.all(ends.map(async (end) => end())) };
    };
    const ahead = await open(NOW_MS + 86_400_000);
    ahead.memory.keep(stateOf(-86_400_000));
    await ahead.close();
    const { memory } = await open(NOW_MS);
    expect(memory.restored).toEqual(stateOf(0));
  });
});

describe("a predictor without a state of its own", () => {
  it("begins with the newest of its peers' states", () => {
    expect(first(stateOf(60_000), stateOf(5_000), stateOf(90_000))).toEqual(stateOf(5_000));
  });

  it("reads a state of a release that knows more", () => {
    expect(first({ ...stateOf(5_000), somethingNew: 1 })).toEqual(stateOf(5_000));
  });

  it.each([
    ["nobody answers", []],
    ["the peer has not decided yet", [emptyState("hotel", "shop")]],
    ["the peer is of another application", [stateOf(5_000, { application: "bank" })]],
    ["the peer's clock is a minute ahead", [stateOf(-60_000)]],
    ["the peer says something else", [{ error: "no" }]],
  ])("begins with nothing where %s", (_, states) => {
    expect(first(...states)).toEqual(emptyState("hotel", "shop"));
  });
});
