import { Application } from "@tradewind/core/contract/application.ts";
import {
  budgetsAfter,
  budgetsNow,
  budgetsPlanned,
  shareOf,
  worthOf,
} from "@tradewind/predictor/decide/cost/learn/error-budget.ts";
import type { BudgetMemory } from "@tradewind/predictor/decide/cost/learn/error-budget.ts";
import { emptyMemory, shiftMemory } from "@tradewind/predictor/decide/cost/learn/state.ts";
import { flowObjective } from "@tradewind/predictor/decide/facts/objective.ts";
import { PolicySettings } from "@tradewind/predictor/decide/facts/settings.ts";
import { describe, expect, it } from "vitest";
import { START_MS, WINDOW_MS } from "../measurements.ts";

const settings = PolicySettings.parse({ cost: { worth: 0.2, standSeconds: 300 } });
const application = Application.parse({ entry: "frontend", objective: { milliseconds: 100 } });
const OBJECTIVE = flowObjective(application.objective);
const RULES = { errorBudget: application.errorBudget, settings: settings.cost };
const HOUR_WINDOWS = 240;

/** 100 requests a window, of which so many are over an objective. */
const route = (over: number, objective = OBJECTIVE) => ({
  calls: 100,
  objective,
  flow: {
    flow: "GET /",
    entryService: "frontend",
    services: ["frontend"],
    requestsPerSecond: 100 / 15,
    errorRatio: 0,
    overObjectiveRatio: over / 100,
    latency: { count: 100, meanSeconds: 0.02, p50Seconds: 0.02, p95Seconds: 0.05, p99Seconds: 0.1 },
  },
});

interface Course {
  readonly missing?: string;
  readonly rules?: typeof RULES;
  readonly unexplained?: boolean;
}

/** Budgets after windows with so many of 100 requests over, each decided on. */
function after(
  overs: readonly number[],
  budgets: readonly BudgetMemory[] = [],
  { missing, rules = RULES, unexplained = false }: Course = {},
): BudgetMemory[] {
  let [endMs, all] = [budgets[0]?.atMs ?? START_MS, [...budgets]];
  for (const over of overs) {
    const window = { startMs: endMs, endMs: endMs + WINDOW_MS, missing, routes: [route(over)], settings };
    all = budgetsAfter(all, { ...window, application: { ...application, errorBudget: rules.errorBudget } });
    all = budgetsNow(all, unexplained ? [OBJECTIVE] : [], rules);
    endMs += WINDOW_MS;
  }
  return all;
}

const worthAfter = (...course: Parameters<typeof after>): number => after(...course)[0]?.worth ?? Number.NaN;
const windows = (count: number, over: number): number[] => Array.from({ length: count }, () => over);

describe("the error budget of an objective", () => {
  it("counts which share of the requests was over it", () => {
    const [budget] = after([...windows(9, 0), 10]);
    expect(shareOf(budget!.period)).toBeCloseTo(0.01, 3);
  });

  it("is that of each objective apart", () => {
    const strict = { ...OBJECTIVE, tailSeconds: 0.05 };
    const window = {
      startMs: START_MS,
      endMs: START_MS + WINDOW_MS,
      missing: undefined,
      settings,
      application,
    };
    const budgets = budgetsAfter([], { ...window, routes: [route(0), route(40, strict), route(20)] });
    expect(budgets.map(({ objective, period }) => [objective.seconds, shareOf(period)])).toEqual([
      [0.1, 0.1],
      [0.05, 0.4],
    ]);
  });

  it("spends nothing in a window without a part of the traffic, and nothing twice in one that is decided on again", () => {
    const before = after([0, 10]);
    expect(after([90], before, { missing: "spans" }).map(({ period }) => period)).toEqual([
      before[0]?.period,
    ]);
    const window = { startMs: START_MS, endMs: before[0]!.atMs, missing: undefined, routes: [route(90)] };
    expect(budgetsAfter(before, { ...window, settings, application })).toEqual(before);
  });

  it("forgets an objective that no request was held to for a period", () => {
    const [counted] = after([0]);
    const other = { ...counted!, objective: { percentile: 0.5, seconds: 1 } };
    expect(after([0], [counted!, other])).toHaveLength(2);
    expect(after([0], [counted!, { ...other, atMs: START_MS - 2 * 86_400_000 }])).toHaveLength(1);
  });

  it("moves with the clock", () => {
    const budgets = after([0, 10], [], { unexplained: true });
    const [moved] = shiftMemory({ ...emptyMemory(75), budgets }, (ms) => ms + 1_000).budgets;
    const { atMs, unexplainedMs = 0, sinceMs } = budgets[0]!;
    expect([moved?.sinceMs, moved?.atMs, moved?.unexplainedMs]).toEqual(
      [sinceMs, atMs, unexplainedMs].map((ms) => ms + 1_000),
    );
  });
});

