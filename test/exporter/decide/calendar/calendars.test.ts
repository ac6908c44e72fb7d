import { describe, expect, it } from "vitest";
import { Application } from "@tradewind/core/contract/application.ts";
import { calendarsBy } from "@tradewind/exporter/decide/calendar/calendars.ts";
import { decideWish } from "../../decide-wish.ts";
import type { DecisionPast } from "@tradewind/exporter/decide/decide.ts";
import { NO_LIMITS, wishOf } from "../../wish.ts";

const application = Application.parse({
  name: "hotel",
  namespace: "shop",
  entry: "frontend",
  objective: { milliseconds: 200 },
  calendars: [
    {
      name: "morning",
      services: ["search"],
      from: "45 8 * * *",
      until: "30 10 * * *",
      floor: { replicas: 12 },
      ceiling: { replicas: 20, soft: true },
    },
    { name: "night", from: "0 22 * * *", until: "0 6 * * *", ceiling: { replicas: 3 } },
  ],
});
const calendarsOf = calendarsBy(() => application);
const asked = (time: string, service = "search", evidence: Record<string, number> = {}) => {
  const plannedAtMs = Date.parse(`2026-07-06T${time}Z`);
  const plan = { application: "hotel", sequence: 1, predictorStartedAtMs: 0, plannedAtMs };
  return calendarsOf(plan, wishOf({ service, evidence })).map((each) => [
    each.calendar,
    each.floorReplicas,
    each.ceilingReplicas,
    each.soft,
  ]);
};

describe("calendars", () => {
  it("ask for their floor before the window by the start that was measured and a minute, and for their ceiling in it", () => {
    const started = { startSeconds: 180 };
    expect(asked("08:40:59", "search", started)).toEqual([]);
    expect(asked("08:41:00", "search", started)).toEqual([["morning", 12, undefined, undefined]]);
    expect(asked("08:41:00", "search")).toEqual([]);
    expect(asked("08:42:45", "search")).toEqual([["morning", 12, undefined, undefined]]);
    expect(asked("08:45:00")).toEqual([["morning", 12, 20, true]]);
    expect(asked("10:29:59")).toEqual([["morning", 12, 20, true]]);
    expect(asked("10:30:00")).toEqual([]);
  });

  it("ask for a share of the usual need, rounded up, within the service's maximum; what is ready stays while that need is not known", () => {
    const sale = { name: "sale", from: "0 8 * * *", until: "0 10 * * *", floor: { timesUsual: 1.5 } };
    const { calendars: _own, ...rest } = application;
    const ofSale = calendarsBy(() =>
      Application.parse({ ...rest, objective: { milliseconds: 200 }, calendars: [sale] }),
    );
    const plannedAtMs = Date.parse("2026-07-06T09:00:00Z");
    const plan = { application: "hotel", sequence: 1, predictorStartedAtMs: 0, plannedAtMs };
    const floors = (evidence: Record<string, number>): (number | undefined)[] =>
      ofSale(
        plan,
        wishOf({ service: "search", evidence, observed: { replicasReady: 3, complete: true } }),
      ).map(({ floorReplicas }) => floorReplicas);
    expect(floors({ usualReplicas: 2.1 })).toEqual([4]);
    expect(floors({ usualReplicas: 2 })).toEqual([3]);
    expect(floors({ usualReplicas: 1e6 })).toEqual([wishOf().bounds.maxReplicas]);
    expect(floors({})).toEqual([3]);
  });

  it("ask for their services, or for all", () => {
    expect(asked("09:00:00", "rate")).toEqual([]);
    expect(asked("23:00:00", "rate")).toEqual([["night", undefined, 3, undefined]]);
    expect(asked("05:59:59", "search")).toEqual([["night", undefined, 3, undefined]]);
  });

  it("ask nothing of another application's services", () => {
    const plan = { application: "bank", sequence: 1, predictorStartedAtMs: 0, plannedAtMs: 0 };
    expect(calendarsOf(plan, wishOf())).toEqual([]);
  });

  it("in force when the Application was last known stay so while it is not, until their windows end", () => {
    const untilMs = Date.parse("2026-07-06T10:30Z");
    const morning = { calendar: "morning", floorReplicas: 12, fromMs: untilMs - 6_300_000, untilMs };
    const rules = {
      exporterStartedAtMs: 0,
      staleAfterSeconds: 300,
      restartGraceSeconds: 0,
      limitsOf: () => NO_LIMITS,
      calendarsOf: calendarsBy(() => undefined),
    };
    const replicas = (plannedAtMs: number, past: Pick<DecisionPast, "kept">): number | undefined => {
      const plan = { application: "hotel", sequence: 1, predictorStartedAtMs: 0, plannedAtMs };
      const wish = wishOf({
        allocation: { replicas: 2 },
        inputs: { windowHash: "0123456789abcdef", windowEndMs: plannedAtMs },
      });
      const decision = decideWish(wish, plan, { exporterStartedAtMs: 0, ...past }, rules);
      return "record" in decision ? decision.record.final.replicas : undefined;
    };
    const kept = { calendars: [morning] };
    expect(replicas(untilMs - 60_000, {})).toBe(2);
    expect(replicas(untilMs - 60_000, { kept })).toBe(12);
    expect(replicas(untilMs, { kept })).toBe(2);
  });
});
