import { periodSeconds } from "@tradewind/core/contract/error-budget.ts";
import type { ErrorBudget } from "@tradewind/core/contract/error-budget.ts";
import { EpochMs, LatencyObjective, NonNegative } from "@tradewind/core/contract/quantity.ts";
import { z } from "zod";
import type { CostSettings } from "../../facts/cost-settings.ts";
import { shareOverOrFailed } from "../../facts/objective.ts";
import type { FlowObjective } from "../../facts/objective.ts";
import type { CostWindow, MeasuredRoute } from "./cost-window.ts";
import { AGAIN_MS, FITTED_MS } from "./outlook.ts";

/** Requests of a time that is forgotten by and by. */
const Tally = z.strictObject({
  requests: NonNegative,
  /** Of them those over the objective or failed. */
  over: NonNegative,
  /** The same, each times the worth that was in force. */
  overTimesWorth: NonNegative,
  /** Those that plans expected to be. */
  expected: NonNegative,
});
type Tally = z.infer<typeof Tally>;

/** What the requests held to one objective have spent of its error budget. */
export const BudgetMemory = z.strictObject({
  objective: LatencyObjective,
  sinceMs: EpochMs,
  /** End of the last window counted. */
  atMs: EpochMs,
  /** The budget's period, the time for which a decision stands, and the last minute and a half. */
  period: Tally,
  recent: Tally,
  newest: Tally,
  /** In force at the last decision, see {@link worthOf}. */
  worth: NonNegative,
  /** Share over the objective that the last plan expected. */
  expectedRatio: NonNegative,
  /** End of the last window with a miss that the models did not explain. */
  unexplainedMs: EpochMs.optional(),
});
export type BudgetMemory = z.infer<typeof BudgetMemory>;

const NOTHING: Tally = { requests: 0, over: 0, overTimesWorth: 0, expected: 0 };

type BudgetSettings = Pick<CostSettings, "standSeconds" | "worth">;

/** What budgets depend on beside their memory. */
export interface BudgetRules {
  readonly errorBudget: ErrorBudget;
  readonly settings: BudgetSettings;
}

export const budgetRules = ({
  application,
  settings,
}: Pick<CostWindow, "application" | "settings">): BudgetRules => ({
  errorBudget: application.errorBudget,
  settings: settings.cost,
});

/** Most and least worth, over and under its first value. */
const WORTH_RANGE = 2;

const isOf = (objective: FlowObjective, { percentile, seconds }: BudgetMemory["objective"]): boolean =>
  percentile === objective.percentile && seconds === objective.tailSeconds;

export const budgetOf = (
  budgets: readonly BudgetMemory[],
  objective: FlowObjective,
): BudgetMemory | undefined => budgets.find((budget) => isOf(objective, budget.objective));

/** A route as it is counted. */
type CountedRoute = Pick<MeasuredRoute, "calls" | "flow" | "objective">;

type CountedWindow = Pick<CostWindow, "application" | "endMs" | "missing" | "settings" | "startMs"> & {
  readonly routes: readonly CountedRoute[];
};

/** The budgets after one more window. One without a part of the traffic says nothing of them. */
export function budgetsAfter(budgets: readonly BudgetMemory[], window: CountedWindow): BudgetMemory[] {
  const { endMs, missing, routes } = window;
  if (missing !== undefined) return [...budgets];
  const rules = budgetRules(window);
  const byObjective = Map.groupBy(
    routes,
    ({ objective }) => `${objective.percentile} ${objective.tailSeconds}`,
  );
  const counted = [...byObjective.values()].flatMap((held) => {
    const [first] = held;
    return first === undefined
      ? []
      : [spentAfter(budgetOf(budgets, first.objective), held, first, window, rules)];
  });
  const isKept = ({ atMs, objective }: BudgetMemory): boolean =>
    endMs - atMs < 1e3 * periodSeconds(rules.errorBudget) &&
    !counted.some(
      (each) =>
        each.objective.percentile === objective.percentile && each.objective.seconds === objective.seconds,
    );
  return [...counted, ...budgets.filter(isKept)];
}

