import type { PlacementGain } from "@tradewind/predictor/answers/placement/placements.ts";
import { Moves } from "@tradewind/predictor/answers/placement/moves.ts";
import { preferenceOf } from "@tradewind/predictor/answers/placement/preference.ts";
import { describe, expect, it } from "vitest";
import { mixed } from "../../nodes/mixed.ts";

const GAIN: PlacementGain = {
  service: "cart",
  nodeClass: "fast",
  cpuRatio: 0.6,
  latencySeconds: { now: 0.2, then: 0.15 },
  selfTimeSeconds: { now: 0.15, then: 0.1 },
  replicas: { now: 2, then: 2 },
  costPerHour: { now: 1, then: 1 },
};
const both = (usageCores: number) =>
  mixed("cart", [
    { nodeClass: "fast", count: 1, usageCores },
    { nodeClass: "slow", count: 1, usageCores },
  ]);
const moved = (usageCores: number, overrides = {}) =>
  mixed("cart", [{ nodeClass: "fast", count: 2, usageCores }], overrides);

describe("a placement that was proposed", () => {
  it("has nothing measured while a pod runs elsewhere", () => {
    const moves = new Moves();
    moves.window([both(0.5)], 0.95);
    moves.offer([GAIN]);
    moves.window([both(0.5)], 0.95);
    expect(moves.list()).toEqual([{ gain: GAIN, measured: undefined }]);
  });

  it("shows what was measured before and since beside what was expected, once all pods run there", () => {
    const moves = new Moves();
    for (const cores of [0.4, 0.5, 0.6]) moves.window([both(cores)], 0.95);
    moves.offer([GAIN]);
    // Nothing is to be gained any more: the offer stays, with what was expected then.
    for (let at = 0; at < 10; at += 1) {
      expect(moves.list()[0]!.measured).toBeUndefined();
      moves.window([moved(0.3)], 0.95);
      moves.offer([]);
    }
    const [move] = moves.list();
    expect(move!.gain).toBe(GAIN);
    // Two containers at a median of 0.5 cores, then 0.3, for 60 requests a second.
    expect(move!.measured).toMatchObject({ windows: 10, replicas: { now: 2, then: 2 } });
    expect(move!.measured!.cpuSecondsPerRequest.now).toBeCloseTo(1 / 60, 12);
    expect(move!.measured!.cpuSecondsPerRequest.then).toBeCloseTo(0.6 / 60, 12);
  });

  it("does not count windows of a rolling update, and stays through them", () => {
    const moves = new Moves();
    moves.window([both(0.5)], 0.95);
    moves.offer([GAIN]);
    moves.window([moved(0.3, { newestRevisionShare: 0.5 })], 0.95);
    moves.offer([]);
    expect(moves.list()).toEqual([{ gain: GAIN, measured: undefined }]);
    for (let at = 0; at < 10; at += 1) moves.window([moved(0.3)], 0.95);
    expect(moves.list()[0]!.measured!.windows).toBe(10);
  });

  it("goes when it is expected no more, and when pods leave again", () => {
    const moves = new Moves();
    moves.window([both(0.5)], 0.95);
    moves.offer([GAIN]);
    moves.window([moved(0.3)], 0.95);
    moves.window([both(0.5)], 0.95);
    moves.offer([]);
    expect(moves.list()).toEqual([]);
  });
});

describe("the patch that makes pods prefer a class", () => {
  it("names the platform's label where the platform names the class, else one of ours", () => {
    const of = (nodes: { instanceType?: string }[]) => preferenceOf("m7i.large", nodes);
    expect(of([{ instanceType: "m7i.large" }]).label).toBe("node.kubernetes.io/instance-type");
    const { label, patch } = of([{}]);
    expect(label).toBe("tradewind.dev/node-class");
    expect(patch).toEqual({
      spec: {
        template: {
          spec: {
            affinity: {
              nodeAffinity: {
                preferredDuringSchedulingIgnoredDuringExecution: [
                  {
                    weight: 100,
                    preference: {
                      matchExpressions: [
                        { key: "tradewind.dev/node-class", operator: "In", values: ["m7i.large"] },
                      ],
                    },
                  },
                ],
              },
            },
          },
        },
      },
    });
  });
});
