import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KUBERNETES_DEFAULT_BEHAVIOR } from "@tradewind/core/hpa/behavior.ts";
import type { Behavior } from "@tradewind/core/hpa/behavior.ts";
import { EMPTY_MEMORY, proposeReplicas, remember, syncHpa } from "@tradewind/core/hpa/hpa.ts";
import type { HpaMemory, HpaSpec } from "@tradewind/core/hpa/hpa.ts";

const behaviorWith = (tolerance: number, change: Partial<Record<keyof Behavior, object>> = {}): Behavior => ({
  scaleUp: { ...KUBERNETES_DEFAULT_BEHAVIOR.scaleUp, tolerance, ...change.scaleUp },
  scaleDown: { ...KUBERNETES_DEFAULT_BEHAVIOR.scaleDown, tolerance, ...change.scaleDown },
});
const EXACT = behaviorWith(0);
const STOCK = KUBERNETES_DEFAULT_BEHAVIOR;
const wish = (replicas: number) => ({ usage: replicas, targetAverageValue: 1 });
const replicasFor = (metric: ReturnType<typeof wish>, current: number, behavior: Behavior) =>
  proposeReplicas(metric, current, behavior)?.replicas;
/** One sync on one metric. */
function sync(
  hpa: HpaSpec,
  metric: ReturnType<typeof wish> | undefined,
  current: number,
  memory: HpaMemory,
  nowMs: number,
) {
  return syncHpa(hpa, [proposeReplicas(metric, current, hpa.behavior)], current, memory, nowMs);
}
const spec = (behavior: Behavior, minReplicas = 1, maxReplicas = 100): HpaSpec => ({
  minReplicas,
  maxReplicas,
  behavior,
});

/** Runs one sync every `periodS` until `untilS`, carrying out what is decided. */
function replay(
  hpa: HpaSpec,
  start: number,
  wanted: (atS: number) => number | undefined,
  untilS: number,
  periodS = 15,
) {
  let replicas = start;
  let memory: HpaMemory = EMPTY_MEMORY;
  const path: number[] = [];
  for (let atS = 0; atS <= untilS; atS += periodS) {
    const value = wanted(atS);
    const decision = sync(hpa, value === undefined ? undefined : wish(value), replicas, memory, atS * 1e3);
    memory = decision.memory;
    if (decision.replicas !== replicas) {
      memory = remember(memory, { atMs: atS * 1e3, change: decision.replicas - replicas }, hpa.behavior);
    }
    replicas = decision.replicas;
    path.push(replicas);
  }
  return path;
}

describe("proposeReplicas with the stock tolerance of 10 %", () => {
  it.each([
    { current: 9, stuck: [] },
    { current: 10, stuck: [9, 11] },
    { current: 11, stuck: [10, 12] },
    { current: 15, stuck: [14, 16] },
    { current: 20, stuck: [18, 19, 21, 22] },
    { current: 22, stuck: [20, 21, 23, 24] },
    { current: 50, stuck: [45, 46, 47, 48, 49, 51, 52, 53, 54, 55] },
    { current: 100, stuck: Array.from({ length: 21 }, (_, index) => 90 + index).filter((n) => n !== 100) },
  ])("holds $current replicas against $stuck and no other number", ({ current, stuck }) => {
    const held = Array.from({ length: 200 }, (_, index) => index + 1).filter(
      (wanted) => wanted !== current && replicasFor(wish(wanted), current, STOCK) === current,
    );
    expect(held).toEqual(stuck);
  });

  it("frees the outermost step down when the metric is just above the next lower number", () => {
    expect(replicasFor(wish(9 - 0.999), 10, STOCK)).toBe(9);
    expect(replicasFor(wish(18 - 0.999), 20, STOCK)).toBe(18);
    expect(replicasFor(wish(45 - 0.999), 50, STOCK)).toBe(45);
  });
});

describe("proposeReplicas with tolerance 0", () => {
  it("is exactly the wished number, whatever runs now", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1e5 }), fc.integer({ min: 1, max: 1e5 }), (wanted, current) => {
        expect(replicasFor(wish(wanted), current, EXACT)).toBe(wanted);
      }),
    );
  });

  it("rounds up between two numbers and divides by the target", () => {
    expect(replicasFor(wish(4.001), 2, EXACT)).toBe(5);
    expect(replicasFor({ usage: 900, targetAverageValue: 100 }, 2, EXACT)).toBe(9);
  });
});