function spentAfter(
  budgetBefore: BudgetMemory | undefined,
  heldRoutes: readonly CountedRoute[],
  { objective }: CountedRoute,
  { endMs, startMs }: CountedWindow,
  rules: BudgetRules,
): BudgetMemory {
  const { percentile, tailSeconds } = objective;
  const budget = budgetBefore ?? {
    objective: { percentile, seconds: tailSeconds },
    sinceMs: startMs,
    atMs: startMs,
    period: NOTHING,
    recent: NOTHING,
    newest: NOTHING,
    worth: rules.settings.worth,
    expectedRatio: 0,
  };
  const passedMs = endMs - budget.atMs;
  if (passedMs <= 0) return budget;
  const requests = heldRoutes.reduce((sum, { calls }) => sum + calls, 0);
  const missed = heldRoutes.reduce(
    (sum, { calls, flow }) => sum + calls * shareOverOrFailed(flow, tailSeconds),
    0,
  );
  const plus = (tally: Tally, memoryMs: number): Tally => {
    const kept = Math.exp(-passedMs / memoryMs);
    return {
      requests: kept * tally.requests + requests,
      over: kept * tally.over + missed,
      overTimesWorth: kept * tally.overTimesWorth + budget.worth * missed,
      expected: kept * tally.expected + budget.expectedRatio * requests,
    };
  };
  return {
    ...budget,
    atMs: endMs,
    period: plus(budget.period, 1e3 * periodSeconds(rules.errorBudget)),
    recent: plus(budget.recent, 1e3 * rules.settings.standSeconds),
    newest: plus(budget.newest, FITTED_MS),
  };
}

/** Share of the requests that was over the objective or failed. */
export const shareOf = ({ over, requests }: Tally): number => (requests > 0 ? over / requests : 0);

function isDoubted({ atMs, objective, recent, unexplainedMs }: BudgetMemory): boolean {
  if (unexplainedMs !== undefined && atMs - unexplainedMs < AGAIN_MS) return true;
  return recent.expected - recent.over > (1 - objective.percentile) * recent.requests;
}

/**
 * What using up the error budget of an objective once is worth, over the price of the least sizes that carry the load: the
 * price at which the past would have spent `use` of the budget. Sizes are bought until one more saves less than the misses that it
 * prevents, so that the share over the objective falls as the price rises: their product is about the same at any price.
 *
 * - The past is the budget's period, beside an hour at the first price that spent just what it may: the first hours are safe.
 * - While the newest minutes spend faster than the whole budget allows, their price counts where it is higher.
 * - It is at least the first price over a range, and at most that times the range: so much while models are in doubt, which is for an hour after
 *   a miss that they did not explain, and while they expect more of the requests over than there are by the whole budget.
 */
export function worthOf(budget: BudgetMemory, { errorBudget, settings }: BudgetRules): number {
  const { atMs, newest, objective, period, recent, sinceMs } = budget;
  const { use } = errorBudget;
  const allowed = 1 - objective.percentile;
  const priceOf = ({ overTimesWorth, requests }: Tally): number =>
    requests > 0 ? overTimesWorth / (use * allowed * requests) : 0;
  const periodMs = 1e3 * periodSeconds(errorBudget);
  const seenMs = periodMs * -Math.expm1(-(atMs - sinceMs) / periodMs);
  const slow = (settings.worth * AGAIN_MS + priceOf(period) * seenMs) / (AGAIN_MS + seenMs);
  const fast = [recent, newest].filter((tally) => shareOf(tally) > allowed).map(priceOf);
  const most = settings.worth * WORTH_RANGE;
  return isDoubted(budget) ? most : Math.min(most, Math.max(settings.worth / WORTH_RANGE, slow, ...fast));
}

/** The budgets with the worth that they have now, and with misses noted that the models do not explain. */
export function budgetsNow(
  budgets: readonly BudgetMemory[],
  unexplained: readonly FlowObjective[],
  rules: BudgetRules,
): BudgetMemory[] {
  return budgets.map((before): BudgetMemory => {
    const isUnexplained = unexplained.some((objective) => isOf(objective, before.objective));
    const budget = isUnexplained ? { ...before, unexplainedMs: before.atMs } : before;
    return { ...budget, worth: worthOf(budget, rules) };
  });
}

/** The budgets after a plan that expects these shares over the objective. */
export const budgetsPlanned = (
  budgets: readonly BudgetMemory[],
  expectedRatio: (objective: BudgetMemory["objective"]) => number,
): BudgetMemory[] => budgets.map((budget) => ({ ...budget, expectedRatio: expectedRatio(budget.objective) }));
