import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CHANGE_STATES } from "@tradewind/core/contract/change.ts";
import type { ApprovalContext } from "@tradewind/core/contract/change.ts";
import { PLAN_RESOURCES } from "@tradewind/core/contract/plan.ts";
import type { CalendarLimit } from "@tradewind/core/contract/calendar.ts";
import { Reason } from "@tradewind/core/contract/reason.ts";
import { DecisionRecord, SIZES } from "@tradewind/core/contract/recommendation.ts";
import type { GuardLimits } from "@tradewind/core/contract/recommendation.ts";
import type { Wish } from "@tradewind/core/contract/plan.ts";
import { decideWish } from "../../decide-wish.ts";
import type { DecisionPast, DecisionRules } from "@tradewind/exporter/decide/decide.ts";
import { baselineReplicas, boundsOf, previousAllocation } from "@tradewind/exporter/decide/guard/baseline.ts";
import { approvals } from "@tradewind/exporter/decide/guard/approval.ts";
import { bounded } from "@tradewind/exporter/decide/guard/bounds.ts";
import { guard, replay } from "@tradewind/exporter/decide/guard/guard.ts";
import type { GuardContext } from "@tradewind/exporter/decide/guard/step.ts";
import { wishOf } from "../../wish.ts";

const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const defined = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, part]) => part !== undefined)) as T;

const replicas = fc.nat({ max: 300 });
const cores = fc.double({ min: 0.01, max: 64, noNaN: true });
const bytes = fc.double({ min: 1e6, max: 1e11, noNaN: true });
const allocation = fc
  .record({ replicas, cpuCores: optional(cores), memoryBytes: optional(bytes) })
  .map(defined);
const time = fc.integer({ min: 0, max: 2_000_000 });

const wish: fc.Arbitrary<Wish> = fc
  .record({
    allocation,
    inputs: time.map((windowEndMs) => ({ windowHash: "0123456789abcdef", windowEndMs })),
    observed: fc
      .record({
        replicasReady: optional(replicas),
        replicasWanted: optional(replicas),
        lastStartedAtMs: optional(time),
        complete: fc.boolean(),
      })
      .map(defined),
    bounds: fc
      .record({
        minReplicas: fc.nat({ max: 50 }),
        maxReplicas: fc.nat({ max: 200 }),
        cpuMinCores: fc.constant(0.1),
        cpuMaxCores: fc.double({ min: 0.1, max: 32, noNaN: true }),
        memoryMinBytes: fc.constant(64e6),
        memoryMaxBytes: fc.double({ min: 64e6, max: 1e11, noNaN: true }),
        cpuStepCores: optional(fc.double({ min: 0.01, max: 1, noNaN: true })),
        memoryStepBytes: optional(fc.constant(100e6)),
      })
      .map(defined),
  })
  .map((parts) => wishOf(parts as Partial<Wish>));

const limits: fc.Arbitrary<GuardLimits> = fc.record({
  source: fc.constant("settings" as const),
  minReplicas: fc.nat({ max: 50 }),
  maxReplicas: fc.nat({ max: 200 }),
  growRatio: fc.double({ min: 1, max: 10, noNaN: true }),
  growReplicas: fc.nat({ max: 10 }),
  shrinkRatio: fc.double({ min: 0, max: 1, noNaN: true }),
});

const calendar: fc.Arbitrary<CalendarLimit> = fc
  .record({
    calendar: fc.constant("day"),
    floorReplicas: optional(replicas),
    ceilingReplicas: optional(replicas),
    soft: optional(fc.boolean()),
    fromMs: time,
    untilMs: time,
  })
  .map(defined);

const resource = fc.constantFrom(...PLAN_RESOURCES);

const approval: fc.Arbitrary<ApprovalContext> = fc.record({
  replicasRatio: fc.double({ min: 0.01, max: 3, noNaN: true }),
  containerRatio: fc.double({ min: 0.01, max: 3, noNaN: true }),
  reference: allocation,
  expiresMs: time,
  severityBefore: fc.double({ min: 0, max: 4, noNaN: true }),
  changes: fc.array(
    fc.record({
      id: fc.constant("0123456789"),
      resource,
      from: bytes,
      to: bytes,
      state: fc.constantFrom(...CHANGE_STATES),
      expiresMs: time,
    }),
    { maxLength: 4 },
  ),
});

const context: fc.Arbitrary<GuardContext> = fc
  .record({
    wish,
    decidedAtMs: time,
    previous: optional(allocation),
    previousDecidedAtMs: optional(time),
    exporterStartedAtMs: time,
    predictorStartedAtMs: optional(time),
    predictorTakenAtMs: optional(time),
    staleAfterSeconds: fc.integer({ min: 1, max: 1_000 }),
    restartGraceSeconds: fc.nat({ max: 1_000 }),
    limits: optional(limits),
    calendars: optional(fc.array(calendar, { maxLength: 4 })),
    approval: optional(approval),
    brownout: optional(
      fc.constant({ for: { application: "hotel", service: "search", priority: 0 }, sinceMs: 0 }),
    ),
    disruptions: optional(fc.nat({ max: 20 }).map((allowed) => ({ budget: "search", allowed }))),
    room: optional(replicas.map((mostReplicas) => ({ quota: "team", mostReplicas, ahead: [] }))),
  })
  .map((parts) => defined(parts) as unknown as GuardContext);

