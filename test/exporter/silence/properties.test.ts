import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Allocation } from "@tradewind/core/contract/plan.ts";
import { STUDENT_PARAMETERS } from "@tradewind/core/contract/students.ts";
import { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import type { GuardLimits } from "@tradewind/core/contract/recommendation.ts";
import { decideWish } from "../decide-wish.ts";
import { replay } from "@tradewind/exporter/decide/guard/guard.ts";
import {
  mostReplicas,
  neededReplicas,
  SILENT_UTILISATION,
  studentAllocation,
} from "@tradewind/exporter/silence/allocate.ts";
import { decideService } from "@tradewind/exporter/silence/decide-service.ts";
import type { ServiceReading } from "@tradewind/core/students/reading.ts";
import { Student } from "@tradewind/core/students/student.ts";
import { wishOf } from "../wish.ts";

const any = fc.double({ noNaN: false });
const weight = fc.oneof(
  { weight: 9, arbitrary: fc.double({ min: -3, max: 3, noNaN: true }) },
  { weight: 1, arbitrary: any },
);
/** Of any weights, some of them not finite: a seed for most of them, and a few by hand. */
const student = fc
  .tuple(fc.array(weight, { minLength: 40, maxLength: 80 }))
  .map(
    ([few]) =>
      new Student(
        Float64Array.from({ length: STUDENT_PARAMETERS }, (_, i) => few[(i * 7) % few.length] ?? 0),
      ),
  );

const size = fc.double({ min: 0.1, max: 4, noNaN: true });
const planned: fc.Arbitrary<Allocation> = fc
  .record({ replicas: fc.integer({ min: 0, max: 40 }), cpuCores: size })
  .map(({ cpuCores, replicas }) => ({ replicas, cpuCores, memoryBytes: 200e6 }));

const LIMITS: GuardLimits = {
  source: "settings",
  minReplicas: 1,
  maxReplicas: 60,
  growRatio: 3,
  growReplicas: 4,
  shrinkRatio: 0.5,
};

const reading: fc.Arbitrary<ServiceReading> = fc.record({
  atMs: fc.integer({ min: 950_000, max: 1_000_000 }),
  pods: fc.integer({ min: 0, max: 50 }),
  cpuCores: fc.oneof(any, fc.double({ min: 0, max: 100, noNaN: true })),
  throttledRatio: fc.double({ min: 0, max: 1, noNaN: true }),
  cpuLimitCores: fc.oneof(any, size),
  memoryBytes: fc.oneof(any, fc.double({ min: 1e6, max: 1e9, noNaN: true })),
  memoryLimitBytes: fc.oneof(any, fc.constant(256e6)),
});

/** The decision of a planner at second 900 for a service of that size; `added` replicas and cores since. */
function recordOf(
  plan: Allocation,
  added: { readonly replicas: number; readonly steps: number },
): DecisionRecord {
  const wish = wishOf({
    allocation: plan,
    evidence: { cpuSecondsPerRequest: 0.01, requestsPerSecond: 50, cpuPodCapacityCores: 0.5 },
    inputs: { windowHash: "0123456789abcdef", windowEndMs: 895_000 },
    observed: { replicasReady: plan.replicas, complete: true, memoryBytes: 256e6 },
    bounds: { ...wishOf().bounds, cpuStepCores: 0.1, memoryStepBytes: 50e6 },
  });
  const decision = decideWish(
    wish,
    { application: "hotel", sequence: 1, predictorStartedAtMs: 0, plannedAtMs: 900_000 },
    { exporterStartedAtMs: 0 },
    { exporterStartedAtMs: 0, staleAfterSeconds: 300, restartGraceSeconds: 120, limitsOf: () => LIMITS },
  );
  if (!("record" in decision)) throw new Error("the planner's decision was refused");
  const { record } = decision;
  const { cpuCores = 1, replicas } = record.final;
  return {
    ...record,
    final: { ...record.final, replicas: replicas + added.replicas, cpuCores: cpuCores + 0.1 * added.steps },
    wish: {
      ...record.wish,
      evidence: {
        ...record.wish.evidence,
        plannedReplicas: replicas,
        plannedCpuCores: cpuCores,
        plannedMemoryBytes: 200e6,
      },
    },
  };
}

describe("a decision without a predictor, for any five inputs and any weights,", () => {
  it("is never below the last plan, and removes only what was added since", () => {
    fc.assert(
      fc.property(
        planned,
        student,
        fc.array(any, { minLength: 5, maxLength: 5 }),
        fc.record({ replicas: fc.nat({ max: 20 }), steps: fc.nat({ max: 3 }) }),
        fc.record({
          cores: fc.double({ min: 0, max: 40, noNaN: true }),
          pods: fc.integer({ min: 1, max: 50 }),
          memoryBytes: fc.oneof(any, fc.double({ min: 1e6, max: 1e9, noNaN: true })),
        }),
        (plan, one, inputs, added, used) => {
          const { cpuCores = 1, memoryBytes, replicas } = plan;
          const silence = {
            planned: plan,
            current: {
              replicas: replicas + added.replicas,
              cpuCores: cpuCores + 0.1 * added.steps,
              memoryBytes: 200e6,
            },
            bounds: { ...wishOf().bounds, maxReplicas: 60, cpuStepCores: 0.1 },
            limits: LIMITS,
            use: { ...used, podCores: cpuCores },
          };
          const next = studentAllocation(one.act(inputs), silence);
          expect(Number.isInteger(next.replicas)).toBe(true);
          expect(next.replicas).toBeGreaterThanOrEqual(replicas);
          expect(next.replicas).toBeLessThanOrEqual(
            Math.max(mostReplicas(silence), silence.current.replicas),
          );
          const atMost = neededReplicas({ ...used, podCores: cpuCores }, SILENT_UTILISATION.students);
          expect(next.replicas).toBeLessThanOrEqual(Math.max(silence.current.replicas, atMost));
          // A need that replicas meet is not met by larger containers too.
          const cores = used.cores / (Math.max(1, next.replicas) * SILENT_UTILISATION.students);
          expect(next.cpuCores).toBeLessThan(Math.max(silence.current.cpuCores, cores) + 0.1 + 1e-6);
          expect(next.cpuCores).toBeGreaterThanOrEqual(cpuCores);
          expect(next.cpuCores).toBeLessThanOrEqual(Math.max(4, cpuCores));
          expect(next.memoryBytes).toBeGreaterThanOrEqual(memoryBytes ?? 0);
        },
      ),
    );
  });

  it("passes the guard inside the bounds, holds the contract and can be replayed, or is not made", () => {
    fc.assert(
      fc.property(
        planned,
        fc.option(student),
        reading,
        fc.record({ replicas: fc.nat({ max: 20 }), steps: fc.nat({ max: 3 }) }),
        (plan, one, read, added) => {
          const record = recordOf(plan, added);
          const floor = record.wish.evidence["plannedReplicas"] ?? 0;
          const wish = decideService({
            record,
            decidedMs: 900_000,
            reading: read,
            earlier: [{ atMs: 895_000, ratio: 1 }],
            student: one === null ? undefined : { student: one, modelHash: "0123456789abcdef" },
            nowMs: 1_000_000,
          });
          if (wish === undefined) return;
          expect(read.atMs).toBeGreaterThanOrEqual(970_000);
          expect(Math.min(floor, 60)).toBeLessThanOrEqual(wish.allocation.replicas);
          const decision = decideWish(
            wish,
            { application: "hotel", sequence: 2, predictorStartedAtMs: 0, plannedAtMs: 1_000_000 },
            { exporterStartedAtMs: 0, previous: { final: record.final, decidedAtMs: 900_000 } },
            {
              exporterStartedAtMs: 0,
              staleAfterSeconds: 300,
              restartGraceSeconds: 120,
              limitsOf: () => LIMITS,
            },
          );
          if (!("record" in decision)) throw new Error(`refused: ${JSON.stringify(decision.refusal)}`);
          const made = DecisionRecord.parse(JSON.parse(JSON.stringify(decision.record)));
          expect(made.final.replicas).toBeGreaterThanOrEqual(Math.min(floor, 60));
          expect(made.final.replicas).toBeLessThanOrEqual(60);
          expect(replay(made).final).toEqual(made.final);
        },
      ),
    );
  });
});
