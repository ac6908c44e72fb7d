import { contentHash } from "@tradewind/core/values/hash.ts";
import { describe, expect, it } from "vitest";
import { codesOf } from "@tradewind/core/contract/reasons.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import type { PolicyInputs } from "@tradewind/predictor/decide/inputs.ts";
import { replay } from "@tradewind/predictor/decide/replay.ts";
import { inputs } from "../measurements.ts";
import { shop, SHOP, simulate } from "./simulated-application.ts";

const SURGE = simulate({
  services: SHOP,
  application: shop(),
  conditions: (at) => ({ requestsPerSecond: at < 60 ? 40 : at < 180 ? 150 : 40 }),
  seconds: 300,
  windowSeconds: 5,
  podStartSeconds: 8,
  seed: 3,
});

describe("a replay", () => {
  it("gives the same wishes and the same state bit for bit, from inputs that went through JSON", () => {
    let { state } = inputs(SURGE[0]!.windowSet, { application: shop() });
    for (const { windowSet, outcome } of SURGE) {
      const taken: PolicyInputs = inputs(windowSet, {
        application: shop(),
        state,
        nowMs: outcome.plan.plannedAtMs,
      });
      const again = replay(JSON.parse(JSON.stringify(taken)));
      expect(again).toEqual(outcome);
      expect(JSON.stringify(again.plan)).toBe(JSON.stringify(outcome.plan));
      ({ state } = outcome);
    }
    expect(
      SURGE.some(({ outcome }) =>
        outcome.plan.wishes.some(({ reasons }) => codesOf(reasons).includes("expected")),
      ),
    ).toBe(true);
  });

  it("does not depend on the order in which services and flows were reported", () => {
    for (const { windowSet } of SURGE.slice(10, 20)) {
      const turned = {
        ...windowSet,
        windows: [...windowSet.windows].reverse(),
        flows: [...windowSet.flows].reverse(),
      };
      const app = shop();
      const wishes = decide(inputs(windowSet, { application: app })).plan.wishes;
      const wishesTurned = decide(inputs(turned, { application: app })).plan.wishes;
      const numbers = (list: typeof wishes): unknown =>
        list.map(({ service, allocation, reasons }) => ({ service, allocation, reasons }));
      expect(numbers(wishesTurned)).toEqual(numbers(wishes));
    }
  });

  it("names its window by a hash that any other window does not have", () => {
    const hashes = SURGE.map(({ outcome }) => outcome.plan.wishes[0]!.inputs.windowHash);
    expect(new Set(hashes).size).toBe(SURGE.length);
    expect(hashes[0]).toBe(contentHash(SURGE[0]!.windowSet));
  });

  it("refuses what is not a record of inputs, in words", () => {
    const broken = { ...inputs(SURGE[0]!.windowSet), nowMs: "yesterday" };
    expect(() => replay(broken)).toThrow(/the recorded inputs is not valid: nowMs/);
  });
});

describe("a replay of a decision of another release", () => {
  it("decides by auto what policy plan decided, which is gone", () => {
    const { inputs: taken, outcome } = SURGE[10]!;
    const planner = {
      missedInSpite: 1,
      recentSeverities: [1.2],
      distrust: { rung: "planner", untilMs: 1, times: 1 },
    };
    const settings = { ...taken.settings, planner: { aimRatio: 0.85 } };
    const recorded = { ...taken, choice: "plan", settings, state: { ...taken.state, planner } };
    expect(replay(JSON.parse(JSON.stringify(recorded)))).toEqual(outcome);
  });
});

describe("a replay of a decision of a release that trained residuals", () => {
  it("is made again without those of services and of flows", () => {
    const residual = { hash: "00000000000000aa", version: 1, weight: 0.7, variance: 0.01, windows: 20 };
    const profiles = [{ service: "frontend", residual, accuracy: { error: 0.1 } }];
    const endToEnd = [{ flow: "GET /", hash: "00000000000000bb", version: 1 }];
    const taken = inputs(SURGE[0]!.windowSet, { application: shop() });
    const recorded: unknown = JSON.parse(JSON.stringify({ ...taken, profiles, endToEnd }));
    expect(replay(recorded).plan).toEqual(replay(JSON.parse(JSON.stringify(taken))).plan);
  });
});
