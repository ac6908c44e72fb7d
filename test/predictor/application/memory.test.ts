import { createLog } from "@tradewind/core/log.ts";
import { firstState } from "@tradewind/predictor/application/memory.ts";
import { emptyState } from "@tradewind/predictor/policy/state.ts";
import type { PolicyState } from "@tradewind/predictor/policy/state.ts";
import { describe, expect, it } from "vitest";

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
