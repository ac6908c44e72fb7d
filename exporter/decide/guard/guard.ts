import type { Allocation } from "@tradewind/core/contract/plan.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { DecisionRecord, GuardAction } from "@tradewind/core/contract/recommendation.ts";
import { inWords } from "@tradewind/core/contract/reasons.ts";
import { sameAllocation } from "./baseline.ts";
import { approvals } from "./approval.ts";
import { bounds } from "./bounds.ts";
import { brownout } from "./brownout.ts";
import { calendar } from "./calendar.ts";
import { changeLimit } from "./change-limit.ts";
import { disruptionBudget } from "./disruption-budget.ts";
import { missingData } from "./missing-data.ts";
import { isHeld, override } from "./override.ts";
import { restartGrace } from "./restart-grace.ts";
import { rollback } from "./rollback.ts";
import { room } from "./room.ts";
import { staleInput } from "./stale-input.ts";
import type { GuardContext, GuardStep } from "./step.ts";

/**
 * The steps in their order. A later step sees what the earlier ones left; each may only hold, add or refuse, except
 * `brownout`, `calendar`, `override` and `bounds`, which apply what a person configured, and `change-limit`, which slows growth. docs/guard.md
 * explains each.
 */
export const GUARD_STEPS: readonly GuardStep[] = [
  staleInput,
  brownout,
  missingData,
  changeLimit,
  ...approvals,
  rollback,
  calendar,
  override,
  room,
  disruptionBudget,
  bounds,
  restartGrace,
];

/** Characters of a reason. */
const MOST_CHARACTERS = 500;

/** The step that refused a proposal, and why. */
export interface GuardRefusal {
  readonly step: string;
  readonly reason: Reason;
}

/** What the guard made of a proposal: a final allocation, or a refusal. */
export type GuardOutcome =
  | { readonly final: Allocation; readonly actions: GuardAction[]; readonly refusal?: never }
  | { readonly refusal: GuardRefusal; readonly final?: never; readonly actions?: never };

/** Those that count for the service: a person who holds it has the word of all that only doubt, limit or schedule the plan. */
const stepsFor = (context: GuardContext, steps: readonly GuardStep[]): readonly GuardStep[] =>
  isHeld(context) ? steps.filter(({ bindsHeld }) => bindsHeld) : steps;

/** The first step that refuses. What the services of a plan do to each other changes no refusal. */
export function refusalOf(
  context: GuardContext,
  steps: readonly GuardStep[] = GUARD_STEPS,
): GuardRefusal | undefined {
  for (const { name, refuse } of stepsFor(context, steps)) {
    const reason = refuse?.(context) ?? null;
    if (reason !== null) return { step: name, reason };
  }
  return undefined;
}

/** Walks the steps over the proposal. Pure: the same context gives the same numbers bit for bit. */
export function guard(context: GuardContext, steps: readonly GuardStep[] = GUARD_STEPS): GuardOutcome {
  const refusal = refusalOf(context, steps);
  if (refusal !== undefined) return { refusal };
  let allocation = context.wish.allocation;
  const actions: GuardAction[] = [];
  for (const { apply, name } of stepsFor(context, steps)) {
    const verdict = apply(allocation, context);
    if (verdict === null || sameAllocation(allocation, verdict.allocation)) continue;
    actions.push({
      step: name,
      before: allocation,
      after: verdict.allocation,
      reason: inWords([verdict.reason], MOST_CHARACTERS),
      reasons: [verdict.reason],
    });
    allocation = verdict.allocation;
  }
  return { final: allocation, actions };
}

/**
 * Runs the guard again over what a record says it read. Equal to the record's `final` and to the sizes of its `actions` when nothing was tampered
 * with; to the reasons too where the same release wrote it.
 * @public for those who check a record
 */
export function replay(record: DecisionRecord): GuardOutcome {
  return guard({ ...record.context, wish: record.wish, decidedAtMs: record.decidedAtMs });
}