describe("what using up the error budget is worth", () => {
  it("begins with the setting, and stays while what may be spent is spent", () => {
    expect(worthAfter([0])).toBeCloseTo(0.2, 2);
    expect(worthAfter(windows(4 * HOUR_WINDOWS, 2.5))).toBeCloseTo(0.2, 3);
  });

  it("falls slowly while less is spent: by less than a third in the first half hour, to half in the end", () => {
    expect(worthAfter(windows(HOUR_WINDOWS / 2, 0))).toBeGreaterThan(0.13);
    expect(worthAfter(windows(HOUR_WINDOWS, 0))).toBeCloseTo(0.1, 2);
    expect(worthAfter(windows(24 * HOUR_WINDOWS, 0))).toBeCloseTo(0.1, 6);
  });

  it("rises within a minute of many requests over, at most to twice the setting, and comes back when they end", () => {
    const calm = after(windows(HOUR_WINDOWS, 0));
    const burning = after(windows(4, 40), calm);
    expect(burning[0]?.worth).toBeGreaterThan(0.2);
    expect(worthAfter(windows(40, 40), burning)).toBeCloseTo(0.4, 6);
    expect(worthAfter(windows(60, 0), burning)).toBeLessThan(0.16);
  });

  it("rises over hours while a little more is spent than plans may", () => {
    expect(worthAfter(windows(HOUR_WINDOWS, 4))).toBeCloseTo(0.27, 1);
    expect(worthAfter(windows(6 * HOUR_WINDOWS, 4))).toBeGreaterThan(0.35);
  });

  it("is twice the setting for an hour after a miss that the models do not explain", () => {
    const told = after([8], after(windows(HOUR_WINDOWS, 0)), { unexplained: true });
    expect(told[0]?.worth).toBeCloseTo(0.4, 6);
    expect(worthAfter(windows(HOUR_WINDOWS - 1, 0), told)).toBeCloseTo(0.4, 6);
    expect(worthAfter(windows(HOUR_WINDOWS, 0), told)).toBeLessThan(0.11);
  });

  it("is so while plans expect more over than there are by the whole budget", () => {
    const expecting = (ratio: number) => {
      let budgets = after(windows(HOUR_WINDOWS, 0));
      for (let window = 0; window < 2 * HOUR_WINDOWS; window += 1)
        budgets = after(
          [1],
          budgetsPlanned(budgets, () => ratio),
        );
      return budgets;
    };
    expect(expecting(0.065)[0]?.worth).toBeCloseTo(0.4, 6);
    expect(expecting(0.055)[0]?.worth).toBeLessThan(0.15);
    const believed = budgetsPlanned(expecting(0.065), () => 0.01);
    expect(worthAfter(windows(40, 1), believed)).toBeLessThan(0.15);
  });

  it("is higher where plans are to spend less", () => {
    const worthWith = (use: number): number => {
      const rules = { ...RULES, errorBudget: { ...RULES.errorBudget, use } };
      return worthAfter(windows(HOUR_WINDOWS / 2, 1), [], { rules });
    };
    expect(worthWith(0.2)).toBeGreaterThan(worthWith(0.5));
    expect(worthWith(0.5)).toBeGreaterThan(worthWith(1));
  });

  it("is the setting before any request", () => {
    const nothing = { requests: 0, over: 0, overTimesWorth: 0, expected: 0 };
    const [budget] = after([0]);
    const unseen = {
      ...budget!,
      sinceMs: START_MS,
      atMs: START_MS,
      period: nothing,
      recent: nothing,
      newest: nothing,
    };
    expect(worthOf(unseen, RULES)).toBe(0.2);
  });
});