/** Without a brownout, which goes on from decision to decision. */
const unhurried = context.filter(({ brownout }) => brownout === undefined);

describe("the guard, for any wish and any context,", () => {
  it("refuses or not by the service alone: no fact of the plan changes that", () => {
    fc.assert(
      fc.property(context, (given) => {
        const { brownout: _brownout, disruptions: _disruptions, room: _room, ...alone } = given;
        expect(guard(given).refusal).toEqual(guard(alone).refusal);
      }),
    );
  });

  it("gives finite numbers inside the bounds, or refuses with a reason", () => {
    fc.assert(
      fc.property(context, (given) => {
        const { final, refusal } = guard(given);
        expect(final !== undefined || Reason.safeParse(refusal.reason).success).toBe(true);
        fc.pre(final !== undefined);
        const bounds = boundsOf(given);
        const { replicas, cpuCores = bounds.cpuMinCores, memoryBytes = bounds.memoryMinBytes } = final;
        expect(Number.isSafeInteger(replicas)).toBe(true);
        const ceiling = Math.max(bounds.minReplicas, bounds.maxReplicas);
        expect(replicas).toBe(Math.min(Math.max(replicas, bounds.minReplicas), ceiling));
        expect(cpuCores).toBe(Math.min(Math.max(cpuCores, bounds.cpuMinCores), bounds.cpuMaxCores));
        expect(memoryBytes).toBe(
          Math.min(Math.max(memoryBytes, bounds.memoryMinBytes), bounds.memoryMaxBytes),
        );
      }),
      { numRuns: 1_000 },
    );
  });

  it("never removes in doubt: an incomplete window or a fresh start keeps what runs, up to the maximum", () => {
    fc.assert(
      fc.property(context, (given) => {
        const { restartGraceSeconds, decidedAtMs, exporterStartedAtMs, predictorTakenAtMs } = given;
        const latestMs = Math.max(exporterStartedAtMs, predictorTakenAtMs ?? 0);
        const isFresh = Math.max(0, decidedAtMs - latestMs) < restartGraceSeconds * 1e3;
        fc.pre(isFresh || !given.wish.observed.complete);
        const { final } = guard(given);
        if (final === undefined) return;
        const running = baselineReplicas(given);
        expect(running).toBeDefined();
        const { maxReplicas, minReplicas } = boundsOf(given);
        const ceiling = Math.max(minReplicas, maxReplicas);
        expect(final.replicas).toBeGreaterThanOrEqual(Math.min(running!, ceiling));
      }),
      { numRuns: 1_000 },
    );
  });

  it("goes from what runs no further than its own limits allow, unless its own bounds ask for it", () => {
    fc.assert(
      fc.property(context, (given) => {
        const { final } = guard(given);
        fc.pre(final !== undefined && given.limits !== undefined);
        const { growRatio, growReplicas, maxReplicas, minReplicas, shrinkRatio } = given.limits;
        const before = previousAllocation(given)?.replicas ?? baselineReplicas(given)!;
        const { calendars = [] } = given;
        const floors = calendars.map(({ floorReplicas = 0 }) => floorReplicas);
        const ceilings = calendars.map(({ ceilingReplicas = Infinity }) => ceilingReplicas);
        const most = Math.max(
          baselineReplicas(given)!,
          before * growRatio + growReplicas,
          minReplicas,
          ...floors,
        );
        expect(final.replicas).toBeLessThanOrEqual(most);
        const least = Math.min(before <= 1 ? 0 : before * shrinkRatio, ...ceilings);
        expect(final.replicas).toBeGreaterThanOrEqual(Math.min(least, Math.max(minReplicas, maxReplicas)));
      }),
      { numRuns: 1_000 },
    );
  });

  it("keeps every floor of a calendar, up to the maximum of the service", () => {
    fc.assert(
      fc.property(context, (given) => {
        const { final } = guard(given);
        fc.pre(final !== undefined);
        const { maxReplicas, minReplicas } = boundsOf(given);
        const floors = (given.calendars ?? []).map(({ floorReplicas = 0 }) => floorReplicas);
        const most = given.room?.mostReplicas ?? Infinity;
        const floor = Math.min(Math.max(0, ...floors), Math.max(minReplicas, maxReplicas), most);
        expect(final.replicas).toBeGreaterThanOrEqual(floor);
      }),
      { numRuns: 1_000 },
    );
  });

  it("takes no optional service under its minimum, and gives it no more than without a brownout", () => {
    fc.assert(
      fc.property(
        context,
        ({ brownout = { for: { application: "a", service: "b", priority: 0 }, sinceMs: 0 }, ...given }) => {
          const [without, withIt] = [guard(given).final, guard({ ...given, brownout }).final];
          fc.pre(without !== undefined && withIt !== undefined);
          const { maxReplicas, minReplicas } = boundsOf(given);
          expect(withIt.replicas).toBeGreaterThanOrEqual(
            Math.min(minReplicas, Math.max(minReplicas, maxReplicas)),
          );
          expect(withIt.replicas).toBeLessThanOrEqual(Math.max(without.replicas, minReplicas));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("takes no more pods at once than a PodDisruptionBudget allows, but for the maximum of the service", () => {
    fc.assert(
      fc.property(context, (given) => {
        const { final } = guard(given);
        const { replicasReady, replicasWanted } = given.wish.observed;
        const running = replicasWanted ?? replicasReady;
        fc.pre(final !== undefined && given.disruptions !== undefined && running !== undefined);
        const { maxReplicas, minReplicas } = boundsOf(given);
        const least = Math.min(running - given.disruptions.allowed, Math.max(minReplicas, maxReplicas));
        expect(final.replicas).toBeGreaterThanOrEqual(least);
      }),
      { numRuns: 1_000 },
    );
  });

  it("moves no size by more than is allowed without a person, while nothing was approved and no calendar is in force", () => {
    fc.assert(
      fc.property(context, approval, (any, given) => {
        const { observed } = any.wish;
        const asked = bounded(any.wish.allocation, boundsOf(any));
        const of = { ...any, mode: "act" as const, approval: { ...given, changes: [] }, calendars: [] };
        const { final } = guard({ ...of, wish: { ...any.wish, allocation: asked } }, approvals);
        const { replicasReady, replicasWanted } = observed;
        const running = { cpuCores: 0, memoryBytes: 0, replicas: replicasWanted ?? replicasReady };
        const before = { ...running, ...previousAllocation(any) };
        for (const size of SIZES) {
          const [base, now, runs = 0] = [before[size], final?.[size], running[size]];
          if (base === undefined || now === undefined) continue;
          const from = given.reference[size] ?? base;
          const allowed =
            size === "replicas" ? given.replicasRatio * Math.max(1, from) : given.containerRatio * from;
          expect(Math.abs(now - from)).toBeLessThanOrEqual(
            Math.max(allowed, Math.abs(base - from), runs - from),
          );
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it("never grows past what a quota leaves, but to the least that the service must have", () => {
    fc.assert(
      fc.property(context, (given) => {
        const { final } = guard(given);
        fc.pre(final !== undefined && given.room !== undefined);
        const held = Math.max(baselineReplicas(given) ?? 0, boundsOf(given).minReplicas);
        expect(final.replicas).toBeLessThanOrEqual(Math.max(given.room.mostReplicas!, held));
      }),
      { numRuns: 1_000 },
    );
  });

  it("gives its own answer again when it is asked for it: what was decided twice is decided once", () => {
    fc.assert(
      fc.property(unhurried, (given) => {
        const { final } = guard(given);
        fc.pre(final !== undefined);
        const again = guard({
          ...given,
          wish: { ...given.wish, allocation: final },
          previous: final,
          previousDecidedAtMs: given.decidedAtMs,
        });
        expect(again.final?.replicas).toBe(final.replicas);
      }),
      { numRuns: 1_000 },
    );
  });

  it("accounts for the whole way from wish to final in its actions", () => {
    fc.assert(
      fc.property(context, (given) => {
        const outcome = guard(given);
        if (outcome.final === undefined) return;
        let at = given.wish.allocation;
        for (const { before, after } of outcome.actions) {
          expect(before).toEqual(at);
          expect(after).not.toEqual(before);
          at = after;
        }
        expect(outcome.final).toEqual(at);
      }),
    );
  });
});

describe("a decision record", () => {
  const rules: fc.Arbitrary<DecisionRules> = fc.record({
    exporterStartedAtMs: time,
    staleAfterSeconds: fc.integer({ min: 1, max: 1_000 }),
    restartGraceSeconds: fc.nat({ max: 1_000 }),
    limitsOf: limits.map((each) => () => each),
  });
  const past: fc.Arbitrary<DecisionPast> = fc
    .record({
      exporterStartedAtMs: time,
      predictorTakenAtMs: optional(time),
      previous: optional(fc.record({ final: allocation, decidedAtMs: time })),
    })
    .map((parts) => defined(parts) as DecisionPast);
  const plan = fc.record({
    application: fc.constant("hotel"),
    sequence: fc.nat(),
    predictorStartedAtMs: time,
    plannedAtMs: time,
  });

  it("keeps its schema and gives the same numbers bit for bit when replayed from JSON", () => {
    fc.assert(
      fc.property(wish, plan, past, rules, (...given) => {
        const decision = decideWish(...given);
        if (!("record" in decision)) return;
        const read = DecisionRecord.parse(JSON.parse(JSON.stringify(decision.record)));
        const { final, actions } = replay(read);
        expect(final).toStrictEqual(decision.record.final);
        expect(actions).toStrictEqual(decision.record.actions);
      }),
      { numRuns: 500 },
    );
  });
});
