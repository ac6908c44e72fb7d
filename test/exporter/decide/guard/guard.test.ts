import { describe, expect, it } from "vitest";
import type { CalendarLimit } from "@tradewind/core/contract/calendar.ts";
import type { Allocation } from "@tradewind/core/contract/plan.ts";
import { guard, GUARD_STEPS } from "@tradewind/exporter/decide/guard/guard.ts";
import type { GuardOutcome } from "@tradewind/exporter/decide/guard/guard.ts";
import type { GuardContext } from "@tradewind/exporter/decide/guard/step.ts";
import { GUARD_TIMES, NO_LIMITS, wishOf } from "../../wish.ts";

function contextOf(changes: Partial<GuardContext> = {}): GuardContext {
  return {
    wish: wishOf({ observed: { replicasReady: 3, replicasWanted: 3, complete: true } }),
    ...GUARD_TIMES,
    ...changes,
  };
}

const asking = (allocation: Allocation, complete: boolean) =>
  wishOf({ allocation, observed: { replicasReady: 3, replicasWanted: 3, complete } });

const replicasOf = (outcome: GuardOutcome): number | undefined => outcome.final?.replicas;
const stepsOf = (outcome: GuardOutcome): string[] => (outcome.actions ?? []).map(({ step }) => step);

describe("guard", () => {
  it("lets a complete, fresh wish inside its bounds pass untouched", () => {
    const context = contextOf();
    expect(guard(context)).toEqual({ final: context.wish.allocation, actions: [] });
  });

  it("asks its steps in the documented order", () => {
    expect(GUARD_STEPS.map(({ name }) => name)).toEqual([
      "stale-input",
      "brownout",
      "missing-data",
      "change-limit",
      // What was asked for and approved, then large changes: of CPU, of memory, of replicas each.
      "approval",
      "approval",
      "approval",
      "approval",
      "approval",
      "approval",
      "rollback",
      "calendar",
      "override",
      "room",
      "disruption-budget",
      "bounds",
      "restart-grace",
    ]);
  });

  it("records each change with what was before, after, and why", () => {
    const context = contextOf({ wish: asking({ replicas: 50 }, false) });
    expect(guard(context)).toEqual({
      final: { replicas: 8 },
      actions: [
        {
          step: "missing-data",
          before: { replicas: 50 },
          after: { replicas: 8 },
          reason: expect.stringContaining("limited to 8") as string,
          reasons: [{ code: "growth-limit", fromReplicas: 4, mostReplicas: 8 }],
        },
      ],
    });
  });
});

describe("stale-input", () => {
  const windowEnding = (windowEndMs: number) =>
    contextOf({ wish: { ...wishOf(), inputs: { windowHash: "0123456789abcdef", windowEndMs } } });

  it("takes measurements of exactly the allowed age and refuses older ones", () => {
    expect(guard(windowEnding(700_000)).final).toBeDefined();
    expect(guard(windowEnding(699_000)).refusal).toEqual({
      step: "stale-input",
      reason: { code: "stale-measurements", ageSeconds: 301, limitSeconds: 300 },
    });
  });

  it.each<[string, string, Allocation]>([
    ["replicas", "NaN", { replicas: Number.NaN }],
    ["replicas", "Infinity", { replicas: Number.POSITIVE_INFINITY }],
    ["replicas", "-1", { replicas: -1 }],
    ["replicas", "2.5", { replicas: 2.5 }],
    ["cpuCores", "NaN", { replicas: 2, cpuCores: Number.NaN }],
    ["cpuCores", "0", { replicas: 2, cpuCores: 0 }],
    ["memoryBytes", "Infinity", { replicas: 2, memoryBytes: Number.POSITIVE_INFINITY }],
  ])("refuses a proposal where %s is %s", (field, value, allocation) => {
    expect(guard(contextOf({ wish: wishOf({ allocation }) })).refusal).toEqual({
      step: "stale-input",
      reason: { code: "unusable-number", field, value },
    });
  });
});