describe("syncHpa", () => {
  it("goes 2, 6, 12, 20 with the stock scale-up policies of +100 % and +4 pods in 15 s", () => {
    expect(replay(spec(STOCK), 2, () => 20, 45)).toEqual([6, 12, 20, 20]);
  });

  it("reaches the number in one sync when the policy allows 400 %", () => {
    const fast = behaviorWith(0, {
      scaleUp: { policies: [{ type: "Percent", value: 400, periodSeconds: 15 }] },
    });
    expect(replay(spec(fast), 4, () => 20, 15)).toEqual([20, 20]);
  });

  it("keeps the highest proposal of the scale-down window and lets go when it has passed", () => {
    const hpa = spec(behaviorWith(0, { scaleDown: { stabilizationWindowSeconds: 60 } }));
    const wanted = (atS: number): number => (atS < 30 ? 8 : 3);
    // 8 was last proposed at 15 s: it holds until 75 s.
    expect(replay(hpa, 8, wanted, 90)).toEqual([8, 8, 8, 8, 8, 3, 3]);
  });

  it("goes up only to the lowest proposal of the scale-up window", () => {
    const hpa = spec(behaviorWith(0, { scaleUp: { stabilizationWindowSeconds: 30 } }));
    const wanted = (atS: number): number => (atS < 15 ? 2 : 5);
    expect(replay(hpa, 2, wanted, 60)).toEqual([2, 2, 5, 5, 5]);
  });

  it("removes at most what the scale-down policy allows in its period", () => {
    const slow = behaviorWith(0, {
      scaleDown: {
        stabilizationWindowSeconds: 0,
        policies: [{ type: "Pods", value: 2, periodSeconds: 30 }],
      },
    });
    expect(replay(spec(slow), 9, () => 1, 120)).toEqual([7, 7, 5, 5, 3, 3, 1, 1, 1]);
  });

  it("never moves in a direction whose policy is Disabled", () => {
    const noDown = behaviorWith(0, {
      scaleDown: { selectPolicy: "Disabled", stabilizationWindowSeconds: 0 },
    });
    expect(replay(spec(noDown), 5, () => 1, 30)).toEqual([5, 5, 5]);
    const noUp = behaviorWith(0, { scaleUp: { selectPolicy: "Disabled" } });
    expect(replay(spec(noUp), 5, () => 9, 30)).toEqual([5, 5, 5]);
  });

  it("clamps to minimum and maximum and says so", () => {
    const immediate = behaviorWith(0, { scaleDown: { stabilizationWindowSeconds: 0 } });
    expect(sync(spec(immediate, 2, 4), wish(9), 3, EMPTY_MEMORY, 0)).toMatchObject({
      replicas: 4,
      reason: "at maximum",
    });
    expect(sync(spec(immediate, 2, 4), wish(1), 3, EMPTY_MEMORY, 0)).toMatchObject({
      replicas: 2,
      reason: "at minimum",
    });
    expect(sync(spec(immediate, 2, 4), wish(3), 7, EMPTY_MEMORY, 0)).toMatchObject({ replicas: 4 });
  });

  it.each([
    ["the metric could not be read", undefined],
    ["it is no number", { usage: Number.NaN, targetAverageValue: 1 }],
    ["it is infinite", { usage: Number.POSITIVE_INFINITY, targetAverageValue: 1 }],
    ["its target is 0", { usage: 3, targetAverageValue: 0 }],
  ])("changes nothing when %s", (_case, metric) => {
    expect(sync(spec(EXACT), metric, 5, EMPTY_MEMORY, 0)).toMatchObject({
      replicas: 5,
      reason: "metric failed",
    });
  });

  const asks = (replicas: number) => ({ replicas, isHeld: false });
  it.each([
    ["the largest of several proposals counts", [asks(3), asks(7), asks(5)], 7],
    ["a missing metric stops a scale-down", [asks(2), undefined], 4],
    ["a missing metric does not stop a scale-up", [undefined, asks(6)], 6],
    ["a missing metric leaves a proposal for the current number", [asks(4), undefined], 4],
    ["no metric at all changes nothing", [undefined, undefined], 4],
  ])("%s", (_case, proposals, replicas) => {
    const immediate = behaviorWith(0, { scaleDown: { stabilizationWindowSeconds: 0 } });
    expect(syncHpa(spec(immediate), proposals, 4, EMPTY_MEMORY, 0).replicas).toBe(replicas);
  });

  it("counts the number it starts with as proposed, so that a new autoscaler waits before it scales down", () => {
    const hpa = spec(behaviorWith(0, { scaleDown: { stabilizationWindowSeconds: 60 } }));
    expect(replay(hpa, 6, () => 2, 75)).toEqual([6, 6, 6, 6, 2, 2]);
  });

  it("is switched off at 0 replicas", () => {
    expect(sync(spec(EXACT), wish(9), 0, EMPTY_MEMORY, 0)).toMatchObject({
      replicas: 0,
      reason: "scaling disabled",
    });
  });

  it("says when the tolerance holds a wish back", () => {
    expect(sync(spec(STOCK), wish(11), 10, EMPTY_MEMORY, 0).reason).toBe("within tolerance");
  });

  it("stays within minimum and maximum and never moves away from the wish", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 0, max: 120 }),
        (wishes, start, stabilizationWindowSeconds) => {
          const hpa = spec(behaviorWith(0, { scaleDown: { stabilizationWindowSeconds } }), 1, 50);
          const path = replay(hpa, start, (atS) => wishes[atS / 15], (wishes.length - 1) * 15);
          let before = start;
          for (const [index, replicas] of path.entries()) {
            const wanted = wishes[index]!;
            expect(replicas).toBeGreaterThanOrEqual(1);
            expect(replicas).toBeLessThanOrEqual(50);
            expect(Math.sign(replicas - before) * Math.sign(wanted - before)).toBeGreaterThanOrEqual(0);
            before = replicas;
          }
        },
      ),
    );
  });
});
