import { describe, expect, it } from "vitest";
import type { OverrideInForce } from "@tradewind/core/contract/override.ts";
import type { Wish } from "@tradewind/core/contract/plan.ts";
import { guard } from "@tradewind/exporter/decide/guard/guard.ts";
import type { GuardContext } from "@tradewind/exporter/decide/guard/step.ts";
import { GUARD_TIMES, NO_LIMITS, wishOf } from "../../wish.ts";

const order = (changes: Partial<OverrideInForce> = {}): OverrideInForce => ({
  id: "0123456789",
  kind: "hold",
  replicas: 9,
  by: "ann",
  reason: "bad deploy",
  untilMs: 2_000_000,
  endsAtMs: 2_000_000,
  mode: "act",
  ...changes,
});

const RUNNING = { replicasReady: 3, replicasWanted: 3, complete: true };

/** A plan of 5 replicas where 4 were decided and 3 run. */
function outcome(changes: Partial<GuardContext> = {}, wish: Partial<Wish> = {}) {
  return guard({
    wish: wishOf({ observed: RUNNING, ...wish }),
    ...GUARD_TIMES,
    override: order(),
    ...changes,
  });
}

describe("a service that a person holds", () => {
  it("has exactly the sizes that were ordered, and says why", () => {
    const { actions, final } = outcome({ override: order({ cpuCores: 1.5, memoryBytes: 500e6 }) });
    expect(final).toEqual({ replicas: 9, cpuCores: 1.5, memoryBytes: 500e6 });
    expect(actions).toMatchObject([
      { step: "override", reasons: [{ code: "override", override: "hold", by: "ann", replicas: 9 }] },
    ]);
  });

  it("stays at its last decision where no size was known when it was ordered, else at what runs", () => {
    const unknown = order({ replicas: undefined });
    expect(outcome({ override: unknown }).final).toEqual({
      replicas: 4,
      cpuCores: 0.8,
      memoryBytes: 300e6,
    });
    expect(outcome({ override: unknown, previous: undefined }).final).toEqual({ replicas: 3 });
  });

  it.each<[string, Partial<GuardContext>, Partial<Wish>]>([
    ["incomplete data", {}, { observed: { ...RUNNING, complete: false } }],
    ["no known replicas", { previous: undefined }, { observed: { complete: false } }],
    ["the limit of one decision", { limits: { ...NO_LIMITS, growRatio: 1, growReplicas: 0 } }, {}],
    ["the minutes after a start", { exporterStartedAtMs: 999_000 }, {}],
    [
      "an approval that is awaited",
      {
        mode: "act",
        approval: {
          replicasRatio: 0.1,
          containerRatio: 0.1,
          reference: { replicas: 4 },
          expiresMs: 2_000_000,
          severityBefore: 0,
          changes: [],
        },
      },
      {},
    ],
    ["a rollback", { rollback: { before: { replicas: 12 }, times: 1, untilMs: 2_000_000 } }, {}],
    [
      "a calendar's ceiling",
      { calendars: [{ calendar: "night", ceilingReplicas: 2, fromMs: 0, untilMs: 2_000_000 }] },
      {},
    ],
    [
      "a brownout",
      { brownout: { for: { application: "bank", service: "pay", priority: 9 }, sinceMs: 0 } },
      {},
    ],
  ])("is not moved by %s", (_what, context, wish) => {
    expect(outcome(context, wish).final?.replicas).toBe(9);
  });

  it.each<[string, Partial<GuardContext>, Partial<OverrideInForce>, number]>([
    ["bounds that changed since", { limits: { ...NO_LIMITS, maxReplicas: 6 } }, {}, 6],
    ["a quota without room", { room: { quota: "pods", mostReplicas: 7, ahead: [] } }, {}, 7],
    ["a disruption budget", { disruptions: { budget: "search", allowed: 1 } }, { replicas: 1 }, 2],
  ])("is bound by %s", (_what, context, changes, replicas) => {
    expect(outcome({ ...context, override: order(changes) }).final?.replicas).toBe(replicas);
  });
});

describe("a floor", () => {
  it("adds replicas and nothing else, over a calendar's ceiling too", () => {
    const calendars = [{ calendar: "night", ceilingReplicas: 2, fromMs: 0, untilMs: 2_000_000 }];
    const { final } = outcome({ calendars, override: order({ kind: "floor" }) });
    expect(final).toEqual({ replicas: 9, cpuCores: 0.6, memoryBytes: 200e6 });
  });

  it("leaves a plan of more as it is", () => {
    expect(outcome({ override: order({ kind: "floor", replicas: 2 }) }).final?.replicas).toBe(5);
  });
});

it("a pause leaves the recommendation to the plan: it is not carried out", () => {
  expect(outcome({ override: order({ kind: "pause" }) }).final?.replicas).toBe(5);
});