describe("disruption-budget", () => {
  const budgeted = (replicas: number, allowed: number, changes: Partial<GuardContext> = {}) =>
    guard(
      contextOf({
        wish: wishOf({
          allocation: { replicas },
          observed: { replicasReady: 4, replicasWanted: 4, complete: true },
        }),
        disruptions: { budget: "search", allowed },
        ...changes,
      }),
    );

  it("takes as many pods as the budget allows, and says which budget keeps the rest", () => {
    const { actions, final } = budgeted(1, 2);
    expect(final?.replicas).toBe(2);
    expect(actions?.flatMap(({ reasons }) => reasons)).toEqual([
      { code: "disruption-budget", budget: "search", allowedReplicas: 2, leastReplicas: 2 },
    ]);
    expect(budgeted(2, 2).actions).toEqual([]);
  });

  it("takes nothing while the budget allows none, and leaves growth alone", () => {
    expect(budgeted(1, 0).final?.replicas).toBe(4);
    expect(budgeted(6, 0).final?.replicas).toBe(6);
  });

  it("counts from what runs, not from an earlier decision that the platform has not followed yet", () => {
    const previous = { previous: { replicas: 3 }, previousDecidedAtMs: 985_000 };
    expect(budgeted(2, 1, previous).final?.replicas).toBe(3);
  });

  it("does not keep more than the maximum that a person set", () => {
    const limits = { ...NO_LIMITS, maxReplicas: 2 };
    expect(budgeted(1, 0, { limits }).final?.replicas).toBe(2);
  });
});

describe("missing-data", () => {
  it("takes nothing away while the window is incomplete: neither replicas nor container sizes", () => {
    const wish = asking({ replicas: 1, cpuCores: 0.2, memoryBytes: 100e6 }, false);
    expect(guard(contextOf({ wish })).final).toEqual({ replicas: 4, cpuCores: 0.8, memoryBytes: 300e6 });
  });

  it("holds at what runs when more runs than was recommended", () => {
    const observed = { replicasReady: 7, replicasWanted: 9, complete: false };
    expect(replicasOf(guard(contextOf({ wish: wishOf({ observed }) })))).toBe(9);
  });

  it.each([
    { baseline: 1, fastest: 5 },
    { baseline: 4, fastest: 8 },
    { baseline: 5, fastest: 10 },
  ])("lets $baseline replicas grow to $fastest at most, like an HPA", ({ baseline, fastest }) => {
    const observed = { replicasWanted: baseline, complete: false };
    const wish = wishOf({ allocation: { replicas: 19 }, observed });
    expect(replicasOf(guard(contextOf({ wish, previous: { replicas: baseline } })))).toBe(fastest);
  });

  it("forgets a recommendation that is itself stale", () => {
    const wish = asking({ replicas: 2 }, false);
    expect(replicasOf(guard(contextOf({ wish, previousDecidedAtMs: 699_000 })))).toBe(3);
  });

  it("refuses when it cannot know what runs, rather than risk to remove some", () => {
    const wish = wishOf({ observed: { complete: false } });
    const { previous: _, ...context } = contextOf({ wish });
    expect(guard(context).refusal).toEqual({ step: "missing-data", reason: { code: "running-unknown" } });
  });
});

