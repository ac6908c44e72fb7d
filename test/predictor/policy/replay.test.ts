import { contentHash } from "@tradewind/core/hash.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import { describe, expect, it } from "vitest";
import { decide } from "@tradewind/predictor/policy/ladder.ts";
import { readAttention, writeAttention } from "@tradewind/predictor/endtoend/attention-file.ts";
import type { AttentionModel } from "@tradewind/predictor/endtoend/attention-model.ts";
import { NO_MODELS } from "@tradewind/predictor/policy/inputs.ts";
import type { Models, PolicyInputs } from "@tradewind/predictor/policy/inputs.ts";
import { replay } from "@tradewind/predictor/policy/replay.ts";
import { TrainedProfile } from "@tradewind/predictor/profile/trained-profile.ts";
import { randomResidual } from "../endtoend/random-residual.ts";
import { inputs, START_MS } from "../measurements.ts";
import { randomModel } from "../profile/random-model.ts";
import { chained, modelledEvidence, RESIZABLE } from "./planner/planned.ts";
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
      SURGE.some(({ outcome }) => outcome.plan.wishes.some(({ reason }) => reason.includes("cheapest"))),
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
        list.map(({ service, allocation, reason }) => ({ service, allocation, reason }));
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

describe("a replay of a plan with trained profiles", () => {
  const model = new TrainedProfile(randomModel(seededRng(11)));
  const hash = "00000000000000aa";
  const services = ["frontend", "backend"].map((service) => ({
    service,
    replicas: 2,
    cores: 1,
    cpuSecondsPerRequest: 0.02,
    baseSeconds: 0.02,
    requestsPerSecond: 40,
  }));
  const profiles = services.map((each) =>
    modelledEvidence(each, {
      trained: {
        hash,
        version: 1,
        state: { cpuSecondsPerRequest: 0.02, baseSeconds: 0.02 },
        interval: { low: -0.4, high: 0.3 },
        trainingRatio: 0.1,
      },
    }),
  );
  const taken = inputs(chained(services, START_MS, 4), { choice: "plan", application: RESIZABLE, profiles });

  it("is the same bit for bit, even when the profile's interval has moved since", () => {
    const outcome = decide(taken, { ...NO_MODELS, profile: () => model });
    expect(outcome.plan.policy).toBe("planner");
    model.interval = { low: -3, high: 5 };
    const again = replay(JSON.parse(JSON.stringify(taken)), {
      ...NO_MODELS,
      profile: (name) => (name === hash ? model : undefined),
    });
    expect(JSON.stringify(again)).toBe(JSON.stringify(outcome));
  });

  it("is the same with learnt residuals, after their models went through their files", () => {
    const name = "00000000000000bb";
    const learnt = { ...randomResidual(2, seededRng(4)), services: ["frontend", "backend"] };
    const models: Models = { ...NO_MODELS, profile: () => model, endToEnd: () => learnt };
    const withResidual = { ...taken, endToEnd: [{ flow: "GET /", hash: name, version: 1 }] };
    const outcome = decide(withResidual, models);
    expect(JSON.stringify(outcome.plan.wishes)).not.toBe(JSON.stringify(decide(taken, models).plan.wishes));
    const read = readAttention(writeAttention(learnt)) as AttentionModel;
    const again = replay(JSON.parse(JSON.stringify(withResidual)), {
      profile: () => model,
      endToEnd: (asked) => (asked === name ? read : undefined),
    });
    expect(JSON.stringify(again)).toBe(JSON.stringify(outcome));
    expect(() =>
      replay(JSON.parse(JSON.stringify(withResidual)), { ...models, endToEnd: () => undefined }),
    ).toThrow(/model 00000000000000bb of 'GET \/' is not there/);
  });

  it("says which model is gone rather than deciding without it", () => {
    expect(() => replay(JSON.parse(JSON.stringify(taken)))).toThrow(
      /model 00000000000000aa of 'frontend' is not there/,
    );
  });
});
