import { DecisionRecord } from "@tradewind/core/contract/recommendation.ts";
import type { GuardLimits } from "@tradewind/core/contract/recommendation.ts";
import type { Allocation, Wish } from "@tradewind/core/contract/plan.ts";
import { decideWish } from "../../exporter/decide-wish.ts";
import { readPlan, readWish } from "@tradewind/exporter/plans/read-plan.ts";
import { NO_LIMITS, planOf, wishOf } from "../../exporter/wish.ts";
import { ByteMutator } from "../engine/bytes.ts";
import { attempt, documented, expect, expectEqual, never } from "../engine/oracle.ts";
import type { Target } from "../engine/target.ts";
import { ValueMutator } from "../engine/values.ts";
import { bytesTarget } from "./kinds.ts";

export const NOW_MS = 1_750_000_100_000;
export const WISH = wishOf({ inputs: { windowHash: "0123456789abcdef", windowEndMs: NOW_MS } });
export const PLAN = {
  ...planOf([]),
  plannedAtMs: NOW_MS,
  predictorStartedAtMs: NOW_MS - 1e6,
  wishes: [WISH, { ...WISH, service: "geo" }],
};
/** What the application allows, whatever a plan says. */
const LIMITS: GuardLimits = { ...NO_LIMITS, minReplicas: 1, maxReplicas: 20 };
const RULES = {
  limitsOf: () => LIMITS,
  exporterStartedAtMs: NOW_MS - 1e6,
  staleAfterSeconds: 300,
  restartGraceSeconds: 120,
};

const PAST = { exporterStartedAtMs: NOW_MS - 1e6 };

const texts = new ByteMutator(
  [JSON.stringify(PLAN), JSON.stringify({ ...PLAN, wishes: [] }), JSON.stringify(PLAN, null, 2)],
  [
    '"wishes"',
    '"wishes":[',
    '"wishes" :',
    "[]",
    "]",
    "}",
    ",",
    "{}",
    '\\"',
    "\\u0077ishes",
    "null",
    '"a":{"wishes":[1]},',
  ],
);

/** What an exporter reads of a plan is what JSON says the whole of it is. */
const reading = bytesTarget("plan/read", texts, async (bytes) => {
  const body = Buffer.from(bytes);
  let whole: unknown;
  try {
    whole = JSON.parse(body.toString("utf8"));
  } catch {
    whole = undefined;
  }
  const plan = attempt(() => readPlan(body, "the plan"), documented("invalid-json", "invalid-input"));
  if (plan === undefined) return;
  expect(typeof whole === "object" && whole !== null, "json", () => "a plan was read from what is no JSON");
  expectEqual(plan.wishes, (whole as { wishes?: unknown }).wishes, "wishes");
});

const isAllocation = ({ replicas }: Allocation): boolean => Number.isSafeInteger(replicas) && replicas >= 0;

/** One entry of a plan, in any form: left out, refused, or decided within the application's bounds. */
const wishes: Target = {
  name: "plan/wishes",
  kind: "parser",
  make: (rng) => {
    const mutator = new ValueMutator([WISH, PLAN.wishes[1]]);
    return [mutator.make(rng), rng() < 0.5 ? WISHES.make(rng) : WISH];
  },
  run: (input) => {
    let previous: { final: Allocation; decidedAtMs: number } | undefined;
    for (const value of input as unknown[]) {
      const wish = attempt(() => readWish(value), never);
      if (wish === undefined || "rejected" in wish) continue;
      const decision = attempt(
        () => decideWish(wish, PLAN, { ...PAST, ...(previous && { previous }) }, RULES),
        never,
      );
      if (decision === undefined || "refusal" in decision) continue;
      previous = { final: decision.record.final, decidedAtMs: decision.record.decidedAtMs };
      expectRecord(decision.record, wish);
    }
  },
};
const WISHES = new ValueMutator([WISH]);

const HOLDING = new Set(["restart-grace", "missing-data"]);

function expectRecord(record: DecisionRecord, { service }: Wish): void {
  const parsed = DecisionRecord.safeParse(record);
  expect(parsed.success, "contract", () => `the record is not valid: ${parsed.error?.message ?? ""}`);
  const { replicas } = record.final;
  expect(isAllocation(record.final), "number", () => `${service} gets ${replicas} replicas`);
  const { maxReplicas, minReplicas } = LIMITS;
  // In doubt what runs is kept, be it more than is allowed.
  const isHeld = record.actions.some(({ step }) => HOLDING.has(step));
  const isWithin = replicas >= minReplicas && (replicas <= maxReplicas || isHeld);
  expect(isWithin, "bounds", () => `${service} gets ${replicas} of ${minReplicas} to ${maxReplicas}`);
}

export const PLAN_TARGETS: readonly Target[] = [reading, wishes];