describe("calendar", () => {
  const limit = (changes: Partial<CalendarLimit>): CalendarLimit => ({
    calendar: "day",
    fromMs: 900_000,
    untilMs: 2_000_000,
    ...changes,
  });
  const floor = (replicas: number) => limit({ calendar: `floor-${replicas}`, floorReplicas: replicas });
  const ceiling = (replicas: number) => limit({ calendar: `ceiling-${replicas}`, ceilingReplicas: replicas });
  const guarded = (replicas: number, calendars: CalendarLimit[], changes: Partial<GuardContext> = {}) =>
    guard(contextOf({ wish: asking({ replicas }, true), calendars, ...changes }));

  it("keeps the highest floor and the lowest ceiling of calendars that overlap", () => {
    const calendars = [floor(4), floor(7), ceiling(12), ceiling(9)];
    expect([2, 8, 15].map((replicas) => replicasOf(guarded(replicas, calendars)))).toEqual([7, 8, 9]);
    expect(guarded(2, calendars).actions?.[0]?.reasons).toEqual([
      { code: "calendar-floor", calendar: "floor-7", replicas: 7, fromMs: 900_000, untilMs: 2_000_000 },
    ]);
    expect(guarded(15, calendars).actions?.[0]?.reasons).toMatchObject([
      { code: "calendar-ceiling", calendar: "ceiling-9", replicas: 9 },
    ]);
  });

  it("lets a floor count where another calendar's ceiling lies under it", () => {
    const calendars = [floor(7), ceiling(3)];
    expect([2, 8].map((replicas) => replicasOf(guarded(replicas, calendars)))).toEqual([7, 7]);
  });

  it("lets CPU demand pass a soft ceiling, and no further than it needs", () => {
    const wish = { ...asking({ replicas: 15 }, true), evidence: { needReplicas: 11.2 } };
    const soft = [limit({ ceilingReplicas: 9, soft: true })];
    expect(replicasOf(guarded(15, soft, { wish }))).toBe(12);
    expect(replicasOf(guarded(15, [ceiling(9)], { wish }))).toBe(9);
  });

  it("takes nothing away from what runs for a ceiling while data is missing, and ends growth", () => {
    const wish = asking({ replicas: 6 }, false);
    expect(replicasOf(guarded(6, [ceiling(2)], { wish }))).toBe(4);
  });

  it("stays inside the bounds of the service", () => {
    expect(replicasOf(guarded(2, [floor(50)]))).toBe(20);
  });
});

describe("bounds", () => {
  const bounded = (allocation: Allocation, changes: Partial<GuardContext["wish"]["bounds"]>) =>
    guard(contextOf({ wish: wishOf({ allocation, bounds: { ...wishOf().bounds, ...changes } }) }));

  it("keeps replicas between minimum and maximum and says which of the two it was", () => {
    const low = bounded({ replicas: 1 }, { minReplicas: 2 });
    expect(replicasOf(low)).toBe(2);
    expect(low.actions?.[0]?.reasons).toEqual([{ code: "min-replicas", minReplicas: 2 }]);
    const high = bounded({ replicas: 9 }, { maxReplicas: 6 });
    expect(replicasOf(high)).toBe(6);
    expect(high.actions?.[0]?.reasons).toEqual([{ code: "max-replicas", maxReplicas: 6 }]);
  });

  it("lets the minimum win over a maximum below it", () => {
    expect(replicasOf(bounded({ replicas: 1 }, { minReplicas: 5, maxReplicas: 3 }))).toBe(5);
  });

  it("allows zero only where the minimum is zero", () => {
    expect(replicasOf(bounded({ replicas: 0 }, { minReplicas: 0 }))).toBe(0);
    expect(replicasOf(bounded({ replicas: 0 }, { minReplicas: 1 }))).toBe(1);
  });

  it("rounds container sizes up to whole steps, and not one step further for a rounding error", () => {
    const steps = { cpuStepCores: 0.2, memoryStepBytes: 100e6 };
    // 0.6 / 0.2 is 2.9999999999999996 in binary floating point, 3 * 0.2 is 0.6000000000000001
    expect(bounded({ replicas: 5, cpuCores: 0.6000000000000001, memoryBytes: 201e6 }, steps).final).toEqual({
      replicas: 5,
      cpuCores: 0.6000000000000001,
      memoryBytes: 300e6,
    });
    expect(bounded({ replicas: 5, cpuCores: 0.61 }, steps).final?.cpuCores).toBeCloseTo(0.8, 12);
  });
});

