import { podSpeedsOf } from "@tradewind/predictor/nodes/pod-speeds.ts";
import { costOfMix } from "@tradewind/predictor/nodes/class-mix.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mixed } from "./mixed.ts";

const LOGS = new Map([["slow", Math.log(2)]]);
const fast = (count: number) => ({ nodeClass: "fast", count, usageCores: 0.3 });
const slow = (count: number) => ({ nodeClass: "slow", count, usageCores: 0.6 });

describe("CPU seconds a request on a mix of nodes", () => {
  it("is the mean over its containers: two on the reference and two that take twice as much make 1.5", () => {
    expect(
      costOfMix(
        new Map([
          ["fast", 2],
          ["slow", 2],
        ]),
        LOGS,
      ),
    ).toBe(1.5);
    expect(costOfMix(new Map(), LOGS)).toBe(1);
    expect(costOfMix(new Map([["never measured", 3]]), LOGS)).toBe(1);
  });
});

describe("how fast the pods of a service are", () => {
  const speeds = podSpeedsOf(mixed("cart", [fast(2)]), LOGS, new Map([["slow", 8]]))!;

  it("stays as it is for the pods that run and for fewer", () => {
    expect([1, 2].map((replicas) => speeds.at(replicas))).toEqual([0, 0]);
  });

  it("takes new pods to be where nodes have room: two fast and two slow ones take 1.5 times as much", () => {
    expect(speeds.at(4)).toBeCloseTo(Math.log(1.5), 12);
    const both = podSpeedsOf(
      mixed("cart", [fast(2)]),
      LOGS,
      new Map([
        ["fast", 4],
        ["slow", 4],
      ]),
    )!;
    expect(both.at(4)).toBeCloseTo(Math.log(1.25), 12);
  });

  it("says what all pods on one class would take, over those that run", () => {
    const half = podSpeedsOf(mixed("cart", [fast(1), slow(1)]), LOGS, new Map())!;
    expect(half.on("fast")).toBeCloseTo(-Math.log(1.5), 12);
    expect(half.on("slow")).toBeCloseTo(Math.log(2 / 1.5), 12);
    expect(half.at(6)).toBe(0);
  });

  it("needs as many slow replicas as make the work of each what it is on fast ones", () => {
    // Three fast ones would do. With r, of which two are fast, each has 3 / r of the work, times (2 + 2 (r - 2)) / r: r² = 6 (r - 1).
    const needed = speeds.replicasFor(3);
    expect(needed).toBeCloseTo(3 + Math.sqrt(3), 12);
    expect((3 / needed) * Math.exp(speeds.at(needed))).toBeCloseTo(1, 12);
    expect(speeds.replicasFor(1.5)).toBe(1.5);
  });

  it("asks for the same work of each replica whatever the mix, the room and the need", () => {
    const count = fc.integer({ min: 1, max: 20 });
    fc.assert(
      fc.property(count, count, fc.double({ min: -1, max: 1, noNaN: true }), count, (a, b, log, more) => {
        const logs = new Map([["slow", log]]);
        const any = podSpeedsOf(mixed("cart", [fast(a), slow(b)]), logs, new Map([["slow", 1]]))!;
        const needed = a + b + more;
        const replicas = any.replicasFor(needed);
        expect(log * (replicas - needed)).toBeGreaterThanOrEqual(-1e-9);
        // With so much faster new ones fewer than run would do, and nothing is known of which those are.
        fc.pre(replicas > a + b);
        expect((needed / replicas) * Math.exp(any.at(replicas))).toBeCloseTo(1, 9);
      }),
    );
  });

  it("is not asked for where no speed is known or a container's class is not", () => {
    expect(podSpeedsOf(mixed("cart", [fast(2), slow(2)]), new Map(), new Map())).toBeUndefined();
    const unknown = mixed("cart", [fast(2)]);
    const [first, second] = unknown.containers;
    const { nodeClass: _class, ...without } = second!;
    expect(podSpeedsOf({ ...unknown, containers: [first!, without] }, LOGS, new Map())).toBeUndefined();
  });
});
