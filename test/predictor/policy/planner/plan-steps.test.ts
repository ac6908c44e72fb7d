import { MAX_WISH_STEPS, WishStep } from "@tradewind/core/contract/plan.ts";
import type { PlanStep } from "@tradewind/predictor/plan/prepare.ts";
import { stepsByService } from "@tradewind/predictor/policy/planner/plan-steps.ts";
import { describe, expect, it } from "vitest";

const size = (replicas: number, cpuCores: number, memoryBytes = 1e8) => ({ replicas, cpuCores, memoryBytes });
const step = (overrides: Partial<PlanStep> = {}): PlanStep => ({
  service: "cart",
  resource: "cpu",
  direction: "up",
  from: size(2, 0.5),
  to: size(2, 0.7),
  tailBeforeSeconds: 0.3,
  tailAfterSeconds: 0.2,
  costPerHour: 0.01,
  ...overrides,
});

describe("the steps that a wish records", () => {
  it("are numbered through the whole plan, each with what it changes, buys and costs", () => {
    const steps = [
      step(),
      step({ service: "search", resource: "replicas", from: size(2, 0.5), to: size(3, 0.5) }),
      step({ resource: "memory", from: size(2, 0.7, 1e8), to: size(2, 0.7, 2e8) }),
    ];
    const recorded = stepsByService(steps);
    expect(recorded.get("cart")!.map(({ order, from, to }) => [order, from, to])).toEqual([
      [1, 0.5, 0.7],
      [3, 1e8, 2e8],
    ]);
    expect(recorded.get("search")).toEqual([
      {
        order: 2,
        resource: "replicas",
        direction: "up",
        from: 2,
        to: 3,
        why: "of all steps it takes most off the tail for what it costs",
        tailBeforeSeconds: 0.3,
        tailAfterSeconds: 0.2,
        costPerHour: 0.01,
      },
    ]);
  });

  it("say when a replica less makes the others grow", () => {
    const merge = step({ resource: "replicas", direction: "down", from: size(2, 0.1), to: size(1, 0.15) });
    expect(stepsByService([merge]).get("cart")![0]!.why).toContain("those left grow to 0.15 cores");
  });

  it("are summed up by resource where they are too many to list, and nothing of their effect is lost", () => {
    const many = Array.from({ length: 100 }, (_, at) =>
      step({
        from: size(2, 0.5 + at / 100),
        to: size(2, 0.51 + at / 100),
        tailBeforeSeconds: 1 - at / 200,
        tailAfterSeconds: 1 - (at + 1) / 200,
      }),
    );
    const others = [step({ resource: "memory" }), step({ resource: "replicas" })];
    const recorded = stepsByService([...many, ...others]).get("cart")!;
    expect(recorded).toHaveLength(MAX_WISH_STEPS);
    for (const each of recorded) expect(WishStep.parse(each)).toEqual(each);
    const cost = recorded.reduce((sum, { costPerHour }) => sum + costPerHour, 0);
    expect(cost).toBeCloseTo(102 * 0.01, 9);
    const last = recorded.findLast(({ resource }) => resource === "cpu")!;
    expect(last).toMatchObject({ to: 0.51 + 0.99, tailAfterSeconds: 0.5 });
    expect(last.why).toMatch(/\(several steps\)$/);
  });
});