describe("restart-grace", () => {
  const lower = wishOf({ allocation: { replicas: 1, cpuCores: 0.2 } });

  it.each<[string, Partial<GuardContext>]>([
    ["exporter", { exporterStartedAtMs: 990_000 }],
    ["predictor", { predictorStartedAtMs: 990_000 }],
    ["other-predictor", { predictorTakenAtMs: 990_000 }],
    ["replica", { wish: { ...lower, observed: { ...lower.observed, lastStartedAtMs: 990_000 } } }],
  ])("takes nothing away soon after a start: %s", (started, changes) => {
    const outcome = guard(contextOf({ wish: lower, ...changes }));
    expect(outcome.final).toEqual({ replicas: 4, cpuCores: 0.8 });
    expect(outcome.actions?.[0]?.reasons).toEqual([
      { code: "restart-grace", started, agoSeconds: 10, graceSeconds: 120 },
    ]);
  });

  it.each([
    ["asks again for no replicas that were given up before they started", 2, {}, 2],
    ["takes no more away than before a replica started", 1, {}, 2],
    ["keeps all that runs where a process has started besides", 2, { predictorStartedAtMs: 950_000 }, 6],
    ["keeps all that runs where nothing says what was decided before", 2, { previousDecidedAtMs: 1 }, 6],
  ])("%s", (_, replicas, changes: Partial<GuardContext>, expected) => {
    const observed = { replicasReady: 6, replicasWanted: 6, lastStartedAtMs: 990_000, complete: true };
    const wish = wishOf({ allocation: { replicas }, observed });
    const previous = { replicas: 2 };
    expect(replicasOf(guard(contextOf({ wish, previous, ...changes })))).toBe(expected);
  });

  it.each([
    ["lets a fresh replica go for pods that wait for its room", 2, {}, 3],
    ["keeps what the measured load needs all the same", 4, {}, 4],
    ["keeps it where a process has started", 2, { predictorStartedAtMs: 990_000 }, 4],
  ])("%s", (_, needReplicas, changes: Partial<GuardContext>, expected) => {
    const wish = wishOf({
      allocation: { replicas: 3 },
      evidence: { needReplicas },
      reasons: [{ code: "room-traded", services: ["front"] }],
      observed: { replicasReady: 4, replicasWanted: 4, lastStartedAtMs: 990_000, complete: true },
    });
    expect(replicasOf(guard(contextOf({ wish, ...changes })))).toBe(expected);
  });

  it("lets growth through, and anything once the grace is over", () => {
    const starting = { exporterStartedAtMs: 990_000 };
    expect(stepsOf(guard(contextOf({ ...starting, wish: wishOf({ allocation: { replicas: 9 } }) })))).toEqual(
      [],
    );
    expect(replicasOf(guard(contextOf({ wish: lower, exporterStartedAtMs: 880_000 })))).toBe(1);
  });

  it("stays under the maximum that a person set, even to hold", () => {
    const wish = { ...lower, bounds: { ...lower.bounds, maxReplicas: 2 } };
    expect(replicasOf(guard(contextOf({ wish, exporterStartedAtMs: 990_000 })))).toBe(2);
  });

  it("counts a start that lies in the future, on a clock that was set back, as one just now", () => {
    const outcome = guard(contextOf({ wish: lower, exporterStartedAtMs: 1_500_000 }));
    expect(outcome.actions?.[0]?.reasons).toMatchObject([{ started: "exporter", agoSeconds: 0 }]);
  });

  it("is off at zero seconds, even for a plan made just before the exporter started", () => {
    const context = contextOf({ wish: lower, exporterStartedAtMs: 1_000_005, restartGraceSeconds: 0 });
    expect(guard(context).actions).toEqual([]);
  });

  it("refuses when neither the platform nor its own memory says what runs", () => {
    const wish = { ...lower, observed: { complete: true } };
    const { previous: _, ...context } = contextOf({ wish, exporterStartedAtMs: 990_000 });
    expect(guard(context).refusal?.step).toBe("restart-grace");
  });
});
