import type { CostWindow } from "./learn/cost-window.ts";
import type { CostMemory } from "./learn/state.ts";
import { prepare } from "./prepare/prepare.ts";
import type { ModelsMissing } from "./prepare/prepare.ts";
import { solve } from "./solve/solve.ts";
import { tell } from "./tell.ts";
import type { CostDecision } from "./tell.ts";

/**
 * Sizes for which price, expected misses and changes together cost least over the time that a decision stands:
 *
 * `min p·R(u) + worth·p·R(least)·Σ share_f·loss_f(u) / (1 − percentile) + changes`
 *
 * with `loss_f` the expected loss of a request of route f over the load that may come (see `route-cost.ts`), and `R(least)` the
 * least sizes that carry the load. Every service on a user's route has a calibrated model of its own time; the others follow
 * their CPU demand. Pure: equal memories and windows give equal decisions.
 * @param memory after the window, see `learn`
 */
export function decideByCost(memory: CostMemory, window: CostWindow): CostDecision | ModelsMissing {
  const problem = prepare(memory, window);
  if ("withoutModel" in problem) return problem;
  const solution = solve(problem);
  return tell(problem, solution);
}
