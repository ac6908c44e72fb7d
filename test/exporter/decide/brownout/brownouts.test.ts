import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Brownouts } from "@tradewind/exporter/decide/brownout/brownouts.ts";
import type { BrownoutSight } from "@tradewind/exporter/decide/brownout/brownouts.ts";

const MINUTE_MS = 60_000;
const PLAN_MS = 15_000;
const NEEDS = {
  application: "hotel",
  service: "search",
  priority: 10,
  isOptional: false,
  lacks: { pods: 2 },
  one: { pods: 1 },
};
const OPTIONAL = {
  application: "hotel",
  service: "recommend",
  priority: 0,
  replicas: 3,
  takes: { pods: 1 },
  isNeeded: false,
};

const sight = (nowMs: number, changes: Partial<BrownoutSight> = {}): BrownoutSight => ({
  namespace: "shop",
  application: "hotel",
  nowMs,
  starved: [{ ...NEEDS, quota: "team" }],
  spares: [OPTIONAL],
  severityOf: () => 1.5,
  ...changes,
});
const calm = (nowMs: number, severity = 0.7): BrownoutSight =>
  sight(nowMs, { starved: [], severityOf: () => severity });

/** As many plans as are given, 15 s apart. @returns the states that began with each */
function run(
  brownouts: Brownouts,
  plans: readonly ((nowMs: number) => BrownoutSight)[],
  fromMs = 0,
): string[] {
  return plans.map((plan, at) =>
    brownouts
      .see(plan(fromMs + at * PLAN_MS))
      .map((event) => (event.kind === "brownout" ? event.state : event.kind))
      .join(),
  );
}

describe("a brownout", () => {
  it("begins once a quota has had no room in two plans in a row, and names for whom", () => {
    const brownouts = new Brownouts();
    expect(run(brownouts, [sight, calm, sight, sight])).toEqual(["", "", "", "begun"]);
    expect(brownouts.of("shop", "recommend")).toEqual({
      for: { application: "hotel", service: "search", priority: 10 },
      quota: "team",
      sinceMs: 3 * PLAN_MS,
    });
    expect(brownouts.madeRoom("shop", "hotel", "search")).toEqual([
      { application: "hotel", service: "recommend" },
    ]);
    expect(brownouts.of("bank", "recommend")).toBeUndefined();
  });

  it("waits five minutes for a node, which an autoscaler may add", () => {
    const onNodes = (nowMs: number) => sight(nowMs, { starved: [NEEDS] });
    const states = run(
      new Brownouts(),
      Array.from({ length: 22 }, () => onNodes),
    );
    expect(states.indexOf("begun")).toBe((5 * MINUTE_MS) / PLAN_MS);
  });

  it("takes no service that a missed route passes through", () => {
    const needed = (nowMs: number) => sight(nowMs, { spares: [{ ...OPTIONAL, isNeeded: true }] });
    expect(run(new Brownouts(), [needed, needed, needed])).toEqual(["", "", ""]);
  });

  it("ends after three plans in a row well within the objective, and not while that is not known", () => {
    const unknown = (nowMs: number) => sight(nowMs, { starved: [], severityOf: () => undefined });
    const near = (nowMs: number) => calm(nowMs, 0.8);
    const brownouts = new Brownouts();
    expect(run(brownouts, [sight, sight, calm, calm, near, calm, unknown, calm, calm])).toEqual([
      "",
      "begun",
      ...Array.from({ length: 6 }, () => ""),
      "ended",
    ]);
    expect(brownouts.of("shop", "recommend")).toBeUndefined();
  });

  it("comes at most once an hour to a service", () => {
    const brownouts = new Brownouts();
    run(brownouts, [sight, sight, calm, calm, calm]);
    expect(run(brownouts, [sight, sight, sight], 30 * MINUTE_MS)).toEqual(["", "", ""]);
    expect(run(brownouts, [sight, sight], 61 * MINUTE_MS)).toContain("begun");
  });

  it("is over when the application that it was for is gone", () => {
    const brownouts = new Brownouts();
    run(brownouts, [sight, sight]);
    brownouts.forget({ namespace: "shop", name: "hotel" });
    expect(brownouts.of("shop", "recommend")).toBeUndefined();
  });

  it("for any course of plans begins only for one that starves, ends only when it is well, and rests an hour", () => {
    const step = fc.record({
      starves: fc.boolean(),
      severity: fc.option(fc.constantFrom(0.5, 0.7, 0.9, 1.5), { nil: undefined }),
      isNeeded: fc.boolean(),
      afterMs: fc.integer({ min: PLAN_MS, max: 20 * MINUTE_MS }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const brownouts = new Brownouts();
        const begunMs: number[] = [];
        let [nowMs, starvedBefore, calmPlans] = [0, false, 0];
        for (const { afterMs, isNeeded, severity, starves } of steps) {
          nowMs += afterMs;
          const wasDown = brownouts.of("shop", "recommend") !== undefined;
          calmPlans = severity === undefined ? calmPlans : severity <= 0.75 ? calmPlans + 1 : 0;
          const events = brownouts.see(
            sight(nowMs, {
              starved: starves ? [{ ...NEEDS, quota: "team" }] : [],
              spares: [{ ...OPTIONAL, isNeeded }],
              severityOf: () => severity,
            }),
          );
          const states = new Set(events.flatMap((event) => (event.kind === "brownout" ? [event.state] : [])));
          const hasBegun = states.has("begun");
          const rested = nowMs - (begunMs.at(-1) ?? -Infinity) >= 60 * MINUTE_MS;
          expect(!hasBegun || (starves && starvedBefore && !isNeeded && rested)).toBe(true);
          expect(!states.has("ended") || (wasDown && calmPlans >= 3)).toBe(true);
          if (hasBegun) {
            begunMs.push(nowMs);
            calmPlans = 0;
          }
          starvedBefore = starves;
        }
      }),
      { numRuns: 500 },
    );
  });
});
